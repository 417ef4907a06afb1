"""Advice as one self-contained HTML page, in the look of every report: nothing to load from elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from markupsafe import Markup

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
from outlay.advice.telling.hull_figure import TITLE, hull_figure
from outlay.checks import check_writable, checked_path, made, writing
from outlay.errors import BadParameter
from outlay.report.figures.files import inline_svg, svg_text
from outlay.report.figures.style import WIDTHS
from outlay.report.rendering import rendered
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
    return rendered(
        "outlay.advice",
        "advice.html.j2",
        title=title(advice),
        serving=None if advice.serving is None else _serving(advice, advice.serving),
        summary=tables.heading(advice),
        answer=answer(advice),
        code=advice.code,
        cautions=advice.cautions,
        rates=_drawings(rate_dots(advice), "rates"),
        arm_headings=tables.ARMS,
        arm_rows=tables.arm_rows(advice),
        arm_note=capital("; ".join(tables.arm_notes(advice).values())),
        rewards=None if played is None else _drawings(reward_dots(played), "rewards"),
        policy_headings=tables.POLICIES,
        policy_rows=[] if played is None else tables.policy_rows(played),
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
    texts = {width: svg_text(hull_figure(advice, found, width)) for width in WIDTHS}
    return {
        "figure": [Markup(inline_svg(text, f"hull-{width}", TITLE)) for width, text in texts.items()],  # noqa: S704
        "arms": (serving.ARMS, serving.arm_rows(found)),
        "mixes": (serving.MIXES, serving.mix_rows(found)),
        "played": (serving.PLAYED, serving.played_rows(found)) if found.rehearsal else None,
        "caption": serving.caption(found),
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


def _drawings(chart: Dots, name: str) -> list[Markup]:
    """SVG for a page and for a phone, whose labels matplotlib has escaped."""
    texts = {width: svg_text(dots_figure(chart, width)) for width in WIDTHS}
    return [Markup(inline_svg(text, f"{name}-{width}", chart.title)) for width, text in texts.items()]  # noqa: S704
