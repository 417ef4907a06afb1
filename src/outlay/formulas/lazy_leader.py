"""`argmax.best_by_excess` and `argmax.best_of_opened` without comparing every arm: exact, ties included.

Between two pulls of an arm, what it is compared with changes with every pull of the leader, but slowly. A policy's
`excess(belief, low, high)` is a lower bound over all leads between two (its value where they are one), so an arm whose
excess is positive between the edges of a box need not be compared while the lead stays in it. There are several boxes,
from wide to narrow, each drawn for a quarter of the pulls of the one before, and as wide as these move the lead as a
rule; an arm belongs to the widest in which its excess is surely positive. When the lead leaves a box, only its arms are
asked anew: those far behind sit in wide boxes and are seldom asked, those close behind in narrow ones. Arms that are
certain in no box are compared at every pull. So a pull costs one lead, and as many comparisons as there are arms that
are really close, whatever the number of arms.

Bounds carry a margin, since rounding may put an excess a little below where the formula has it. An uncertain arm is
asked for a box again once its excess is above a doubt, which fades from comparison to comparison: asking costs more
than comparing. Who leads is known from the last pull alone, or found in a tree of winners where it fell behind: a pull
changes one leaf, so that the new leader is found in ln K comparisons.

Everything here runs in the interpreter and compiled. docs/decisions/0010-compared-with-the-leader.md has the reasons.
"""

import math
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from outlay.beliefs import Belief, Lead, PooledBelief, price_of
from outlay.checks import Vector
from outlay.formulas.argmax import MOST_FREE_PULLS, OPENED_FIRST, Counts, best_by_excess, best_of_opened, leads, number

# `policies.protocol`, which may import this and not the other way round, says what these must be.
Policy = Any  # with `excess`; for `lazy_best_of_opened` with `excess_of_new_arm` too
Memory = Any  # with `lead`; for `lazy_best_of_opened` with `opened` and `unopened` too
BOXES = 10
SPANS = tuple(15.0 / 4.0**box for box in range(BOXES))  # how far the leader's spend may grow, as a share of it
WANDER, SWAY = 1.0, 1.5  # standard deviations that a box leaves the rate, and the rest, if they vary as their size
WIDEST = 0.4  # by what share the rate and the rest may move at most
LEAST = 1e-9  # and at least
ANY_PRICE = 4.0  # in the widest box, which is to hold many leaders one after another
LASTING = 2.0  # pulls of the leader that a box is to last, at least, to be drawn
UNCERTAIN = BOXES  # the ring of arms that are certain in no box
MARGIN = 1e-6  # of an excess: after a billion pulls rounding leaves it no more certain
TAKEN = 4.0  # of an excess, by a box, as a multiple of its span, where little is taken
FADING = 0.9  # of the doubt about an arm that is due, at each comparison
HOPELESS = 100.0  # the most that doubt can be
OPENING_TIMES = (16.0, 2.0, 1.2, 1.02)  # how many times the total spend no arm may have to be opened
NOBODY = -1
# Entries of LeaderBounds.marks: the leader or −1, the arm named last or −1, the first arm that may never have been
# pulled, the box in which it is certain that none is to be opened, and the only arm that has cost nothing in all or −1.
LEADER, LAST, UNPULLED, FRESH_BOX, FREE = range(5)
# Entries of LeaderBounds.levels: the largest rate that another arm than the leader may have, and the total spend
# between which no arm need be opened.
RUNNER_UP, OPEN_FROM, OPEN_UNTIL = range(3)


