"""The figures of a report, each with its words: drawn once for a page and once for a column."""

from collections.abc import Callable
from typing import NamedTuple

from matplotlib.figure import Figure

from outlay.report.contents import FIGURES, MEDIANS
from outlay.report.figures import distribution_figure, pulls_figure, reward_figure, svg_text
from outlay.report.figures.regret import draw
from outlay.report.figures.style import Width, sheet_of
from outlay.report.numbers.curves import Chart, Floor, regret_chart
from outlay.report.numbers.shares import LEAST_SEEN, shares
from outlay.results import Result
from outlay.text import percent


class Drawn(NamedTuple):
    """A figure in both widths, with its title and how to read it."""

    name: str
    title: str
    words: str
    page: Figure
    column: Figure
    page_svg: str
    column_svg: str


def drawn(result: Result, floor: Floor) -> list[Drawn]:
    """The figures of a report, in their order; those for a column have no title, since papers have captions."""
    chart = regret_chart(result, floor=floor)
    makers: tuple[Callable[[Width, bool], Figure], ...] = (
        lambda width, title: draw(chart, sheet_of("regret_figure", width), title=title),
        lambda width, title: distribution_figure(result, width=width, title=title),
        lambda width, _: pulls_figure(result, width=width),
        lambda width, title: reward_figure(result, width=width, title=title),
    )
    served = result.requests is not None
    found = []
    for name, make in zip(FIGURES, makers, strict=True):
        page, column, (title, words) = make("page", True), make("column", False), (_SERVED if served else _WORDS)[name]
        if name == "regret":
            words = _served_words(words, chart) if served else words.format(axes=_AXES[chart.axis.scale])
        if name == "pulls":
            words += _unseen(result)
        found.append(Drawn(name, title, words, page, column, svg_text(page), svg_text(column)))
    return found + _medians(result, floor, chart)


def _medians(result: Result, floor: Floor, means: Chart) -> list[Drawn]:
    """The medians, where the interval of a mean reaches below 0: a few runs are then far from the others."""
    if result.runs == 1 or not any((curve.low <= 0.0).any() for curve in means.curves):
        return []
    chart = regret_chart(result, floor=floor, centre="median")
    page, column = draw(chart, sheet_of("regret_figure", "page")), draw(chart, sheet_of("regret_figure", "column"))
    return [Drawn(MEDIANS, *_MEDIANS, page, column, svg_text(page), svg_text(column))]


def _served_words(words: str, chart: Chart) -> str:
    """How to read the regret with requests: which axes are logarithmic, and the bound where it is drawn.

    Of straight lines nothing is said: they are for a budget and requests that grow in proportion.
    """
    axes = f"The {chart.across} axis is" if chart.axis.scale == "linear" else "Both axes are"
    return words.format(axes=f"{axes} logarithmic.") + (_SERVED_BOUND if chart.bounds else "")


def _unseen(result: Result) -> str:
    """What to say of the best arm where its colour cannot be seen."""
    share = shares(result).share[:, -1, 0].max()
    if result.requests is not None:
        return ""
    return f" It got at most {percent(share)} of the pulls, too few to be seen." if share < LEAST_SEEN else ""


_MEDIANS = (
    "The median run",
    "The interval of a mean reaches below 0 above: a few runs are far from the others, and the mean says little about "
    "a single run. Here are medians, with the middle 80 % of the runs.",
)
_AXES = {
    "linear": "The budget axis is logarithmic: the line of a policy that has learnt is straight, and the flatter the "
    "better; the line of a policy that does not learn shoots up.",
    "log": "Both axes are logarithmic: the line of a policy that has learnt flattens; that of a policy that does "
    "not learn keeps rising as steeply as it began.",
}
_WORDS = {
    "regret": (
        "Regret as the budget grows",
        "Lower is better. {axes} Bands are 95 % intervals of the mean. Dashed: the lower bound, sharp and as the paper "
        "prints it. Thin, in a policy's colour: what a theorem proves that the policy does not exceed, "
        "up to a constant. Bounds far above all lines are left out.",
    ),
    "distribution": (
        "Every run",
        "Each dot is one run at the largest budget. Where dots form two clouds, the mean lies between them and "
        "describes no run: look at the median, and at how many dots are far to the right.",
    ),
    "pulls": (
        "Where the pulls went",
        "The share of pulls that each arm got up to a budget, over all runs; a policy that learns fills "
        "its panel with the colour of the best arm, which is at the bottom.",
    ),
    "reward": (
        "What each arm earned",
        "Pulls of an arm times its mean reward, at the largest budget. The dashed line is what the best arm alone "
        "earned: the distance to it is the regret.",
    ),
}
_SERVED_BOUND = " Dashed: the lower bound, for both growing in proportion."
_SERVED = {  # where requests are limited beside the budget
    **_WORDS,
    "regret": (
        "Regret at each budget and number of requests",
        "Lower is better. {axes} Bands are 95 % intervals of the mean. Regret is what falls short of the most that "
        "budget and requests can bring together on average.",
    ),
    "distribution": (
        "Every run",
        _WORDS["distribution"][1].replace("the largest budget", "the last budget and number of requests"),
    ),
    "pulls": (
        "Where the pulls went",
        "The share of pulls that each arm got, over all runs, those that lose least at the bottom. As a rule two arms "
        "share the pulls of the best policy: how depends on what can be spent on a request.",
    ),
    "reward": (
        "What each arm earned",
        "Pulls of an arm times its mean reward, at the last budget and number of requests. The dashed line is the most "
        "that can be earned on average: the distance to it is the regret.",
    ),
}
