"""Advice in a terminal: rows of text, then rich tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from outlay.advice.records import ArmAdvice, Findings
from outlay.advice.rehearsal import Rehearsal
from outlay.advice.serving import Serving
from outlay.advice.telling import serving
from outlay.advice.telling.units import per, unit
from outlay.numerals import ANY, measured, number, span
from outlay.policies import RoundRobin
from outlay.words import counted, listed

if TYPE_CHECKING:
    from rich.console import JustifyMethod, RenderableType
    from rich.table import Table

MOST_ROWS = 24
ARMS = ("arm", "rows", "mean cost", "mean reward", "rate", "interval", "corr.", "tail", "verdict")
POLICIES = ("policy", "earns ± stderr", "of best arm", "lost ± stderr", "1 in 10 loses")
_NAMES, _TEXT = ("arm", "policy", "mix"), ("arm", "policy", "verdict", "on the hull", "mix")
_NAME = 20  # characters that a name may always take; longer ones are folded
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

    parts: list[RenderableType] = [Text(heading(advice), "bold")]
    if advice.serving is not None:  # the verdict is about rates: who is ruled out by rate may be part of the mix
        parts += _serving_tables(advice.serving, width)
    else:
        parts += _table(ARMS, arm_rows(advice), arm_notes(advice), width)
    if advice.rehearsal is not None:
        parts.append(Text(rehearsal_caption(advice.rehearsal), "bold"))
        parts += _table(POLICIES, policy_rows(advice.rehearsal), policy_notes(advice.rehearsal), width)
    return Group(*parts, Text("What to watch out for", "bold"), _two_columns(advice.cautions))


def _serving_tables(found: Serving, width: int) -> list["RenderableType"]:
    """The hull, the mixes, and the rehearsal where there is one."""
    from rich.text import Text

    samples = {"in samples": "in samples: in which share of bootstrap samples it is on the hull"}
    parts: list[RenderableType] = [Text("Arms that may be part of the best mix for some budget", "bold")]
    parts += _table(serving.ARMS, serving.arm_rows(found), samples, width)
    bring = f"What {counted(found.requests, 'request')} bring with half the budget, with it, and with twice it"
    parts.append(Text(bring, "bold"))
    parts += _table(serving.MIXES, serving.mix_rows(found), {"interval": "interval: 95%"}, width)
    if found.rehearsal:
        parts.append(Text(serving.caption(found), "bold"))
        parts += _table(serving.PLAYED, serving.played_rows(found), {}, width)
    return parts


def _table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], notes: Mapping[str, str], width: int
) -> list["RenderableType"]:
    """A table of as many columns as there is room for, the notes on them, and an empty line."""
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    room = {name: max(map(cell_len, cells)) for name, *cells in zip(headings, headings, *rows, strict=True)}
    room = {name: min(wide, _NAME) if name in _NAMES else wide for name, wide in room.items()}
    spared = []
    for name in _SPARED:
        if name in room and sum(room.values()) + 3 * len(room) + 1 > width:
            del room[name]
            spared.append(name)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    for name, wide in room.items():
        justify: JustifyMethod = "left" if name in _TEXT else "right"
        table.add_column(name, justify=justify, no_wrap=name not in _NAMES, overflow="fold", min_width=wide)
    for row in rows:
        table.add_row(*(Text(cell) for name, cell in zip(headings, row, strict=True) if name in room))
    words = [note for name, note in notes.items() if name in room]
    words += [f"no room for {', '.join(spared)}"] * bool(spared)
    return [table, *([Text("; ".join(words), "dim"), Text()] if words else [])]


def _two_columns(rows: Sequence[Sequence[str]]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))
    return grid


def _rank(arm: ArmAdvice) -> tuple[float, str]:
    return (float("inf") if arm.rate is None else -arm.rate, arm.name)


def _cells(arm: ArmAdvice, cost: float) -> tuple[str, ...]:
    interval = "–" if arm.rate is None else span(*(end * cost for end in arm.interval))
    rate = None if arm.rate is None else arm.rate * cost
    numbers = (number(arm.belief.mean_cost), number(arm.belief.mean_reward), number(rate))
    correlation = "–" if arm.correlation is None else f"{round(arm.correlation, 2) + 0.0:+.2f}".replace("-", "−")
    return arm.name, f"{arm.rows:,}", *numbers, interval, correlation, number(arm.tail.alpha, 2), arm.verdict