class LeadBoxes(NamedTuple):
    """Boxes around the lead, and rings of arms: scratch space for one run at a time, forgotten whenever a run is left.

    The arms of a box are a ring of links, so that one can leave it in no time.
    """

    edges: Vector  # [box, low or high, number of a lead]; after the last, where all boxes that are drawn meet
    drawn: Counts  # [box]: whether it is
    ahead: Counts  # [arm, then box, then UNCERTAIN]: the next in the ring
    behind: Counts  # likewise the one before
    ring: Counts  # [arm]: the box it belongs to, UNCERTAIN, or −1
    doubt: Vector  # [arm]: the excess at which an arm that is due is worth asking for a box

    @staticmethod
    def start(arms: int) -> "LeadBoxes":
        """Room for this many arms."""
        links = arms + BOXES + 1
        return LeadBoxes(
            np.zeros((BOXES + 1, 2, len(Lead._fields))),
            np.zeros(BOXES, np.int64),
            np.zeros(links, np.int64),
            np.zeros(links, np.int64),
            np.zeros(arms, np.int64),
            np.zeros(arms),
        )


class RateTree(NamedTuple):
    """The rates of the arms that have been pulled, and a tree of winners: scratch space for one run at a time.

    Node i has the children 2i and 2i + 1, and arm k is leaf K + k; a node holds the arm that `argmax.leader_of` would
    name of those below. The leader's rate is noted when it is compared.
    """

    rates: Vector  # [arm]
    spends: Vector  # [arm]
    winners: Counts  # [node]

    @staticmethod
    def start(arms: int) -> "RateTree":
        """Room for this many arms."""
        return RateTree(np.zeros(arms), np.zeros(arms), np.zeros(2 * arms, np.int64))


class LeaderBounds(NamedTuple):
    """What is certain about the leader and the others: scratch space for one run at a time."""

    marks: Counts
    levels: Vector
    ranking: RateTree
    boxes: LeadBoxes

    @staticmethod
    def start(arms: int) -> "LeaderBounds":
        """Room for this many arms."""
        return LeaderBounds(np.zeros(5, np.int64), np.zeros(3), RateTree.start(arms), LeadBoxes.start(arms))


def forget_leader_bounds(known: LeaderBounds) -> None:
    """Begin anew: another run, or the same one with its memory changed."""
    known.marks[LEADER] = known.marks[LAST] = known.marks[FREE] = -1
    known.marks[UNPULLED] = 0


def lazy_best_by_excess(policy: Policy, memory: Memory, pulls: Counts, known: LeaderBounds) -> int:
    """`argmax.best_by_excess`: the same arm."""
    arm = int(known.marks[UNPULLED])
    while arm < len(pulls) and pulls[arm] > 0:
        arm += 1
    known.marks[UNPULLED] = arm
    if arm == len(pulls):
        leader = follow(memory, pulls, known)
        if leader < 0:
            arm = best_by_excess(policy, memory, pulls)
        elif known.marks[FREE] >= 0:
            arm = int(known.marks[FREE])
        else:
            lead = memory.lead(leader)
            update(policy, memory, known, leader, lead)
            arm, excess = least_of_uncertain(policy, memory, pulls, known.boxes, leader, lead)
            arm = arm if excess <= 0.0 else leader
    known.marks[LAST] = arm
    return arm


def lazy_best_of_opened(policy: Policy, memory: Memory, pulls: Counts, known: LeaderBounds) -> int:
    """`argmax.best_of_opened`: the same arm."""
    arm: int = memory.unopened()
    if arm == len(pulls) or memory.opened() >= OPENED_FIRST:
        leader = follow(memory, pulls, known)
        if leader < 0:
            arm = best_of_opened(policy, memory, pulls)
        elif known.marks[FREE] >= 0:
            arm = int(known.marks[FREE])
        else:
            arm = opened_or_fresh(policy, memory, pulls, known, leader, arm)
    known.marks[LAST] = arm
    return arm


