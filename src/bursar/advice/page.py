"""Advice as one self-contained HTML page, in the look of every report: nothing to load from elsewhere."""

from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bursar._version import __version__
from bursar.advice import tables
from bursar.advice.answer import answer
from bursar.advice.charts import Dots, rate_dots, reward_dots
from bursar.advice.code import call
from bursar.advice.figures import dots_figure
from bursar.advice.records import Advice
from bursar.advice.rehearsal import Rehearsal
from bursar.advice.words import counted, number
from bursar.files import check_writable, place, writing
from bursar.report.figures.files import inline_svg, svg_text


class Drawing(NamedTuple):
    """A figure as SVG, for a page and for a phone."""

    page: Markup
    column: Markup


def target_in(folder: Any) -> Path:
    """The file of the page in a folder, which is made; BadFile where it cannot be written."""
    target = place("write_advice", folder) / "advice.html"
    with writing(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
    check_writable(target)
    return target


def write_advice(advice: Advice, folder: Any) -> Path:
    """Write the page into a folder; its path."""
    target = target_in(folder)
    text = page_text(advice)
    with writing(target):
        target.write_text(text, encoding="utf-8")
    return target


def page_text(advice: Advice) -> str:
    """The page as text."""
    pages = Environment(
        loader=PackageLoader("bursar.advice", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    played = advice.rehearsal
    return pages.get_template("advice.html.j2").render(
        title=f"How to spend {number(advice.budget)}, by {Path(advice.log).name}",
        style=Markup(_style()),  # noqa: S704 (the report's own)
        summary=tables.heading(advice),
        answer=answer(advice),
        code=advice.code,
        cautions=advice.cautions,
        rates=_drawing(rate_dots(advice), "rates"),
        arm_headings=tables.ARMS,
        arm_rows=tables.arm_rows(advice),
        arm_note=_capital(tables.arm_note(advice)),
        rewards=None if played is None else _drawing(reward_dots(played), "rewards"),
        policy_headings=tables.POLICIES,
        policy_rows=[] if played is None else tables.policy_rows(played),
        policy_note="" if played is None else f"{tables.rehearsal_caption(played)}; {tables.POLICY_NOTE}",
        calls={} if played is None else {one.label: call(one.policy) for one in played.candidates},
        settings=settings(advice, played),
    )


def settings(advice: Advice, played: Rehearsal | None) -> dict[str, str]:
    """How the advice was made."""
    made = {
        "log": advice.log,
        "rows": f"{advice.rows:,}, {counted(advice.left_out, 'row')} left out",
        "intervals": f"Fieller's, Student's quantiles; {advice.confidence:.0%} for all arms together (Bonferroni)",
        "tail": "Hill's estimate from the tenth of the rows with the largest costs, 10,000 at most",
        "drift": "summed ranks of block means against a Brownian bridge, for each arm's cost and reward (Bonferroni)",
    }
    if played is not None:
        made["rehearsal"] = f"{counted(played.runs, 'run')}, seed {played.seed}: the same seed gives the same numbers"
    return made | {"bursar": __version__}


def _drawing(chart: Dots, name: str) -> Drawing:
    """SVG elements, whose labels matplotlib has escaped."""
    texts = {width: svg_text(dots_figure(chart, width)) for width in ("page", "column")}
    return Drawing(*(Markup(inline_svg(text, f"{name}-{width}", chart.title)) for width, text in texts.items()))  # noqa: S704


def _style() -> str:
    """The style sheet of a report's page."""
    environment = Environment(loader=PackageLoader("bursar.report", ""), autoescape=True)
    assert environment.loader is not None  # noqa: S101 (given above)
    text, _, _ = environment.loader.get_source(environment, "page.html.j2")
    return text.partition("<style>")[2].partition("</style>")[0]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
