"""One self-contained HTML page about a sweep, in the look of every report; it leads to the report of each point."""

import shlex
from collections.abc import Sequence
from urllib.parse import quote

from markupsafe import Markup

from outlay import __version__
from outlay.engine.limits import MODES
from outlay.experiments.report.chart import SweepChart
from outlay.experiments.report.standings import Standing, sentences
from outlay.experiments.setup.file import Experiment, printable
from outlay.experiments.setup.plan import folder_of, shown
from outlay.experiments.setup.players import Player
from outlay.report.figures.files import inline_svg
from outlay.report.page import budgets_spanned
from outlay.report.rendering import rendered
from outlay.tables import Table
from outlay.text import counted

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


def page_text(
    experiment: Experiment,
    standings: Sequence[Standing],
    table: Table,
    chart: SweepChart,
    svgs: tuple[str, str],
) -> str:
    """The page as text; `svgs` are the chart for a page and for a phone."""
    source = printable(experiment.source.name)
    page, column = (
        Markup(inline_svg(text, f"sweep-{width}", chart.title))  # noqa: S704 (labels are escaped)
        for text, width in zip(svgs, ("page", "column"), strict=True)
    )
    folders = [folder_of(one.values) for one in standings]
    return rendered(
        "outlay.experiments",
        "sweep.html.j2",
        title=experiment.title,
        summary=_summary(experiment, len(standings)),
        verdict=[" ".join([*sentences(standings, experiment.runs), *_unranked(experiment, standings)])],
        served=_served(experiment),
        words=_words(experiment, chart),
        page=page,
        column=column,
        headings=table.headings,
        rows=[[_link(folder, first), *rest] for folder, (first, *rest) in zip(folders, table.rows, strict=True)],
        caption=table.caption,
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
    return {
        "file": printable(experiment.source.name),
        **swept,
        "policies": "; ".join(map(_player, experiment.players)),
        "problem": f"{len(experiment.problem):,} arms before the sweep",
        "budgets": _budgets(experiment),
        **_more(experiment),
        "runs": f"{experiment.runs:,} of each policy at each point",
        "seed": str(experiment.seed),
        "outlay": __version__,
    }


def _more(experiment: Experiment) -> dict[str, str]:
    """Requests and mode, where they are not as in most experiments."""
    requests = dict.fromkeys(experiment.requests or ())
    found = {"requests": ", ".join(f"{count:,}" for count in requests)} if requests else {}
    return found if experiment.mode == MODES[0] else found | {"mode": experiment.mode}


def _served(experiment: Experiment) -> bool:
    """Whether requests are limited beside the budget: everywhere, or by the sweep."""
    return experiment.requests is not None or "requests" in _swept(experiment)


def _swept(experiment: Experiment) -> list[str]:
    return [target for sweep in experiment.sweeps for target in sweep.over]


def _words(experiment: Experiment, chart: SweepChart) -> str:
    """How to read the figure; of requests, the bound where it is drawn."""
    words = _WORDS
    if _served(experiment):
        words = _SERVED + _SERVED_BOUND * any(panel.floor for panel in chart.panels)
    return words + _UNBOUNDED * chart.unbounded


def _budgets(experiment: Experiment) -> str:
    """The budgets of the file, unless the sweep sets them."""
    if "budget_per_request" in _swept(experiment):
        return "budget_per_request times the requests"
    return budgets_spanned(experiment.budgets)


def _summary(experiment: Experiment, points: int) -> str:
    policies = len(experiment.players)
    values = " × ".join(f"{counted(len(sweep.values), 'value')} of {sweep.name}" for sweep in experiment.sweeps)
    counts = f"{counted(policies, 'policy', 'policies')} at {counted(points, 'point')} ({values})"
    budget = "" if "budget_per_request" in _swept(experiment) else f", a budget of {experiment.budgets[-1]:,.6g}"
    return f"Which policy spends the budget best, and where? {counts}{budget}"


def _unranked(experiment: Experiment, standings: Sequence[Standing]) -> list[str]:
    learning = set(standings[0].finding.order)
    others = [one.label for one in experiment.players if one.label not in learning]
    return [f"Not ranked, because pulling one arm for ever is not learning: {', '.join(others)}."] if others else []


def _player(one: Player) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in one.parameters.items())
    call = f"{one.name}({given})"
    return call if one.label == one.name else f"{one.label}: {call}"


def _link(folder: str, text: object) -> Markup:
    return Markup('<a href="./{}/report.html">{}</a>').format(quote(folder), text)


_CALL = """from outlay import experiments

experiment = experiments.load({})
for point, result in experiments.results(experiment, "FOLDER"):
    print(point.title, result)
"""
