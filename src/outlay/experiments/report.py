"""A sweep as rows, a verdict, a figure, a table and a page; the report of each of its points."""

import math
import shlex
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from outlay import __version__
from outlay.checks import check_folder, check_writable, writing
from outlay.engine.limits import MODES
from outlay.errors import BadFile
from outlay.experiments.file import Experiment, Sweep, Values, printable
from outlay.experiments.plan import SweepPoint, folder_of, shown, title_of
from outlay.report import curves, style
from outlay.report.curves import Axis, Curve, Line, Scale
from outlay.report.page import PageFigure, PolicyRanking, budgets_spanned, ranking, render, report_files, write_report
from outlay.report.regret import headed, table
from outlay.results import Floats, Result, beside, ended, load, regret_summary
from outlay.tables import Table
from outlay.text import amount, counted, listed, shortened, tick
from outlay.usercode import own_classes

_LOG_FROM = 20.0  # largest ÷ smallest
_APART = 0.08  # between the points of two policies at a word
_TICKS_APART = 0.09  # of the axis: closer ones could overlap
_COLUMNS = {1: 1, 2: 2, 3: 3, 4: 2}  # of panels, by their number; more than four stand in threes
_WORDS = (
    "Lower is better. Each policy at each value, at the largest budget; bands and bars are 95 % intervals of the mean. "
    "Dashed: the lower bound."
)
_SERVED = (
    "Lower is better. Each policy at each value, at the last budget and number of requests; bands and bars are 95 % "
    "intervals of the mean."
)
_SERVED_BOUND = " Dashed: the lower bound, for budget and requests that grow in proportion."
_UNBOUNDED = " The lower bound is left out where it is far above all regrets: it is about larger budgets than this one."
_CALL = """from outlay import experiments

experiment = experiments.load({})
for point, result in experiments.results(experiment, "FOLDER"):
    print(point.title, result)
"""


def check_outputs(experiment: Experiment, points: Sequence[SweepPoint], folder: Path) -> None:
    """Raise BadFile where something cannot be written, as far as can be told before the work."""
    paths = [path for point in points for path in _files(point, folder)]
    paths += _sweep_files(folder) if experiment.sweeps else []
    for parent in dict.fromkeys([folder, *(path.parent for path in paths)]):
        check_folder(parent)
    for path in paths:
        if path.parent.exists():
            check_writable(path)


def write_point(experiment: Experiment, point: SweepPoint, result: Result, folder: Path) -> list[Path]:
    """Write the report and then the result, into the folder itself or one named after the swept values; the paths.

    A report takes seconds to draw, so it is kept where all its files are there, it is about the same result, and its
    table is the same, title included.
    """
    saved, *reports = files = _files(point, folder)
    title = f"{experiment.title}, {point.title}" if point.title else experiment.title
    if all(path.exists() for path in files):
        with suppress(BadFile, OSError, UnicodeDecodeError):
            said = saved.with_name("table.md").read_text(encoding="utf-8")
            laws, players = own_classes(*result.problem.laws), own_classes(*result.policies.values())
            same = load(saved, laws=laws, policies=players) == result
            if same and said == table(result, "markdown", title=title):
                return files
    with writing(saved):
        saved.unlink(missing_ok=True)  # what is interrupted from here on is drawn again
    command = f"outlay compare {shlex.quote(printable(experiment.source.name))} --out FOLDER"
    write_report(result, saved.parent, title, command=command)
    result.save(saved)
    return [saved, *reports]


def _files(point: SweepPoint, folder: Path) -> list[Path]:
    home = folder / folder_of(point.values) if point.values else folder
    return [home / "result.parquet", *report_files(home)]


class Row(NamedTuple):
    """One policy at one point, at the largest budget; the columns of `Result.regret`, and the sharp lower bound."""

    values: Values  # of the swept parameters, by name
    policy: str
    budget: float
    mean: float
    stderr: float
    low: float
    high: float
    q10: float
    q50: float
    q90: float
    lower_bound: float  # nan where there is none
    requests: int | None = None

    def as_object(self) -> dict[str, object]:
        """The row by the names of its fields; without requests where there are none."""
        fields = self._asdict()
        return fields if self.requests is not None else {key: fields[key] for key in fields if key != "requests"}


class PointRanking(NamedTuple):
    """The ranking at one point; `level` where all arms are equally good, and nothing can be lost."""

    values: Values
    ranking: PolicyRanking
    level: bool

    @property
    def title(self) -> str:
        """The values with their names."""
        return title_of(self.values)


