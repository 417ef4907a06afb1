"""One self-contained HTML page about a result: nothing to load from elsewhere, every name escaped."""

import inspect
from os import PathLike
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bursar.engine.result import Result, checked
from bursar.files import check_writable, place, writing
from bursar.report.curves import floor_of
from bursar.report.drawn import Drawn, drawn
from bursar.report.figures.files import inline_svg
from bursar.report.reproduce import python_call
from bursar.report.tables import HEADINGS, bound_sentence, caption, regret_rows
from bursar.report.verdict import sentences, verdict

_LONGEST_LAW = 160
_MOST_ARMS = 30


class ArmRow(NamedTuple):
    """One arm of the problem, as text."""

    name: str
    best: bool
    law: str
    mean_cost: str
    mean_reward: str
    rate: str
    gap: str


class PolicyRow(NamedTuple):
    """One policy, as text: what it is, in the words of its docstring, and its parameters."""

    label: str
    words: str
    call: str


def write_page(result: Result, path: str | PathLike[str]) -> None:
    """Write the page: the verdict, figures, the table, the problem, the settings and the call that reproduces it."""
    target = place("write_page", path)
    checked("write_page", result)
    check_writable(target)
    text = page_text(result)
    with writing(target):
        target.write_text(text, encoding="utf-8")


def page_text(result: Result, figures: list[Drawn] | None = None) -> str:
    """The page as text; `figures` are drawn unless they are given."""
    pages = Environment(
        loader=PackageLoader("bursar.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    arms, policies = len(result.problem), len(result.policies)
    counts = f"{policies} polic{'y' if policies == 1 else 'ies'}, {arms} arm{'s' * (arms > 1)}"
    played = f"{counts}, a budget of {result.budgets[-1]:,.6g}"
    return pages.get_template("page.html.j2").render(
        title=f"{', '.join(result.labels)} on {arms} arms",
        summary=f"{played}, {result.runs:,} runs of each policy",
        verdict=sentences(verdict(result), result),
        figures={one.name: (one, *_inline(one)) for one in figures or drawn(result)},
        caption=caption(result),
        headings=HEADINGS,
        rows=[row.cells() for row in regret_rows(result)],
        bound=_capital(bound_sentence(floor_of(result.problem))),
        arms=arm_rows(result),
        more_arms=max(0, arms - _MOST_ARMS),
        policies=policy_rows(result),
        settings=settings(result),
        call=python_call(result),
    )


def arm_rows(result: Result) -> list[ArmRow]:
    """The problem table: every arm or, of too many, those with the largest rates."""
    problem = result.problem
    shown = list(range(len(problem)))
    if len(problem) > _MOST_ARMS:
        shown = sorted(shown, key=lambda k: (problem.gaps[k], k))[:_MOST_ARMS]
    columns = (problem.mean_costs, problem.mean_rewards, problem.rates, problem.gaps)
    return [
        ArmRow(
            problem.names[k],
            not problem.gaps[k],
            _cut(repr(problem.arms[k])),
            *(f"{values[k]:.4g}" for values in columns),
        )
        for k in shown
    ]


def policy_rows(result: Result) -> list[PolicyRow]:
    """What was compared."""
    return [PolicyRow(label, _words(policy), _call(policy)) for label, policy in result.policies.items()]


def settings(result: Result) -> dict[str, str]:
    """How the result was made."""
    budgets = [f"{budget:,.6g}" for budget in result.budgets]
    return {
        "seed": str(result.seed),
        "runs": f"{result.runs:,}",
        "budgets": budgets[0] if len(budgets) == 1 else f"{len(budgets)} from {budgets[0]} to {budgets[-1]}",
        "bursar": result.version,
    }


def _inline(one: Drawn) -> list[Markup]:
    """SVG elements, whose labels matplotlib has escaped (tested): for a page and for a phone."""
    texts = {"page": one.page_svg, "column": one.column_svg}
    return [Markup(inline_svg(text, f"{one.name}-{width}", one.title)) for width, text in texts.items()]  # noqa: S704


def _words(policy: Any) -> str:
    """The first sentence about it, if it is there to be asked."""
    text = "" if isinstance(policy, str) else inspect.getdoc(type(policy)) or ""
    first = " ".join(text.partition("\n\n")[0].split())
    return "" if first.startswith(f"{type(policy).__name__}(") else first


def _call(policy: Any) -> str:
    return policy if isinstance(policy, str) else repr(policy)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_LAW else text[: _LONGEST_LAW - 1] + "…"
