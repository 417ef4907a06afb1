"""One self-contained HTML page about a result: nothing to load from elsewhere, every name escaped."""

from os import PathLike
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bursar.engine.result import Result, checked
from bursar.files import place, writing
from bursar.report.curves import floor_of
from bursar.report.figures import regret_figure, svg_text
from bursar.report.reproduce import python_call
from bursar.report.tables import HEADINGS, bound_sentence, caption, regret_rows

_LONGEST_LAW = 160


class ArmRow(NamedTuple):
    """One arm of the problem, as text."""

    name: str
    law: str
    mean_cost: str
    mean_reward: str
    rate: str
    gap: str


def write_page(result: Result, path: str | PathLike[str]) -> None:
    """Write the page: the problem, the regret table, the figure, the settings and the call that reproduces it."""
    target = place("write_page", path)
    text = page_text(checked("write_page", result))
    with writing(target):
        target.write_text(text, encoding="utf-8")


def page_text(result: Result) -> str:
    """The page as text."""
    pages = Environment(
        loader=PackageLoader("bursar.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return pages.get_template("page.html.j2").render(
        title=f"{', '.join(result.labels)} on {len(result.problem.names)} arms",
        arms=arm_rows(result),
        best=result.problem.best,
        caption=caption(result),
        headings=HEADINGS,
        rows=[row.cells() for row in regret_rows(result)],
        bound=bound_sentence(floor_of(result.problem)),
        figure=Markup(svg_text(regret_figure(result))),  # noqa: S704 (matplotlib escapes the labels; tested)
        settings=settings(result),
        call=python_call(result),
    )


def arm_rows(result: Result) -> list[ArmRow]:
    """The problem table."""
    problem = result.problem
    numbers = zip(problem.mean_costs, problem.mean_rewards, problem.rates, problem.gaps, strict=True)
    return [
        ArmRow(name, _cut(repr(law)), *(f"{number:.4g}" for number in row))
        for name, law, row in zip(problem.names, problem.arms, numbers, strict=True)
    ]


def settings(result: Result) -> dict[str, str]:
    """How the result was made."""
    budgets = [f"{budget:,.6g}" for budget in result.budgets]
    return {
        "seed": str(result.seed),
        "runs": f"{result.runs:,}",
        "budgets": budgets[0] if len(budgets) == 1 else f"{len(budgets)} from {budgets[0]} to {budgets[-1]}",
        "bursar": result.version,
    } | {
        f"policy {label}": policy if isinstance(policy, str) else repr(policy)
        for label, policy in result.policies.items()
    }


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_LAW else text[: _LONGEST_LAW - 1] + "…"