def opened_or_fresh(policy: Policy, memory: Memory, pulls: Counts, known: LeaderBounds, leader: int, fresh: int) -> int:
    """The leader, its challenger, or the arm to be opened next, if there is one."""
    lead, wanted = memory.lead(leader), math.inf
    update(policy, memory, known, leader, lead)
    surely_none = known.levels[OPEN_FROM] <= lead.spent <= known.levels[OPEN_UNTIL]
    if fresh < len(pulls) and not surely_none:
        wanted = -number(-policy.excess_of_new_arm(lead, lead))
        if wanted == -math.inf:
            return fresh
        if wanted > 0.0:
            certify_none_to_open(policy, known, lead)
    arm, excess = least_of_uncertain(policy, memory, pulls, known.boxes, leader, lead)
    if wanted <= 0.0 and wanted <= excess:
        return fresh
    return arm if excess <= 0.0 else leader


def note_changes(memory: Memory, pulls: Counts, known: LeaderBounds, arms: Collection[int]) -> None:
    """Say whose beliefs have changed since the last choice, in place of the arm that was named then: for campaigns.

    There, pulls are told in any order, corrected and withdrawn, and several are under way. What is certain about an arm
    rests on its belief, which has not changed unless it is noted here, and on the lead, which is looked at anew for
    every choice. So the next choice is that of a look at every arm all the same.
    """
    marks, ranking, boxes = known.marks, known.ranking, known.boxes
    leader = int(marks[LEADER])
    for arm in arms:
        if not (pulls[arm] > 0 and memory.belief(arm).mean_cost > 0.0):
            forget_leader_bounds(known)  # withdrawn, or without a price: rare, and then nothing is certain
            return
    if leader < 0:
        return
    for arm in arms:
        note(ranking, arm, memory.belief(arm))
        rank(ranking, pulls, arm)
        if arm != leader:
            leave(boxes, arm)
            boxes.doubt[arm] = 0.0
            join(boxes, arm, UNCERTAIN)
    first = int(ranking.winners[1])
    change_leader(known, first, memory.belief(first).pulls)
    marks[LAST], marks[FREE] = first, -1


def follow(memory: Memory, pulls: Counts, known: LeaderBounds) -> int:
    """Who leads, by what the last pull changed; −1 if every arm must be looked at.

    An arm that has cost nothing in all has no rate: while it is the only one it is noted as free.
    """
    marks, levels, ranking = known.marks, known.levels, known.ranking
    leader, last = int(marks[LEADER]), int(marks[LAST])
    if leader < 0:
        return find_leader(memory, pulls, known)
    belief = memory.belief(last)
    marks[FREE] = -1
    if not belief.mean_cost > 0.0:
        if pulls[last] < MOST_FREE_PULLS and last != leader:
            marks[FREE] = last
            return leader
        marks[LEADER] = -1
        return -1
    rate = belief.mean_reward / belief.mean_cost
    if last == leader and rate > levels[RUNNER_UP]:
        return leader
    note(ranking, leader, memory.belief(leader))
    note(ranking, last, belief)
    first = rank(ranking, pulls, last)
    if first != leader or last == leader:
        change_leader(known, first, memory.belief(first).pulls)
    else:
        levels[RUNNER_UP] = max(rate, float(levels[RUNNER_UP]))
    return first


def find_leader(memory: Memory, pulls: Counts, known: LeaderBounds) -> int:
    """Who leads, by a look at every arm; −1 while one that was pulled has cost nothing in all."""
    ranking, boxes, arms = known.ranking, known.boxes, len(pulls)
    for arm in range(arms):
        ranking.winners[arms + arm] = NOBODY
        if pulls[arm] > 0:
            belief = memory.belief(arm)
            if not belief.mean_cost > 0.0:
                return -1
            ranking.winners[arms + arm] = arm
            note(ranking, arm, belief)
    for node in range(arms - 1, 0, -1):
        decide_node(ranking, pulls, node)
    for i in range(len(boxes.ahead)):
        boxes.ahead[i] = boxes.behind[i] = i
    boxes.ring[:], boxes.doubt[:], boxes.drawn[:] = -1, 0.0, 0
    meet(boxes)
    for arm in range(arms):
        if pulls[arm] > 0:
            join(boxes, arm, UNCERTAIN)
    leader = int(ranking.winners[1])
    known.levels[OPEN_FROM] = math.inf
    known.marks[LAST] = leader
    known.marks[FREE] = -1
    change_leader(known, leader, memory.belief(leader).pulls)
    return leader


