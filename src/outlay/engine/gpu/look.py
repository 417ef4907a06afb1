"""A look at the others on the GPU: who is to be pulled, and how long nobody else can be.

The counterpart of `choices.certificate`, for policies that compare every arm with the leader. It keeps two boxes
around the lead. In the wide one all arms are certain to stay behind but some, which are listed; a look compares these
alone. In the narrow one, made for a guessed number of pulls, none of them can win either: the leader is pulled until
the lead leaves it. So threads of a warp take few looks, and each look is the same short loop for all of them; with ten
boxes, as on the CPU, every thread has something else to do.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from outlay.beliefs import Lead, price_of
from outlay.engine.gpu.contest import Dues
from outlay.engine.gpu.hand import LOW, Hand, around, as_edge, between, draw, inside
from outlay.formulas.choices.asking import MARGIN
from outlay.formulas.choices.choose import AT_ONCE, Counts, leader_of, leads, number, without_price
from outlay.policies.protocol import Compared, KindName, LeaderMemory, Opening, SequentialMemory

Drawing = Any
Comparing = Any  # a policy that is `Compared`, or also `Opening`
Leading = Any  # its memory, which `LeaderMemory`, and `SequentialMemory` where the policy does

NOBODY = -1
WIDE, EXACT, NARROW, DECIDED = range(4)  # what a look does, one after another
FEWEST = 4.0  # pulls that a narrow box is made for
FIRST_SPAN, WIDEST, TIGHTEST = 0.3, 1.0, 0.01  # of the wide box: how much the leader's spend may grow, as a share
MANY, FEW = 8, 20  # a wide box is too wide if more than an eighth of the arms are listed; a twentieth is few


class Look(NamedTuple):
    """Who is to be pulled, and what the next look starts from."""

    arm: int
    leader: int  # NOBODY where all arms must be looked at
    runner_up: float  # no other's rate is larger
    listed: int  # how many arms are
    reach: float  # pulls that the next narrow box is made for
    span: float  # of the next wide box


def look(
    policy: Comparing, memory: Leading, pulls: Counts, listed: Dues, hand: Hand, last: Look, n: int, rng: Drawing
) -> Look:
    """Find the arm to pull, and draw the narrow box: empty, where one pull is all that is certain."""
    arm, leader, runner_up, count, reach, span = last
    if leader != NOBODY and not still_leads(memory, hand, arm, leader, runner_up):
        leader = NOBODY
    stage = EXACT
    if leader == NOBODY:
        stage, arm = WIDE, at_once(policy, memory, pulls, n, rng)
        if arm != NOBODY:
            stage = DECIDED
        else:
            leader, runner_up = leader_of(memory, pulls)
    elif arm != leader:
        runner_up = max(runner_up, rate_of(memory, arm))
    lead = as_edge(memory.lead(max(leader, 0)))
    low, high = lead, lead
    if stage == WIDE:
        low, high = around(lead, span, pulls[leader])
        draw(hand.wide, low, high)
    hand.narrow[LOW, 0] = math.inf
    while stage < DECIDED:
        best, least, spend, certain, doubtful = leader, math.inf, math.inf, True, 0
        for i in range(len(pulls) if stage == WIDE else count):
            k = i if stage == WIDE else int(listed[i])
            if k != leader and pulls[k] > 0:
                belief = memory.belief(k)
                value = policy.excess(belief, low, high)
                if not value > MARGIN:
                    certain = False
                    if stage == WIDE:
                        listed[doubtful] = k
                        doubtful += 1
                excess = -number(-value)
                mine = belief.pulls * price_of(belief, low.cost_min, low.cost_max)
                if leads(-excess, mine, pulls[k], -least, spend, pulls[best]):
                    best, least, spend = k, excess, mine
        if stage == WIDE:
            count, span = doubtful, next_span(span, doubtful, len(pulls))
            low, high, stage = lead, lead, EXACT
        elif stage == EXACT:
            arm, leader = named(policy, memory, pulls, lead, leader, best, least)
            stage = NARROW if arm == leader else DECIDED
            if stage == NARROW:
                low, high = around(lead, min(span, reach / pulls[leader]), pulls[leader])
                low, high = between(hand.wide, low, high)
        else:
            stage = DECIDED
            certain = certain and excess_of_fresh(policy, memory, pulls, low, high) > MARGIN
            reach = min(2.0 * reach, float(n)) if certain else max(FEWEST, 0.25 * reach)
            if certain:
                draw(hand.narrow, low, high)
                hand.narrow[LOW, 0] = max(low.rate, runner_up)
    return Look(arm, leader, runner_up, count, reach, span)


def named(
    policy: Comparing, memory: Leading, pulls: Counts, lead: Lead, leader: int, best: int, least: float
) -> tuple[int, int]:
    """The arm to pull, by the least excess of all, and who leads then: NOBODY, where an arm is opened."""
    wanted = -number(-excess_of_fresh(policy, memory, pulls, lead, lead))
    if wanted == -math.inf or (wanted <= 0.0 and wanted <= least):
        return next_to_open(memory), NOBODY
    return best if least <= 0.0 else leader, leader


def still_leads(memory: LeaderMemory, hand: Hand, arm: int, leader: int, runner_up: float) -> bool:
    """Whether the leader surely leads after a pull of an arm, and the lead is in the wide box."""
    lead = memory.lead(leader)
    ahead = lead.rate > runner_up if arm == leader else rate_of(memory, arm) < lead.rate
    return bool(memory.belief(arm).mean_cost > 0.0 and ahead and inside(hand.wide, lead))


def rate_of(memory: LeaderMemory, arm: int) -> float:
    """The arm's rate, ∞ for one that has cost nothing in all."""
    belief = memory.belief(arm)
    return float(belief.mean_reward / belief.mean_cost) if belief.mean_cost > 0.0 else math.inf