def write_sweep(experiment: Experiment, rows: list[Row], rankings: list[PointRanking], folder: Path) -> list[Path]:
    """Write the regret at the largest budget over all points and return the paths: page, table, figure."""
    table = sweep_table(experiment, rows)
    chart = sweep_chart(experiment.sweeps, rows, experiment.runs)
    page, column = sweep_figure(chart), sweep_figure(chart, "column", title=False)
    words = _WORDS
    if _served(experiment):
        words = _SERVED + _SERVED_BOUND * any(panel.floor for panel in chart.panels)
    words += _UNBOUNDED * chart.unbounded
    figure = PageFigure("sweep", "Regret along the sweep", words, page, column)
    texts = {
        "html": page_text(experiment, rankings, table, figure),
        "txt": table.terminal(10_000),
        "md": table.markdown(),
        "csv": as_csv(rows),
        "tex": table.latex(f"sweep-{experiment.title}", winners_of(rows)),
    }
    for ending, content in texts.items():
        path = folder / f"sweep.{ending}"
        with writing(path):
            path.write_text(content, encoding="utf-8", newline="\n")
    style.save_figures(page, column, folder / "sweep")
    return _sweep_files(folder)


def _sweep_files(folder: Path) -> list[Path]:
    return [folder / f"sweep.{ending}" for ending in ("html", "txt", "md", "csv", "tex", "png", "svg", "pdf")]


def rows_of(values: Values, result: Result) -> list[Row]:
    """The rows of a point with these swept values, one per policy."""
    bound, budget = curves.floor_for(result), float(result.budgets[-1])
    floor = bound.at(budget)
    last = np.stack(regret_summary(result), axis=-1)[:, -1].tolist()
    return [
        Row._make((values, label, budget, *numbers, math.nan if floor is None else floor, bound.requests))
        for label, numbers in zip(result.labels, last, strict=True)
    ]


def where(rows: Sequence[Row]) -> str:
    """The budget and the requests that all rows share, in words."""
    budgets, requests = ({getattr(row, name) for row in rows} for name in ("budget", "requests"))
    if len(budgets) == 1:
        return ended(rows[0].budget, rows[0].requests if len(requests) == 1 else None)
    return ended(math.inf, rows[0].requests) if len(requests) == 1 else "the budget of each point"


def sweep_table(experiment: Experiment, rows: list[Row]) -> Table:
    """A line per point: its values, then `regret ± stderr` of each policy, then the lower bound where there is one."""
    policies = [" ".join(label.split()) for label in dict.fromkeys(row.policy for row in rows)]
    headings, lines = [*rows[0].values, *policies], []
    if bounded := not all(math.isnan(row.lower_bound) for row in rows):
        headings.append("lower bound")
    for values, group in groupby(rows, key=lambda row: row.values):
        here = list(group)
        line = [shown(value) for value in values.values()]
        line += [loss(row.mean) + ("" if math.isnan(row.stderr) else f" ± {loss(row.stderr)}") for row in here]
        if bounded:
            line.append("–" if math.isnan(here[-1].lower_bound) else loss(here[-1].lower_bound))
        lines.append(line)
    title = headed(experiment.title, where(rows) + beside(experiment.mode), experiment.runs, experiment.seed)
    return Table(headings, lines, title, texts=())


def winners_of(rows: Sequence[Row]) -> set[tuple[int, int]]:
    """Where the table has the least mean of each point: its line and its column."""
    first = len(rows[0].values)
    means = [[row.mean for row in group] for _, group in groupby(rows, key=lambda row: row.values)]
    return {(i, first + k) for i, some in enumerate(means) for k, mean in enumerate(some) if mean == min(some)}


def as_csv(rows: list[Row]) -> str:
    """Every number of every row, in full precision; the swept values come first."""
    served = rows[0].requests is not None and "requests" not in rows[0].values
    last = len(Row._fields) if served else -1
    headings = [*rows[0].values, *Row._fields[1:last]]
    return Table(headings, [[*row.values.values(), *row[1:last]] for row in rows]).csv()


def loss(value: float) -> str:
    """A regret, with two decimals below ten: along a sweep small differences matter."""
    return amount(value, below_ten=2, most=1e9)


def point_ranking(point: SweepPoint, result: Result) -> PointRanking:
    """How the policies stand at a point."""
    return PointRanking(point.values, ranking(result), result.requests is None and not np.any(result.gaps))