def change_leader(known: LeaderBounds, leader: int, pulls: int) -> None:
    """Compare the former leader, too, and no longer the new one."""
    boxes, ranking, former = known.boxes, known.ranking, int(known.marks[LEADER])
    known.levels[RUNNER_UP] = runner_up(ranking, leader)
    leave(boxes, leader)
    known.marks[LEADER] = leader
    if former >= 0 and former != leader:
        join(boxes, former, UNCERTAIN)
        boxes.doubt[former] = 0.0
    if former != leader and SPANS[1] * pulls >= LASTING:
        arm = int(boxes.ahead[len(boxes.ring) + UNCERTAIN])
        while arm < len(boxes.ring):  # what boxes took away from an excess they took under the former leader
            boxes.doubt[arm] = 0.0
            arm = int(boxes.ahead[arm])


def update(policy: Policy, memory: Memory, known: LeaderBounds, leader: int, lead: Lead) -> None:
    """Ask the arms of the boxes that the lead has left, and the arm that was pulled last."""
    boxes, last = known.boxes, int(known.marks[LAST])
    if not within(boxes, BOXES, lead):
        first_left = BOXES
        for box in range(BOXES - 1, -1, -1):
            if boxes.drawn[box] > 0 and not within(boxes, box, lead):
                boxes.drawn[box] = 0
                first_left = box
                if known.marks[FRESH_BOX] == box:
                    known.levels[OPEN_FROM] = math.inf
        meet(boxes)
        for box in range(first_left, BOXES):
            recheck_box(policy, memory, boxes, box, lead, memory.belief(leader).pulls)
    if last != leader:
        leave(boxes, last)
        boxes.doubt[last] = 0.0
        join(boxes, last, UNCERTAIN)


def certify_none_to_open(policy: Policy, known: LeaderBounds, lead: Lead) -> None:
    """Find a box, and how far the total spend may move, such that no arm need be opened while the lead is in it."""
    boxes, levels = known.boxes, known.levels
    levels[OPEN_FROM] = math.inf
    for box in range(BOXES):
        if boxes.drawn[box] > 0:
            for times in OPENING_TIMES:
                limit = times * lead.spent
                low, high = edge(boxes, box, 0), edge(boxes, box, 1)
                if limit > lead.spent and policy.excess_of_new_arm(spent(low, lead.spent), spent(high, limit)) > MARGIN:
                    known.marks[FRESH_BOX] = box
                    levels[OPEN_FROM], levels[OPEN_UNTIL] = lead.spent, limit
                    return


def spent(lead: Lead, total: float) -> Lead:
    """The same lead after another total spend."""
    return Lead(
        lead.rate, lead.spend, lead.price, lead.arms, lead.reward_max, lead.cost_min, lead.cost_max, lead.spread,
        lead.size, lead.opened, lead.usual_price, lead.usual_rate, total,
    )  # fmt: skip


def recheck_box(policy: Policy, memory: Memory, boxes: LeadBoxes, box: int, lead: Lead, pulls: int) -> None:
    """Ask all arms of a box that is to be drawn anew."""
    head = len(boxes.ring) + box
    arm = boxes.ahead[head]
    boxes.ahead[boxes.behind[head]] = head
    boxes.ahead[head] = boxes.behind[head] = head
    while arm != head:
        after = boxes.ahead[arm]
        boxes.ring[arm] = -1
        find_box(policy, memory, boxes, arm, max(0, box - 1), lead, pulls)
        arm = after


