"""Advice in a terminal: rows of text, then rich tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from outlay.advice.records import ArmAdvice, Caution, Findings
from outlay.advice.rehearsal import Rehearsal
from outlay.advice.serving import Serving
from outlay.advice.telling import serving
from outlay.advice.telling.units import per, unit
from outlay.policies import RoundRobin
from outlay.tables import Table
from outlay.text import ANY, counted, listed, measured, number, span

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST_ROWS = 24
_NARROW = 60  # columns, below which cautions have one column
ARMS = ("arm", "rows", "mean cost", "mean reward", "rate", "interval", "corr.", "tail", "verdict")
POLICIES = ("policy", "earns ± stderr", "of best arm", "lost ± stderr", "1 in 10 loses")
_TEXTS = ("arm", "policy", "verdict", "on the hull", "mix")
# The columns that a narrow terminal leaves out, the first one first.
_SPARED = (
    "corr.",
    "tail",
    "1 in 10 loses",
    "mean reward",
    "mean cost",
    "rows",
    "of best arm",
    "interval",
    "in samples",
    "serves",
    "spends",
)


def heading(advice: Findings) -> str:
    """What was read; the log by its name, without the folders it is in."""
    found = f"{counted(advice.rows, 'row')}, {counted(len(advice.arms), 'arm')}"
    if advice.terms.instance is not None:
        found += f", all on the same {counted(advice.terms.instances, 'instance')} (column {advice.terms.instance})"
    spend = f"{number(advice.budget)} of {advice.cost_name} to spend"
    if advice.serving is not None:
        spend += f" on {counted(advice.serving.requests, 'request')}"
    return f"{Path(advice.log).name}: {found}; {spend}"


def arm_rows(advice: Findings) -> list[tuple[str, ...]]:
    """One row of text per arm, the best rate first; of many arms, only the first."""
    ranked = sorted(advice.arms, key=_rank)
    rows = [_cells(arm, per(advice)) for arm in ranked[:MOST_ROWS]]
    if len(ranked) > MOST_ROWS:
        rows.append((counted(len(ranked) - MOST_ROWS, "more arm"), *[""] * (len(ARMS) - 1)))
    return rows


def policy_rows(played: Rehearsal) -> list[tuple[str, ...]]:
    """One row of text per candidate, after that of the best arm alone."""
    first: tuple[str, ...] = (
        f"{played.best} alone",
        measured(played.best_reward, played.best_stderr),
        "100.0%",
        "–",
        "–",
    )
    return [first] + [
        (
            one.label,
            measured(one.reward, one.stderr),
            "–" if one.share != one.share else f"{one.share:.1%}",
            measured(one.regret, one.regret_stderr),
            number(one.bad_regret),
        )
        for one in played.candidates
    ]


def rehearsal_caption(played: Rehearsal) -> str:
    """What the table of policies shows."""
    runs = f"{counted(played.runs, 'run')}, seed {played.seed}"
    return f"Rehearsal on the log's rows with {number(played.budget)}, from scratch, all arms ({runs})"


def arm_notes(advice: Findings) -> dict[str, str]:
    """What the columns of the table of arms mean."""
    interval = f"interval: of the rate, {advice.confidence:.0%} for all arms together"
    if any(arm.rate is not None and span(*arm.interval) == ANY for arm in advice.arms):
        interval += f" ({ANY}: too few rows, or costs that vary too much, to bound it)"
    tail = "tail: index of the costs, below 2 the variance looks infinite"
    if any(arm.tail.limit is not None for arm in advice.arms):
        tail += ", or would without the limit"
    rate = f"rate: {unit(advice)}"
    return {"rate": rate, "interval": interval, "corr.": "corr.: of cost and reward", "tail": tail}


def policy_notes(played: Rehearsal) -> dict[str, str]:
    """What the columns of the table of policies mean, and which policies had learned nothing yet."""
    lost = {
        "lost ± stderr": "lost: to arms with lower rates, on average",
        "1 in 10 loses": "1 in 10 loses: that much or more",
    }
    if turns := [one.label for one in played.candidates if one.in_turn and not isinstance(one.policy, RoundRobin)]:
        were = "was" if len(turns) == 1 else "were"
        lost["policy"] = f"{listed(turns)} {were} still trying every arm in turn at this budget, as RoundRobin does"
    return lost


def advice_tables(advice: Findings, width: int) -> "RenderableType":
    """Everything but the code, for `rich.print` on a terminal of `width` characters per line."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    if advice.serving is not None:  # the verdict is about rates: who is ruled out by rate may be part of the mix
        parts += [Text(heading(advice), "bold"), Text(), *_serving_tables(advice.serving)]
    else:
        parts.append(Table(ARMS, arm_rows(advice), heading(advice), _SPARED, _TEXTS, arm_notes(advice)))
    if (played := advice.rehearsal) is not None:
        title, notes = rehearsal_caption(played), policy_notes(played)
        parts.append(Table(POLICIES, policy_rows(played), title, _SPARED, _TEXTS, notes))
    return Group(*parts, Text("What to watch out for", "bold"), _noted(advice.cautions, width))


def _serving_tables(found: Serving) -> list[Table]:
    """The hull, the mixes, and the rehearsal where there is one."""
    samples = {"in samples": "in samples: in which share of bootstrap samples it is on the hull"}
    hull = "Arms that may be part of the best mix for some budget"
    bring = f"What {counted(found.requests, 'request')} bring with half the budget, with it, and with twice it"
    parts = [
        Table(serving.ARMS, serving.arm_rows(found), hull, _SPARED, _TEXTS, samples),
        Table(serving.MIXES, serving.mix_rows(found), bring, _SPARED, _TEXTS, {"interval": "interval: 95%"}),
    ]
    if found.rehearsal:
        parts.append(Table(serving.PLAYED, serving.played_rows(found), serving.caption(found), _SPARED, _TEXTS))
    return parts


def _noted(cautions: Sequence[Caution], width: int) -> "RenderableType":
    """What kind each caution is, beside its sentence; before it in few columns, so that no number breaks."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    if width < _NARROW:
        return Group(*(Text.assemble((caution.kind, "bold"), f": {caution.sentence}") for caution in cautions))
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for caution in cautions:
        grid.add_row(*map(Text, caution))
    return grid


def _rank(arm: ArmAdvice) -> tuple[float, str]:
    return (float("inf") if arm.rate is None else -arm.rate, arm.name)


def _cells(arm: ArmAdvice, cost: float) -> tuple[str, ...]:
    interval = "–" if arm.rate is None else span(*(end * cost for end in arm.interval))
    rate = None if arm.rate is None else arm.rate * cost
    numbers = (number(arm.belief.mean_cost), number(arm.belief.mean_reward), number(rate))
    correlation = "–" if arm.correlation is None else f"{round(arm.correlation, 2) + 0.0:+.2f}".replace("-", "−")
    return arm.name, f"{arm.rows:,}", *numbers, interval, correlation, number(arm.tail.alpha, 2), arm.verdict
