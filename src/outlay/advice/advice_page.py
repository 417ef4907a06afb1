"""Advice as figures, as one HTML page, and in a notebook."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from html import escape
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from matplotlib.artist import Artist
from matplotlib.figure import Figure

from outlay import __version__
from outlay.advice import answer
from outlay.advice.findings import Advice
from outlay.advice.rehearsal import Rehearsal
from outlay.advice.requests import MAYBE, SURE, Serving
from outlay.advice.summary import BEST, DOUBTFUL, FREE, OPEN, OUT, UNRANKED
from outlay.checks import check_writable, checked_path, made, writing
from outlay.errors import BadParameter
from outlay.report.page import PageFigure, render
from outlay.report.style import INK, PALETTE, REST, WIDTHS, Width, blank, frame, legend, set_scale, sheet_of
from outlay.text import capital, counted, cut, number, shortened

MOST_DOTS = 24
RUNNER, REFERENCE = "policy", "reference"
KINDS = (BEST, OPEN, DOUBTFUL, OUT, RUNNER, REFERENCE)
_COLOURS = dict(zip(KINDS, (PALETTE[2], PALETTE[0], PALETTE[4], REST, PALETTE[0], INK), strict=True))
_HULL_COLOURS = {SURE: PALETTE[2], MAYBE: PALETTE[4]}
_RATES = (
    "The rate of an arm is its mean reward divided by its mean cost: what a unit of budget spent on it brings. An "
    "arm is ruled out (grey) where it is below another beyond chance, on equal terms, and behind (orange) where "
    "tails or drift put that in doubt."
)
_REWARDS = (
    "Each policy started from nothing and played rows of the log, drawn at random with replacement, until the "
    "budget was spent. The dashed line is what the best arm alone earned: knowing it beforehand would be worth the "
    "distance."
)
_HULL = (
    "A point is an arm: what a pull costs and earns on average. Requests can be shared out among arms, so the most "
    "that one can bring lies on the line over the points. Green arms are part of the best mix for some budget, "
    "orange ones may be, grey ones are not."
)


@contextmanager
def page_in(folder: str | PathLike[str]) -> Iterator[Path]:
    """The page's path in a folder that is made now, and removed if the work fails; BadFile if it cannot be written."""
    target = checked_path("advise", folder) / "advice.html"
    with made(target.parent):
        check_writable(target)
        yield target


