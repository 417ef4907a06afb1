"""What a thread of the GPU holds in hand of the leader, and how long it may go on pulling it.

A pull of the leader changes its own sums and those of all pulls and reads nothing else: the two rows lie in registers,
beside a box. While the lead stays in that, it is certain that the leader is to be pulled again (`gpu.look`). That is so
for the memories `PooledMoments` and `SequentialMoments`; policies with others are played plainly. `gpu.code` tells the
two apart when it compiles, by the class.
"""

import math
from typing import NamedTuple

from outlay.beliefs import Lead
from outlay.beliefs.pooled import COST_MAX, COST_MIN, REWARD_MAX
from outlay.engine.run.loop import Floats
from outlay.policies.protocol import MemoryTuple

LOW, HIGH = 0, 1
SIDES = 8  # numbers of a lead that a pull of the leader may move, but for the extremes
WANDER, SWAY = 1.5, 2.5  # standard deviations that a box leaves the rate, and that the rest, if they vary as their size


class Hand(NamedTuple):
    """The leader's sums and those of all pulls, what else a pull of the leader changes, and two boxes of the lead."""

    rows: Floats  # [2, 8]: the leader's, and those of all pulls
    extremes: Floats  # [3]
    usual: Floats  # [2], where arms are opened one by one
    narrow: Floats  # [low or high, SIDES]: nobody else need be looked at
    wide: Floats  # likewise: only arms that are listed need be


def take(memory: MemoryTuple, hand: Hand, leader: int) -> None:
    """Take in hand what a pull of the leader changes."""
    everything = len(memory.stats) - 1
    for i in range(8):
        hand.rows[0, i] = memory.stats[leader, i]
        hand.rows[1, i] = memory.stats[everything, i]
    for i in range(3):
        hand.extremes[i] = memory.extremes[i]
    take_usual(memory, hand)


def put_back(memory: MemoryTuple, hand: Hand, leader: int) -> None:
    """Copy it back into the memory."""
    everything = len(memory.stats) - 1
    for i in range(8):
        memory.stats[leader, i] = hand.rows[0, i]
        memory.stats[everything, i] = hand.rows[1, i]
    for i in range(3):
        memory.extremes[i] = hand.extremes[i]
    put_back_usual(memory, hand)


def take_usual(memory: MemoryTuple, hand: Hand) -> None:
    """`take`, of what is kept where arms are opened one by one."""
    hand.usual[0], hand.usual[1] = memory.usual[0], memory.usual[1]


def put_back_usual(memory: MemoryTuple, hand: Hand) -> None:
    """`put_back`, likewise."""
    memory.usual[0], memory.usual[1] = hand.usual[0], hand.usual[1]


def nothing_usual(memory: MemoryTuple, hand: Hand) -> None:
    """Both where all arms are open from the start."""


def of_hand(memory: MemoryTuple, hand: Hand, leader: int) -> MemoryTuple:
    """A memory of the leader alone; the compiler's version is made from the memory's type in `gpu.code`."""
    raise NotImplementedError("only compiled code holds a lead in registers")


def within_extremes(extremes: Floats, cost: float, reward: float) -> bool:
    """Whether a sample is no new extreme: a box holds for no others than those it was drawn with."""
    return bool(reward <= extremes[REWARD_MAX] and extremes[COST_MIN] <= cost <= extremes[COST_MAX])


def goes_on(memory: MemoryTuple, hand: Hand, leader: int, cost: float, reward: float) -> bool:
    """Take in a pull of the leader; whether it surely is to be pulled again, if the extremes are the same."""
    held = of_hand(memory, hand, leader)
    held.observe(0, cost, reward)
    lead = held.lead(0)
    ahead = held.belief(0).mean_cost > 0.0 and lead.rate > hand.narrow[LOW, 0]
    return bool(ahead and inside(hand.narrow, lead))