def sweep_verdict(rankings: Sequence[PointRanking], runs: int) -> list[str]:
    """Who lost least where, as far as the runs can tell, whether the order changes, how much is lost."""
    single = len(rankings[0].values) == 1
    along = list(rankings)
    if single:  # numbers in rising order; words stay in the order of the file
        along.sort(key=lambda one: [0.0 if isinstance(value, str) else value for value in one.values.values()])
    lossy = [one for one in along if not one.level]
    if not lossy:
        return ["All arms are equally good at every point: whatever is pulled, nothing is lost."]
    said = []
    if len(lossy) < len(along):
        flat = listed([one.title for one in along if one.level], 3, "; ")
        said.append(f"At {flat} all arms are equally good, and nothing is lost.")
    if len(lossy[0].ranking.order) > 1:
        unsure = f"{counted(runs, 'run')} cannot tell"
        every = "every value" if len(lossy) == len(along) else "every other value"
        said += _along_one(along, unsure, every) if single else _in_a_grid(lossy, unsure)
        if len(lossy) > 1:
            orders = {tuple(one.ranking.order) for one in lossy}
            changes = "changes along" if len(orders) > 1 else "is the same all along"
            said.append(f"By mean regret, the order of the policies {changes} the sweep.")
    first = Counter(one.ranking.winner for one in lossy).most_common(1)[0][0]
    lost = [float(one.ranking.regret[one.ranking.order.index(first)]) for one in lossy]
    least, most = int(np.argmin(lost)), int(np.argmax(lost))
    if loss(lost[least]) == loss(lost[most]):
        said.append(f"{first} lost {loss(lost[0])} on average{' at every point' * (1 < len(lossy) == len(along))}.")
    else:
        low, high = (f"{loss(lost[k])} (at {lossy[k].title})" for k in (least, most))
        said.append(f"{first} lost between {low} and {high} on average.")
    counts = Counter(label for one in lossy for label in one.ranking.carried).most_common()
    if runs >= 10 and counts:
        some = listed([f"{label} (at {count} of {len(lossy)} points)" for label, count in counts], 3)
        said.append(f"A few long runs carry the mean of {some}: the median there is less than half of it.")
    return said


def _along_one(along: Sequence[PointRanking], unsure: str, every: str) -> list[str]:
    """Of one sweep: who lost least at which values, and among whom that is open at the others."""
    [name] = along[0].values
    found: dict[tuple[str, ...], list[int]] = {}
    for position, one in enumerate(along):
        if one.level:
            continue
        found.setdefault(tuple(sorted([one.ranking.winner, *one.ranking.tied])), []).append(position)
    groups = sorted(found.items(), key=lambda group: (len(group[0]) > 1, -len(group[1])))
    parts = list[str]()
    for labels, positions in groups:
        where = ("" if parts else f"{name} = ") + _values(along, positions)
        where = f"{every} of {name}" if len(groups) == 1 and sum(not one.level for one in along) > 1 else where
        if len(labels) > 1:
            parts.append(f"{'at' if parts else 'At'} {where}, {unsure} {listed(labels, 3)} apart")
        else:
            parts.append(f"{labels[0]} {'' if parts else 'lost least '}at {where}")
    return ["; ".join(parts) + "."]


def _in_a_grid(points: Sequence[PointRanking], unsure: str) -> list[str]:
    """Of several sweeps: at how many points a policy lost least, and where that is open."""
    wins = Counter(one.ranking.winner for one in points if not one.ranking.tied).most_common()
    said = []
    if wins:
        (first, most), *rest = wins
        least = [f"{first} lost least at {most} of {len(points)} points", *(f"{name} at {n}" for name, n in rest)]
        said.append(", ".join(least) + ".")
    if tied := [one.title for one in points if one.ranking.tied]:
        said.append(f"At {counted(len(tied), 'point')} ({listed(tied, 3, '; ')}) {unsure} which policy lost least.")
    return said


def _values(along: Sequence[PointRanking], positions: Sequence[int]) -> str:
    """The values at these positions of one sweep; three numbers or more in a row are given as a range."""
    parts = list[str]()
    for _, group in groupby(enumerate(positions), key=lambda pair: pair[1] - pair[0]):
        values = [value for _, position in group for value in along[position].values.values()]
        words = list(map(shown, values))
        long = len(words) > 2 and not isinstance(values[0], str)
        parts += [f"{words[0]} to {words[-1]}"] if long else words
    return listed(parts, 6)


class Panel(NamedTuple):
    """The curves at one combination of the other sweeps' values."""

    title: str
    curves: list[Curve]
    floor: Line | None


