"""One self-contained HTML page about a result: nothing to load from elsewhere, every name escaped."""

import inspect
import re
from collections.abc import Sequence
from os import PathLike
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from outlay.checks import check_writable, checked_path, writing
from outlay.engine.limits import Counts
from outlay.report.contents import FIGURES, TABLES
from outlay.report.drawn import Drawn, drawn
from outlay.report.figures.files import inline_svg
from outlay.report.findings import finding, sentences
from outlay.report.regret import RegretTable, bound_sentence, checked_title, regret_numbers
from outlay.report.rendering import rendered
from outlay.report.reproduce import python_call, shell_call
from outlay.results import Result, checked
from outlay.text import capital, counted

_QUESTION = "Which policy spends the budget best?"
_LONGEST_LAW = 160
_GAP = {
    False: "how far its rate is below the best rate. Policies are not told which arm is best.",
    True: "what a pull of it loses, at the price of money and the worth of a request at the last budget; the best arms "
    "lose nothing. Policies are not told which they are.",
}
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


def write_page(result: Result, path: str | PathLike[str], title: str | None = None) -> None:
    """Write the page: which policy to use, figures, the table, the problem, the settings, how to make it again."""
    target = checked_path("write_page", path)
    checked("write_page", result)
    checked_title("write_page", title)
    check_writable(target)
    numbers = regret_numbers(result, title=title)
    text = page_text(result, numbers, drawn(result, numbers.floor), title)
    with writing(target):
        target.write_text(text, encoding="utf-8")


def page_text(
    result: Result, numbers: RegretTable, figures: list[Drawn], title: str | None = None, files: bool = False,
    command: str | None = None,
) -> str:  # fmt: skip
    """The page as text; without a title, the heading is its question. With `files`, those of a report are beside it."""
    arms, policies = len(result.problem), len(result.policies)
    counts = f"{counted(policies, 'policy', 'policies')}, {counted(arms, 'arm')}"
    runs = f"{counted(result.runs, 'run')} of each policy"
    summary = f"{counts}, {_limits(result)}, {runs}"
    return rendered(
        "outlay.report",
        "report.html.j2",
        title=title or f"{', '.join(result.labels)} on {arms} arms",
        heading=title or _QUESTION,
        summary=f"{_QUESTION} {summary}" if title else summary,
        verdict=sentences(finding(result), result),
        figures={one.name: (one.title, one.words, *_inline(one)) for one in figures},
        caption=numbers.caption,
        headings=numbers.table().headings,
        rows=numbers.table().rows,
        bound=capital(bound_sentence(numbers.floor)),
        arms=arm_rows(result),
        served=result.requests is not None,
        gap=_GAP[result.requests is not None],
        more_arms=max(0, arms - _MOST_ARMS),
        policies=policy_rows(result),
        settings=settings(result),
        files=[f"table.{ending}" for ending in TABLES] + [f"{name}.pdf" for name in FIGURES] if files else [],
        command=command or shell_call(result),
        call=python_call(result),
    )


def arm_rows(result: Result) -> list[ArmRow]:
    """The problem table: every arm or, of too many, those with the smallest gaps."""
    problem, gaps = result.problem, result.gaps
    shown: Sequence[int] = range(len(problem))
    if len(problem) > _MOST_ARMS:
        shown = np.argsort(gaps, kind="stable")[:_MOST_ARMS].tolist()
    paid = problem.mean_costs > 0
    rates = np.where(paid, problem.mean_rewards / np.where(paid, problem.mean_costs, 1.0), np.nan)
    columns = (problem.mean_costs, problem.mean_rewards, rates, gaps)
    return [
        ArmRow(
            problem.names[k],
            not gaps[k],
            _beginning(_rounded(repr(problem.arms[k]))),
            *("–" if np.isnan(values[k]) else f"{values[k]:.4g}".replace("-", "−") for values in columns),
        )
        for k in shown
    ]


def policy_rows(result: Result) -> list[PolicyRow]:
    """What was compared."""
    return [PolicyRow(label, _description(policy), _call(policy)) for label, policy in result.policies.items()]


def settings(result: Result) -> dict[str, str]:
    """How the result was made."""
    return {
        "seed": str(result.seed),
        "runs": f"{result.runs:,}",
        "budgets": budgets_spanned(result.budgets.tolist()),
        **({} if result.requests is None else {"requests": _span(result.requests)}),
        **({} if result.mode == "until_exceeded" else {"mode": result.mode}),
        "outlay": result.version,
    }


def budgets_spanned(budgets: Sequence[float]) -> str:
    """Budgets in a few words; one that comes with several numbers of requests is one.

    >>> budgets_spanned([100.0, 100.0]), budgets_spanned([10.0, 20.0, 5e3])
    ('100', '3 from 10 to 5,000')
    """
    shown = [f"{budget:,.6g}" for budget in dict.fromkeys(budgets)]
    return shown[0] if len(shown) == 1 else f"{len(shown)} from {shown[0]} to {shown[-1]}"


def _limits(result: Result) -> str:
    """The last budget and its requests, in the words of the summary."""
    money = f"a budget of {result.budgets[-1]:,.6g}"
    if result.requests is None:
        return money
    served = counted(int(result.requests[-1]), "request")
    return served if result.budgets[-1] == np.inf else f"{money} for {served}"


def _span(counts: Counts) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _inline(one: Drawn) -> list[Markup]:
    """SVG elements, whose labels matplotlib has escaped (tested): for a page and for a phone."""
    texts = {"page": one.page_svg, "column": one.column_svg}
    return [Markup(inline_svg(text, f"{one.name}-{width}", one.title)) for width, text in texts.items()]  # noqa: S704


def _description(policy: object) -> str:
    """The first sentence of its docstring; a policy that is not outlay's is loaded as text, and has none."""
    text = "" if isinstance(policy, str) else inspect.getdoc(type(policy)) or ""
    first = " ".join(text.partition("\n\n")[0].split())
    return "" if first.startswith(f"{type(policy).__name__}(") else first


def _call(policy: object) -> str:
    return _rounded(policy if isinstance(policy, str) else repr(policy))


def _rounded(text: str) -> str:
    """The text with its numbers to twelve digits: further digits are rounding errors."""
    return re.sub(r"\d+\.\d{12,}(e[+-]?\d+)?", lambda found: repr(float(f"{float(found[0]):.12g}")), text)


def _beginning(text: str) -> str:
    """As much of a law as fits; its parameters come in order, so that it is cut at the end."""
    return text if len(text) <= _LONGEST_LAW else text[: _LONGEST_LAW - 1] + "…"