def find_box(policy: Policy, memory: Memory, boxes: LeadBoxes, arm: int, first: int, lead: Lead, pulls: int) -> None:
    """Put an arm that is in no ring into the widest box, from the first on, in which it is certain, or among the due.

    `pulls` are the leader's, of those that are remembered: few, and a narrow box would be left at once.
    """
    belief, value = memory.belief(arm), 0.0
    for box in range(first, BOXES):
        if box > 0 and SPANS[box] * pulls < LASTING:
            break
        if boxes.drawn[box] == 0:
            draw_box(boxes, box, lead, pulls)
        value = policy.excess(belief, edge(boxes, box, 0), edge(boxes, box, 1))
        if value > MARGIN:
            join(boxes, arm, box)
            return
    join(boxes, arm, UNCERTAIN)
    boxes.doubt[arm] = value - 1.0 if value <= 0.0 else -1.0


def least_of_uncertain(
    policy: Policy, memory: Memory, pulls: Counts, boxes: LeadBoxes, leader: int, lead: Lead
) -> tuple[int, float]:
    """The arm with the least excess, if that is ≤ 0; otherwise some excess above 0."""
    arms = len(pulls)
    best, least, spend = leader, math.inf, math.inf
    arm = int(boxes.ahead[arms + UNCERTAIN])
    while arm < arms:
        after = int(boxes.ahead[arm])
        belief = memory.belief(arm)
        excess = -number(-policy.excess(belief, lead, lead))
        mine = belief.pulls * price_of(belief, lead.cost_min, lead.cost_max)
        if leads(-excess, mine, pulls[arm], arm, -least, spend, pulls[best], best):
            best, least, spend = arm, excess, mine
        if excess > 0.0:
            if boxes.doubt[arm] < 0.0:  # as it was asked: now it is known what the narrowest box takes away
                boxes.doubt[arm] = min(excess - (boxes.doubt[arm] + 1.0), HOPELESS)
            elif excess > boxes.doubt[arm]:
                leave(boxes, arm)
                find_box(policy, memory, boxes, arm, widest_for(excess), lead, memory.belief(leader).pulls)
            else:
                boxes.doubt[arm] *= FADING
        arm = after
    return best, least


def widest_for(excess: float) -> int:
    """The first box that may hold an arm with this excess: a guess, by what boxes take away as a rule."""
    box = 0
    while box < BOXES - 1 and TAKEN * SPANS[box] > excess:
        box += 1
    return box


def box_around(lead: Lead, span: float, pulls: float, dearer: float = 1.0) -> tuple[Lead, Lead]:
    """Two leads: the extremes are what they are, all else may move as far as so many more pulls of the leader move it.

    These are `span` times the `pulls` that it has had: its spend may grow by that, the rest wanders, what is squared
    twice as far. Its price may be `dearer` times as high or low on top of that, as another leader's is. The total spend
    may grow; where that is not positive, a box says nothing about what follows.
    """
    root, times = math.sqrt(span / pulls), 1.0 + span
    step = min(WANDER * root * math.sqrt(lead.spread) / lead.price, WIDEST * abs(lead.rate)) + LEAST * abs(lead.rate)
    width = min(WIDEST, SWAY * root)
    less, more = 1.0 - width, 1.0 + width
    seen = lead.reward_max, lead.cost_min, lead.cost_max
    low = Lead(
        lead.rate - step, 0.0, less * lead.price / dearer, lead.arms, *seen, less * less * lead.spread,
        less * less * lead.size, lead.opened, less * lead.usual_price, lead.usual_rate - step, lead.spent,
    )  # fmt: skip
    high = Lead(
        lead.rate + step, times * lead.spend, more * lead.price * dearer, lead.arms, *seen, more * more * lead.spread,
        more * more * lead.size, more * lead.opened + 1.0, more * lead.usual_price, lead.usual_rate + step,
        times * lead.spent,
    )  # fmt: skip
    return low, high