class SweepChart(NamedTuple):
    """Everything the figure shows.

    `ticks` are the values, empty where they stand too close to be named; where they are `words`, 0, 1, 2 and so on.
    `unbounded` says that a lower bound was left out since it is far above all regrets, and would flatten them.
    """

    title: str
    name: str
    ticks: list[float]
    words: list[str]
    across: Axis
    axis: Axis
    panels: list[Panel]
    unbounded: bool


def sweep_chart(sweeps: Sequence[Sweep], rows: Sequence[Row], runs: int) -> SweepChart:
    """The figure of a sweep in numbers: the first sweep goes along the axis."""
    first = sweeps[0]
    words = [str(value) for value in first.values] if isinstance(first.values[0], str) else []
    order = np.argsort([0.0] * len(words) if words else [float(value) for value in first.values], kind="stable")
    xs = np.arange(len(words), dtype=float) if words else np.sort(np.array(first.values, dtype=float))
    groups: dict[str, list[Row]] = {}
    for row in rows:
        others = {name: value for name, value in row.values.items() if name != first.name}
        groups.setdefault(title_of(others), []).append(row)
    panels = [_panel(title, group, xs, order, _APART if words else 0.0) for title, group in groups.items()]
    drawn = [curve for panel in panels for curve in panel.curves]
    tops = np.array([curve.mean.max() for curve in drawn])
    apart = (tops > 0).any() and tops.max() > _LOG_FROM * tops[tops > 0].min()
    means = f"mean of {runs} runs, 95 % bands" if runs > 1 else "1 run"
    scale: Scale = "log" if apart else "linear"
    high = float(tops.max()) * curves.FLOOR_HELPS[scale]
    kept = [
        panel._replace(floor=None) if panel.floor is not None and np.nanmax(panel.floor.values) > high else panel
        for panel in panels
    ]
    axis = curves.regret_axis(drawn, [panel.floor for panel in kept if panel.floor], scale)
    title = f"Regret at {where(rows)}, {means}"
    low, high_x = float(xs[0]), float(xs[-1])
    margin = 0.3 if words else 0.05 * (high_x - low) or 0.05 * abs(high_x) or 1.0
    far = low > 0 and high_x > _LOG_FROM * low
    across = Axis("log", low / 1.1, high_x * 1.1) if far else Axis("linear", low - margin, high_x + margin)
    heights = [across.height(x) for x in xs.tolist()]
    near = not words and any(after - before < _TICKS_APART for before, after in pairwise(heights))
    return SweepChart(title, first.name, [] if near else xs.tolist(), words, across, axis, kept, kept != panels)


def _panel(title: str, rows: Sequence[Row], xs: Floats, order: NDArray[np.intp], apart: float) -> Panel:
    labels = list(dict.fromkeys(row.policy for row in rows))
    drawn = []
    for i, label in enumerate(labels):
        mine = [row for row in rows if row.policy == label]
        mean, low, high = (
            np.array(column)[order] for column in zip(*((r.mean, r.low, r.high) for r in mine), strict=True)
        )
        aside = apart * (i - (len(labels) - 1) / 2)
        drawn.append(Curve(shortened(label), xs + aside, mean, low, high))
    floor = np.array([row.lower_bound for row in rows if row.policy == rows[0].policy])[order]
    name = curves.LOWER_BOUND if rows[0].requests is None else curves.REQUESTS_BOUND
    return Panel(title, drawn, None if np.isnan(floor).all() else Line(name, xs, floor))