def save_page(advice: Advice, path: str | PathLike[str]) -> Path:
    """Write the page to this path and return it."""
    target = checked_path("save", path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise BadParameter("save", "path", "the name of an HTML page, such as advice.html", str(path))
    text = page_text(advice)
    with made(target.parent), writing(target):
        target.write_text(text, encoding="utf-8")
    return target


def page_text(advice: Advice) -> str:
    """The page as text."""
    played, arms, found = advice.rehearsal, answer.arms_table(advice), advice.serving
    serving = found and {
        "figure": PageFigure(
            "hull", "Money and requests", _HULL, *(hull_figure(advice, found, width) for width in WIDTHS)
        ),
        "arms": answer.hull_table(found),
        "mixes": answer.mixes_table(found),
        "played": answer.served_table(found),
    }
    return render(
        "advice.html.j2",
        title=title(advice),
        serving=serving,
        summary=answer.heading(advice),
        answer=answer.answer(advice),
        code=advice.code,
        cautions=advice.cautions,
        rates=_dots("rates", "The arms" + ", by rate alone" * (found is not None), _RATES, rate_dots(advice)),
        arms=arms,
        arm_note=capital("; ".join(arms.notes.values())),
        rewards=None if played is None else _dots("rewards", "The policies, rehearsed", _REWARDS, reward_dots(played)),
        policies=None if played is None else answer.policies_table(played),
        calls={} if played is None else {one.label: answer.call(one.policy, brief=True) for one in played.candidates},
        contexts=None if advice.contexts is None else answer.contexts_table(advice, advice.contexts),
        settings=settings(advice),
        advice=advice,
        rate_unit=answer.unit(advice),
    )


def _dots(name: str, title: str, words: str, chart: "Dots") -> PageFigure:
    return PageFigure(name, title, words, *(dots_figure(chart, width) for width in WIDTHS))


def title(advice: Advice) -> str:
    """The budget, the requests, and the name of the log without the folders it is in."""
    requests = "" if advice.serving is None else f" on {counted(advice.serving.requests, 'request')}"
    return f"How to spend a budget of {number(advice.budget)}{requests}, by {Path(advice.log).name}"


def settings(advice: Advice) -> dict[str, str]:
    """How the advice was made."""
    made = {
        "log": Path(advice.log).name,
        "rows": f"{advice.rows:,}, {counted(advice.left_out, 'row')} left out",
        "intervals": f"Fieller's, Student's quantiles; {advice.confidence:.0%} for all arms together (Bonferroni)",
        "comparison": f"on {advice.terms.basis}; bootstrap of the largest of all studentised differences",
        "tail": "Hill's estimate from the tenth of the rows with the largest costs, 10,000 at most",
        "drift": "summed ranks of block means against a Brownian bridge, for each arm's cost and reward (Bonferroni)",
    }
    if advice.terms.dated is not None:
        made["times"] = f"by the column {advice.terms.dated}, which was found by itself"
    if (played := advice.rehearsal) is not None:
        made["rehearsal"] = f"{counted(played.runs, 'run')}, seed {played.seed}: the same seed gives the same numbers"
    return made | {"outlay": __version__}


class Dot(NamedTuple):
    """A line of the chart."""

    label: str
    value: float
    low: float
    high: float
    kind: str  # one of KINDS, which has a colour


class Dots(NamedTuple):
    """A chart of dots, the first on top; `view` are the ends of its axis."""

    title: str
    axis: str
    dots: list[Dot]
    view: tuple[float, float]


def rate_dots(advice: Advice) -> Dots:
    """The arms' rates with their intervals, the best first; an interval may extend beyond the view."""
    shown = [arm for arm in advice.arms if arm.verdict not in (FREE, UNRANKED)]
    ranked = sorted(shown, key=lambda arm: -(arm.rate or 0.0))
    cost = answer.per(advice)
    dots = [
        Dot(shortened(arm.name), (arm.rate or 0.0) * cost, low * cost, high * cost, arm.verdict)
        for arm in ranked[:MOST_DOTS]
        for low, high in [arm.interval]
    ]
    title = f"Rates with intervals, {advice.confidence:.0%} for all arms together"
    low, high = view = _view(dots)
    further = any(dot.low < low or dot.high > high for dot in dots)
    return Dots(title, answer.unit(advice) + "; an arrow: the interval goes on" * further, dots, view)


def reward_dots(played: Rehearsal) -> Dots:
    """What the policies earned, with 95 % intervals of the mean, below what the best arm alone would earn."""
    rows = [(f"{played.best} alone", played.best_reward, played.best_stderr, REFERENCE)]
    rows += [(one.label, one.reward, one.stderr, RUNNER) for one in played.candidates]
    halves = [1.96 * (error if math.isfinite(error) else 0.0) for _, _, error, _ in rows]
    dots = [
        Dot(shortened(label), value, value - by, value + by, kind)
        for (label, value, _, kind), by in zip(rows, halves, strict=True)
    ]
    low, high = _view(dots)
    return Dots(f"Earned with {number(played.budget)}, from scratch", "reward", dots, (min(0.0, low), high))


def _view(dots: list[Dot]) -> tuple[float, float]:
    """Room for every dot and every finite interval, unless one is so long that it would squeeze the others."""
    values = [dot.value for dot in dots]
    middle = max(map(abs, values)) or 1.0
    ends = [end for dot in dots for end in (dot.low, dot.high) if abs(end) <= 10.0 * middle]
    low, high = min(values + ends), max(values + ends)
    margin = 0.05 * (high - low or abs(high) or 1.0)
    return low - margin, high + margin


def dots_figure(chart: Dots, width: Width = "page") -> Figure:
    """One line per dot, with its interval, and an arrow where that goes on; "page" is 7 inches wide, "column" 3.3."""
    sheet = sheet_of("dots_figure", width)
    figure, [axes] = blank(sheet, 1.6 + 0.44 * len(chart.dots) if sheet.narrow else 1.0 + 0.24 * len(chart.dots))
    if engine := figure.get_layout_engine():
        engine.set(w_pad=0.12)  # type: ignore[call-arg]  # fonts of a browser may be wider
    frame(axes, sheet, "", chart.axis, grid="x")
    figure.suptitle(chart.title, x=0.01, ha="left", fontsize=sheet.text + 0.5, color=INK)  # names take its place else
    left, right = chart.view
    set_scale(axes.xaxis, "linear", left, right, ticks=4 if sheet.narrow else 5)
    for row, dot in enumerate(chart.dots):
        colour = _COLOURS[dot.kind]
        axes.hlines(row, max(dot.low, left), min(dot.high, right), color=colour, linewidth=1.6 * sheet.line, alpha=0.6)
        for beyond, end, arrow in ((dot.low < left, left, "<"), (dot.high > right, right, ">")):
            if beyond:
                axes.plot(end, row, arrow, color=colour, markersize=2.6 * sheet.line, clip_on=False)
        axes.plot(dot.value, row, "o", color=colour, markersize=2.6 * sheet.line)
        if dot.kind == REFERENCE:
            axes.axvline(dot.value, color=INK, linestyle=(0, (5.0, 3.0)), linewidth=sheet.line / 1.5)
    axes.set_yticks(
        range(len(chart.dots)), [cut(dot.label, 22 if sheet.narrow else 28) for dot in chart.dots], parse_math=False
    )
    axes.set_ylim(len(chart.dots) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0.0, pad=6.0)
    axes.spines["left"].set_visible(False)
    return figure


def hull_figure(advice: Advice, serving: Serving, width: Width = "page") -> Figure:
    """The hull with its band, the arms as points, and the budget as a dashed line; arms beyond the axes are not."""
    sheet = sheet_of("hull_figure", width)
    figure, [axes] = blank(sheet, 5.4 if sheet.narrow else 3.8)
    curve, title = serving.curve, "What a request brings, with a 95% band"
    frame(axes, sheet, title, f"{advice.cost_name} per request", f"{advice.reward_name} per request")
    axes.fill_between(curve.budgets, curve.low, curve.high, color=PALETTE[0], alpha=0.18, linewidth=0.0)
    axes.plot(curve.budgets, curve.rewards, color=PALETTE[0], linewidth=sheet.line)
    right, top = curve.budgets[-1], 1.08 * max([0.0, *curve.high, *(arm.reward for arm in serving.arms)])
    set_scale(axes.xaxis, "linear", 0.0, right, ticks=4 if sheet.narrow else 6)
    set_scale(axes.yaxis, "linear", min(0.0, *(arm.reward for arm in serving.arms)), top or 1.0)
    c = serving.mix.budget / serving.requests
    axes.axvline(c, color=INK, linestyle=(0, (5.0, 3.0)), linewidth=sheet.line / 1.5)
    axes.annotate(
        "budget", (c, 0.02), xycoords=("data", "axes fraction"), textcoords="offset points", xytext=(4, 0),
        fontsize=sheet.text - 1.0, color=INK,
    )  # fmt: skip
    named = list[tuple[Artist, str]]()
    for arm in serving.arms:
        if not 0.0 <= arm.cost <= right:
            continue
        colour = _HULL_COLOURS.get(arm.on_hull, REST)
        [dot] = axes.plot(arm.cost, arm.reward, "o", color=colour, markersize=3.0 * sheet.line, zorder=3)
        if arm.on_hull in _HULL_COLOURS:
            named.append((dot, f"{len(named) + 1}  {cut(arm.name, 34)}"))
            axes.annotate(
                str(len(named)), (arm.cost, arm.reward), textcoords="offset points", ha="center",
                xytext=(0, 5 if len(named) % 2 else -12), fontsize=sheet.text - 0.5, color=INK,
            )  # fmt: skip
    if named:  # by number: names would cover each other
        legend(figure, sheet, [dot for dot, _ in named], [label for _, label in named])
    return figure


def html_of(advice: Advice) -> str:
    """HTML in the notebook's own colours; everything from the log is escaped."""
    said = "".join(f"<li>{escape(sentence)}</li>" for sentence in answer.answer(advice))
    if advice.serving is not None:
        shown = [replace(answer.hull_table(advice.serving), caption=answer.heading(advice)).html()]
        shown.append(replace(answer.mixes_table(advice.serving), caption="").html())
    else:
        table = answer.arms_table(advice)
        shown = [table.html(), f"<p><small>{escape('; '.join(table.notes.values()))}</small></p>"]
    if advice.contexts is not None:
        shown.append(answer.contexts_table(advice, advice.contexts).html())
    minded = "".join(f"<li><b>{escape(kind)}</b>: {escape(why)}.</li>" for kind, why in advice.cautions)
    return "\n".join(
        [
            f"<ul>{said}</ul>",
            *shown,
            f"<details><summary>What to watch out for ({len(advice.cautions)})</summary><ul>{minded}</ul></details>",
            f"<details><summary>Python</summary><pre>{escape(advice.code)}</pre></details>",
        ]
    )