def around(lead: Lead, span: float, pulls: int) -> tuple[Lead, Lead]:
    """A box for a lead while the leader's spend grows by a share, `span`: the rest may move as far as chance has it."""
    root = math.sqrt(span / pulls)
    step = WANDER * root * math.sqrt(lead.spread) / lead.price + 1e-9 * abs(lead.rate)
    width, times = min(0.5, SWAY * root), 1.0 + span
    less, more, seen = 1.0 - width, 1.0 + width, (lead.reward_max, lead.cost_min, lead.cost_max)
    low = Lead(
        lead.rate - step, 0.0, less * lead.price, lead.arms, seen[0], seen[1], seen[2], less * lead.spread,
        less * lead.size, lead.opened, less * lead.usual_price, lead.usual_rate - step, lead.spent,
    )  # fmt: skip
    high = Lead(
        lead.rate + step, times * lead.spend, more * lead.price, lead.arms, seen[0], seen[1], seen[2],
        more * lead.spread, more * lead.size, lead.opened, more * lead.usual_price, lead.usual_rate + step,
        times * lead.spent,
    )  # fmt: skip
    return low, high


def as_edge(lead: Lead) -> Lead:
    """The same lead; compiled, of the class that edges have: the memory's is a copy of it."""
    return Lead(
        lead.rate, lead.spend, lead.price, lead.arms, lead.reward_max, lead.cost_min, lead.cost_max, lead.spread,
        lead.size, lead.opened, lead.usual_price, lead.usual_rate, lead.spent,
    )  # fmt: skip


def draw(box: Floats, low: Lead, high: Lead) -> None:
    """Write down a box."""
    write(box, LOW, low)
    write(box, HIGH, high)


def write(box: Floats, side: int, lead: Lead) -> None:
    """Write down one edge: of a lead, what a pull of the leader may move."""
    box[side, 0], box[side, 1], box[side, 2] = lead.rate, lead.spend, lead.price
    box[side, 3], box[side, 4] = lead.spread, lead.size
    box[side, 5], box[side, 6], box[side, 7] = lead.usual_price, lead.usual_rate, lead.spent


def between(box: Floats, low: Lead, high: Lead) -> tuple[Lead, Lead]:
    """Where two boxes meet."""
    b = box
    low = Lead(
        max(low.rate, b[LOW, 0]), max(low.spend, b[LOW, 1]), max(low.price, b[LOW, 2]), low.arms, low.reward_max,
        low.cost_min, low.cost_max, max(low.spread, b[LOW, 3]), max(low.size, b[LOW, 4]), low.opened,
        max(low.usual_price, b[LOW, 5]), max(low.usual_rate, b[LOW, 6]), max(low.spent, b[LOW, 7]),
    )  # fmt: skip
    high = Lead(
        min(high.rate, b[HIGH, 0]), min(high.spend, b[HIGH, 1]), min(high.price, b[HIGH, 2]), high.arms,
        high.reward_max, high.cost_min, high.cost_max, min(high.spread, b[HIGH, 3]), min(high.size, b[HIGH, 4]),
        high.opened, min(high.usual_price, b[HIGH, 5]), min(high.usual_rate, b[HIGH, 6]), min(high.spent, b[HIGH, 7]),
    )  # fmt: skip
    return low, high


def inside(box: Floats, lead: Lead) -> bool:
    """Whether a lead is in a box, the extremes aside."""
    b = box
    return bool(
        (b[LOW, 0] <= lead.rate <= b[HIGH, 0])
        & (b[LOW, 1] <= lead.spend <= b[HIGH, 1])
        & (b[LOW, 2] <= lead.price <= b[HIGH, 2])
        & (b[LOW, 3] <= lead.spread <= b[HIGH, 3])
        & (b[LOW, 4] <= lead.size <= b[HIGH, 4])
        & (b[LOW, 5] <= lead.usual_price <= b[HIGH, 5])
        & (b[LOW, 6] <= lead.usual_rate <= b[HIGH, 6])
        & (b[LOW, 7] <= lead.spent <= b[HIGH, 7])
    )
