"""Advice as one self-contained HTML page, in the look of every report: nothing to load from elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from outlay import __version__
from outlay.advice.records import Findings
from outlay.advice.rehearsal import Rehearsal
from outlay.advice.serving import Serving
from outlay.advice.telling import serving, tables
from outlay.advice.telling.answer import answer
from outlay.advice.telling.charts import Dots, rate_dots, reward_dots
from outlay.advice.telling.code import call
from outlay.advice.telling.figures import dots_figure
from outlay.advice.telling.glossary import glossary
from outlay.advice.telling.hull_figure import hull_figure
from outlay.checks import check_writable, checked_path, made, writing
from outlay.errors import BadParameter
from outlay.report.page import PageFigure, render
from outlay.report.style import WIDTHS
from outlay.tables import Table
from outlay.text import capital, counted, number


@contextmanager
def page_in(folder: str | PathLike[str]) -> Iterator[Path]:
    """The page's path in a folder that is made now, and removed if the work fails; BadFile if it cannot be written."""
    target = checked_path("write_advice", folder) / "advice.html"
    with made(target.parent):
        check_writable(target)
        yield target


def write_advice(advice: Findings, folder: str | PathLike[str]) -> Path:
    """Write the page into a folder and return its path."""
    with page_in(folder) as target:
        text = page_text(advice)
        with writing(target):
            target.write_text(text, encoding="utf-8")
    return target


def save_page(advice: Findings, path: str | PathLike[str]) -> Path:
    """Write the page to this path and return it."""
    target = checked_path("save", path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise BadParameter("save", "path", "the name of an HTML page, such as advice.html", str(path))
    text = page_text(advice)
    with made(target.parent), writing(target):
        target.write_text(text, encoding="utf-8")
    return target


def page_text(advice: Findings) -> str:
    """The page as text."""
    played = advice.rehearsal
    return render(
        "advice.html.j2",
        title=title(advice),
        serving=None if advice.serving is None else _serving(advice, advice.serving),
        summary=tables.heading(advice),
        answer=answer(advice),
        code=advice.code,
        cautions=advice.cautions,
        rates=_dots("rates", "The arms" + ", by rate alone" * (advice.serving is not None), _RATES, rate_dots(advice)),
        arms=Table(tables.ARMS, tables.arm_rows(advice)),
        arm_note=capital("; ".join(tables.arm_notes(advice).values())),
        rewards=None if played is None else _dots("rewards", "The policies, rehearsed", _REWARDS, reward_dots(played)),
        policies=None if played is None else Table(tables.POLICIES, tables.policy_rows(played)),
        policy_note="" if played is None else _policy_note(played),
        calls={} if played is None else {one.label: call(one.policy, brief=True) for one in played.candidates},
        settings=settings(advice, played),
        glossary=glossary(advice),
    )


def title(advice: Findings) -> str:
    """The budget with its unit, the requests, and the name of the log without the folders it is in."""
    requests = "" if advice.serving is None else f" on {counted(advice.serving.requests, 'request')}"
    return f"How to spend {number(advice.budget)} of {advice.cost_name}{requests}, by {Path(advice.log).name}"


def _serving(advice: Findings, found: Serving) -> dict[str, object]:
    """What the page says about requests."""
    figures = [hull_figure(advice, found, width) for width in WIDTHS]
    return {
        "figure": PageFigure("hull", "Money and requests", _HULL, *figures),
        "arms": Table(serving.ARMS, serving.arm_rows(found)),
        "mixes": Table(serving.MIXES, serving.mix_rows(found)),
        "played": Table(serving.PLAYED, serving.played_rows(found), serving.caption(found))
        if found.rehearsal
        else None,
    }


def settings(advice: Findings, played: Rehearsal | None) -> dict[str, str]:
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
    if played is not None:
        made["rehearsal"] = f"{counted(played.runs, 'run')}, seed {played.seed}: the same seed gives the same numbers"
    return made | {"outlay": __version__}


def _policy_note(played: Rehearsal) -> str:
    return "; ".join([tables.rehearsal_caption(played), *tables.policy_notes(played).values()])


def _dots(name: str, title: str, words: str, chart: Dots) -> PageFigure:
    return PageFigure(name, title, words, *(dots_figure(chart, width) for width in WIDTHS))


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