def sweep_figure(chart: SweepChart, width: style.Width = "page", *, title: bool = True) -> Figure:
    """Regret against the swept value, with 95 % bands and the lower bound, dashed, where there is one."""
    sheet = style.sheet_of("sweep_figure", width)
    columns = 1 if sheet.narrow else _COLUMNS.get(len(chart.panels), 3)
    rows = -(-len(chart.panels) // columns)
    figure, panels = style.blank(sheet, (4.2 if columns == 1 else 3.0) * rows, rows, columns, sharey=True)
    named: dict[str, Line2D] = {}
    for i, (axes, panel) in enumerate(zip(panels, chart.panels, strict=False)):
        style.frame(axes, sheet, panel.title, chart.name, "regret" if i % columns == 0 else "")
        style.set_scale(axes.xaxis, chart.across.scale, chart.across.bottom, chart.across.top)
        style.set_scale(axes.yaxis, chart.axis.scale, chart.axis.bottom, chart.axis.top)
        if chart.words or 0 < len(chart.ticks) <= (8 if columns == 1 else 5):
            axes.set_xticks(chart.ticks, chart.words or list(map(tick, chart.ticks)), parse_math=False)
        chosen = style.looks([curve.label for curve in panel.curves])
        for curve, (colour, mark) in zip(panel.curves, chosen, strict=True):
            if chart.words:  # points with bars
                axes.vlines(curve.budgets, curve.low, curve.high, color=colour, linewidth=sheet.line)
            else:
                style.band(axes, curve, colour)
            [named[curve.label]] = axes.plot(
                curve.budgets, curve.mean, color=colour, linestyle="" if chart.words else "-", linewidth=sheet.line,
                marker={"": "o", "o": "s"}.get(mark, mark), markersize=4.5 if mark else 3.5,
                markerfacecolor="white" if mark else colour,
            )  # fmt: skip
        if panel.floor:
            [named[panel.floor.label]] = axes.plot(
                panel.floor.budgets, panel.floor.values, color=style.INK, linestyle="" if chart.words else (0, (5, 3)),
                linewidth=sheet.line / 1.6, marker="_", markersize=14 if chart.words else 6,
            )  # fmt: skip
    for axes in panels[len(chart.panels) :]:
        axes.set_visible(False)
    if len(chart.panels) == 1 and not chart.panels[0].title:
        style.frame(panels[0], sheet, chart.title if title else "", chart.name, "regret")
    elif title:
        figure.suptitle(style.folded(chart.title, sheet), x=0.01, ha="left", fontsize=sheet.text + 0.5, color=style.INK)
    style.legend(figure, sheet, list(named.values()), list(named))
    return figure


def page_text(experiment: Experiment, rankings: Sequence[PointRanking], table: Table, figure: PageFigure) -> str:
    """The page as text."""
    source = printable(experiment.source.name)
    link = Markup('<a href="./{}/report.html">{}</a>')
    folders = [quote(folder_of(one.values)) for one in rankings]
    rows = [[link.format(folder, first), *rest] for folder, (first, *rest) in zip(folders, table.rows, strict=True)]
    policies = counted(len(experiment.players), "policy", "policies")
    values = " × ".join(f"{counted(len(sweep.values), 'value')} of {sweep.name}" for sweep in experiment.sweeps)
    counts = f"{policies} at {counted(len(rankings), 'point')} ({values})"
    budget = "" if "budget_per_request" in _swept(experiment) else f", a budget of {experiment.budgets[-1]:,.6g}"
    verdict = sweep_verdict(rankings, experiment.runs)
    if fixed := [one.label for one in experiment.players if one.label not in rankings[0].ranking.order]:
        verdict.append(f"Not ranked, because pulling one arm for ever is not learning: {', '.join(fixed)}.")
    return render(
        "sweep.html.j2",
        title=experiment.title,
        summary=f"Which policy spends the budget best, and where? {counts}{budget}",
        verdict=[" ".join(verdict)],
        served=_served(experiment),
        figure=figure,
        table=replace(table, rows=rows),
        settings=settings(experiment),
        command=f"outlay compare {shlex.quote(source)} --out FOLDER",
        call=_CALL.format(repr(source)),
    )


def settings(experiment: Experiment) -> dict[str, str]:
    """What the file says."""
    swept = {
        f"sweep: {sweep.name}": f"{', '.join(sweep.over)} = {', '.join(map(shown, sweep.values))}"
        for sweep in experiment.sweeps
    }
    players = []
    for one in experiment.players:
        call = f"{one.name}({', '.join(f'{name}={value!r}' for name, value in one.parameters.items())})"
        players.append(call if one.label == one.name else f"{one.label}: {call}")
    budgets, requests = budgets_spanned(experiment.budgets), dict.fromkeys(experiment.requests or ())
    if "budget_per_request" in _swept(experiment):
        budgets = "budget_per_request times the requests"
    return {
        "file": printable(experiment.source.name),
        **swept,
        "policies": "; ".join(players),
        "problem": f"{len(experiment.problem):,} arms before the sweep",
        "budgets": budgets,
        **({"requests": ", ".join(f"{count:,}" for count in requests)} if requests else {}),
        **({} if experiment.mode == MODES[0] else {"mode": experiment.mode}),
        "runs": f"{experiment.runs:,} of each policy at each point",
        "seed": str(experiment.seed),
        "outlay": __version__,
    }


def _served(experiment: Experiment) -> bool:
    """Whether requests are limited beside the budget: everywhere, or by the sweep."""
    return experiment.requests is not None or "requests" in _swept(experiment)


def _swept(experiment: Experiment) -> list[str]:
    return [target for sweep in experiment.sweeps for target in sweep.over]
