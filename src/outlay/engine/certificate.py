"""`choose.best_by_excess` without comparing every arm: exact, ties included.

Between two pulls of an arm, what it is compared with changes with every pull of the leader, but slowly. A policy's
`excess(belief, low, high)` is a lower bound over all leads between two (its value where they are one), so one round of
bounds certifies the leader for as long as the lead stays in a box: its rate above the others', its spend not much
larger, the extremes as they are. Until then a pull costs one lead and no logarithm, whatever the number of arms.

The box is widened when a certificate is had and narrowed when it is refused. Bounds carry a margin, since rounding may
put an excess a little below where the formula has it. Everything here runs in the interpreter and compiled.
"""

from typing import Any

from outlay.beliefs import Lead
from outlay.engine.lazy import LEADER, UNTIL, Race
from outlay.formulas.choose import leader_of, least_excess, without_price

MARGIN = 1e-6  # of an excess: after a billion pulls rounding leaves it no more certain
FIRST, WIDEST = 0.02, 0.5  # how far a box reaches, as a share of each number: at first, and at most
WORTHWHILE = 3.0  # pulls that a certificate must be expected to serve
REACH = 0  # the entry of Race.levels that holds it


def lazy_against(policy: Any, memory: Any, pulls: Any, race: Race) -> int:
    """`choose.best_by_excess`: the same arm."""
    leader = int(race.marks[LEADER])
    if race.marks[UNTIL] > 0 and inside(memory.lead(leader), race.box):
        return leader
    return compare_all(policy, memory, pulls, race)


def compare_all(policy: Any, memory: Any, pulls: Any, race: Race) -> int:
    """`choose.best_by_excess`, and a certificate for what follows where there is one."""
    before = race.marks[LEADER]
    race.marks[UNTIL] = 0
    free = without_price(memory, pulls)
    if free < len(pulls):
        return free
    leader, runner_up = leader_of(memory, pulls)
    lead = memory.lead(leader)
    arm, excess = least_excess(policy, memory, pulls, leader, lead, lead)
    if excess <= 0.0:
        return arm
    if before < 0:
        race.levels[REACH] = FIRST
    race.marks[LEADER] = leader
    # What is enough grows with the logarithm of the leader's spend: a box wider than the least excess is too wide. And
    # whoever has just taken the lead will lose it, often as not.
    level = max(float(race.levels[REACH]), WORTHWHILE / pulls[leader])
    reach = min(level, excess)
    if leader == before and lead.rate > runner_up and reach * pulls[leader] >= WORTHWHILE and reach <= WIDEST:
        low, high = box_around(lead, runner_up, reach)
        _, least = least_excess(policy, memory, pulls, leader, low, high)
        race.levels[REACH] = min(WIDEST, 2.0 * level) if least > MARGIN else 0.5 * level
        if least > MARGIN:
            race.marks[UNTIL] = 1
            for i in range(len(low)):
                race.box[0, i] = low[i]
                race.box[1, i] = high[i]
    return leader


def box_around(lead: Lead, runner_up: float, reach: float) -> tuple[Lead, Lead]:
    """Two leads between which the leader leads, the extremes are what they are, and the rest may move a little."""
    step = reach * abs(lead.rate)
    least, most = max(lead.rate - step, lead.rate - 0.5 * (lead.rate - runner_up)), lead.rate + step
    fixed = lead.arms, lead.reward_max, lead.cost_min, lead.cost_max
    less, more = 1.0 - reach, 1.0 + reach
    low = Lead(least, less * lead.spend, less * lead.price, *fixed, less * lead.spread, less * lead.size)
    high = Lead(most, more * lead.spend, more * lead.price, *fixed, more * lead.spread, more * lead.size)
    return low, high


def inside(lead: Lead, box: Any) -> bool:
    """Whether every number of the lead is between those of the box."""
    for i in range(len(lead)):  # noqa: SIM110 (compiled: no generators)
        if not box[0, i] <= lead[i] <= box[1, i]:
            return False
    return True