def next_span(span: float, listed: int, arms: int) -> float:
    """How wide the next wide box is to be."""
    if listed * MANY > arms:
        return max(TIGHTEST, 0.6 * span)
    return min(WIDEST, 1.6 * span) if listed * FEW <= arms + FEW else span


def at_once(policy: Compared, memory: LeaderMemory, pulls: Counts, n: int, rng: Drawing) -> int:
    """The arm to pull if that is clear without a comparison, or NOBODY: one of the two below."""
    raise NotImplementedError("only compiled code decides on the device")


def at_once_of_all(policy: Compared, memory: LeaderMemory, pulls: Counts, n: int, rng: Drawing) -> int:  # noqa: ARG001
    """`at_once` for a policy with `excess`."""
    arm = without_price(memory, pulls, 0)
    return arm if arm < len(pulls) else NOBODY


def at_once_of_opened(policy: Opening, memory: SequentialMemory, pulls: Counts, n: int, rng: Drawing) -> int:  # noqa: ARG001
    """`at_once` for a policy with `excess` and `excess_of_new_arm`."""
    if n == 0:
        memory.shuffle(rng)
    if memory.unopened() < len(pulls) and memory.opened() < AT_ONCE:
        return int(memory.unopened())
    arm = without_price(memory, pulls, 1)
    return arm if arm < len(pulls) else NOBODY


def excess_of_fresh(policy: Opening, memory: SequentialMemory, pulls: Counts, low: Lead, high: Lead) -> float:
    """The excess of the arm to be opened next, or ∞ if there is none; at most that of any lead between two."""
    return policy.excess_of_new_arm(low, high) if memory.unopened() < len(pulls) else math.inf


def next_to_open(memory: SequentialMemory) -> int:
    """The arm to be opened next."""
    return memory.unopened()


def none_is_fresh(policy: Compared, memory: LeaderMemory, pulls: Counts, low: Lead, high: Lead) -> float:  # noqa: ARG001
    """`excess_of_fresh` where all arms are open from the start."""
    return math.inf


def none_to_open(memory: LeaderMemory) -> int:  # noqa: ARG001
    """`next_to_open`, likewise: never asked for."""
    return NOBODY


# For each way of `protocol.POLICY_KINDS` that compares arms with the leader.
AT_ONCE_OF: dict[KindName, Callable[..., int]] = {"excess": at_once_of_all, "opening": at_once_of_opened}