def draw_box(boxes: LeadBoxes, box: int, lead: Lead, pulls: float) -> None:
    """Draw a box around the lead."""
    edges = boxes.edges
    low, high = box_around(lead, SPANS[box], pulls, ANY_PRICE if box == 0 else 1.0)
    for i in range(len(low)):
        edges[box, 0, i], edges[box, 1, i] = low[i], high[i]
        edges[BOXES, 0, i] = max(low[i], edges[BOXES, 0, i])
        edges[BOXES, 1, i] = min(high[i], edges[BOXES, 1, i])
    boxes.drawn[box] = 1


def meet(boxes: LeadBoxes) -> None:
    """Find where all boxes that are drawn meet: a lead in there is in each of them."""
    edges = boxes.edges
    edges[BOXES, 0, :], edges[BOXES, 1, :] = -np.inf, np.inf
    for box in range(BOXES):
        if boxes.drawn[box] > 0:
            for i in range(edges.shape[2]):
                edges[BOXES, 0, i] = max(edges[BOXES, 0, i], edges[box, 0, i])
                edges[BOXES, 1, i] = min(edges[BOXES, 1, i], edges[box, 1, i])


def within(boxes: LeadBoxes, box: int, lead: Lead) -> bool:
    """Whether the lead is in a box."""
    edges = boxes.edges
    for i in range(len(lead)):  # noqa: SIM110 (compiled: no generators)
        if not edges[box, 0, i] <= lead[i] <= edges[box, 1, i]:
            return False
    return True


def edge(boxes: LeadBoxes, box: int, side: int) -> Lead:
    """The low or the high edge of a box."""
    e = boxes.edges[box, side]
    return Lead(e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7], e[8], e[9], e[10], e[11], e[12])


def leave(boxes: LeadBoxes, arm: int) -> None:
    """Take an arm out of its ring."""
    if boxes.ring[arm] >= 0:
        before, after = boxes.behind[arm], boxes.ahead[arm]
        boxes.ahead[before], boxes.behind[after] = after, before
        boxes.ring[arm] = -1


def join(boxes: LeadBoxes, arm: int, ring: int) -> None:
    """Put an arm that is in no ring at the beginning of one."""
    head = len(boxes.ring) + ring
    first = boxes.ahead[head]
    boxes.ahead[head], boxes.behind[arm] = arm, head
    boxes.ahead[arm], boxes.behind[first] = first, arm
    boxes.ring[arm] = ring


def note(ranking: RateTree, arm: int, belief: Belief | PooledBelief) -> None:
    """Write down what an arm's rate and spend are; the tree is as before."""
    ranking.rates[arm] = belief.mean_reward / belief.mean_cost
    ranking.spends[arm] = belief.pulls * belief.mean_cost


def rank(ranking: RateTree, pulls: Counts, arm: int) -> int:
    """Set the tree right after an arm was noted; returns the leader."""
    node = len(pulls) + arm
    ranking.winners[node] = arm
    while node > 1:
        node //= 2
        decide_node(ranking, pulls, node)
    return int(ranking.winners[1])


def decide_node(ranking: RateTree, pulls: Counts, node: int) -> None:
    """Let the better of two win."""
    rates, spends = ranking.rates, ranking.spends
    one, two = ranking.winners[2 * node], ranking.winners[2 * node + 1]
    if one == NOBODY or (
        two != NOBODY and leads(rates[two], spends[two], pulls[two], two, rates[one], spends[one], pulls[one], one)
    ):
        one = two
    ranking.winners[node] = one


def runner_up(ranking: RateTree, leader: int) -> float:
    """The largest rate of the others, −∞ if there are none: that of one who lost to the leader directly."""
    node, most = len(ranking.rates) + leader, -math.inf
    while node > 1:
        beaten = ranking.winners[node ^ 1]
        if beaten != NOBODY:
            most = max(most, float(ranking.rates[beaten]))
        node //= 2
    return most
