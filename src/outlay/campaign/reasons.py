"""Why an arm comes next, for people; and what the campaign may end at."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from outlay.campaign.ledger.allocate import admissible, learner_of
from outlay.campaign.ledger.events import Features
from outlay.campaign.ledger.learner import ChoiceInputs
from outlay.campaign.ledger.state import Arm, State
from outlay.checks import Vector
from outlay.formulas.pricing import NOTHING, prices
from outlay.policies.explain import ArmEvidence, Means, PolicyExplanation, explain_choice
from outlay.text import listed

MOST = 60  # arms that reasons are given for


class Explanation(NamedTuple):
    """The arm that an ask would name, if any, and what it is chosen by: a copy, to be looked at later."""

    arm: int | None
    inputs: ChoiceInputs
    names: tuple[str, ...]  # of all arms
    policy: str
    samples: tuple[int, ...]  # of each arm
    forgotten: tuple[int, ...]  # of these


class ArmReason(msgspec.Struct, frozen=True):
    """What the policy weighs about an arm; `words` say it in a sentence.

    `evidence` E speaks against the arm: one as good as the leader would look as bad with a probability of about e⁻ᴱ (0
    where E is ∞). Above `enough` it is left alone. Both are None for a leader, for an arm without samples, and for
    policies that rank arms by a `score`; where requests have a context, that is the arm's worth for this one.
    """

    name: str
    leads: bool
    samples: int
    evidence: float | None
    enough: float | None
    score: float | None
    words: str


class Reasons(msgspec.Struct, frozen=True):
    """Which arm would be named now, and why; `means` is what the policy goes by. The arm is None at the end.

    `untried` counts the arms without a sample. What is under way is weighed as if it had come out as expected.
    """

    arm: str | None
    policy: str
    means: Means
    words: str
    arms: tuple[ArmReason, ...]
    untried: int


def explanation_of(state: State, arm: int | None, context: Features | None = None) -> Explanation:
    """What the next choice would be made by, copied."""
    spent = state.unit.amount(state.counted)
    allowed_arms = admissible(state) or range(len(state.arms))
    inputs = learner_of(state).inputs(allowed_arms, state.under_way, spent, state.used_now, context)
    names, samples, forgotten = zip(*((each.name, each.samples, each.forgotten) for each in state.arms), strict=True)
    return Explanation(arm, inputs, names, state.terms.policy["name"], samples, forgotten)


def reasons_of(given: Explanation, most: int) -> Reasons:
    """The reasons for the arm that comes next, and those about the arms with most samples, at most so many in all."""
    inputs, arm = given.inputs, given.arm
    places = {k: place for place, k in enumerate(inputs.arms)}
    ranked = sorted(places, key=lambda k: (k != arm, -given.samples[k], k))[:most]
    shown = [places[k] for k in ranked]
    among = [places[k] for k in inputs.open_arms]
    found = explain_choice(inputs.policy, inputs.memory, inputs.pulls, inputs.now, shown, among)
    leaders = {inputs.arms[place] for place in found.leaders}
    arms = tuple(
        ArmReason(
            given.names[k],
            k in leaders,
            given.samples[k],
            *(weight.evidence, weight.enough, weight.score),
            _about(weight, found, int(inputs.pulls[places[k]]), given.samples[k], k in leaders)
            + _changed(given.forgotten[k]),
        )
        for k, weight in zip(ranked, found.weights, strict=True)
    )
    names = [given.names[k] for k in sorted(leaders)]
    awaited = arm is not None and inputs.pulls[places[arm]] > given.samples[arm] == 0
    words = "No arm can be named now." if arm is None else _why(arms[0], found.means, names, awaited)
    name = None if arm is None else given.names[arm]
    untried = sum(given.samples[k] == 0 for k in places)
    return Reasons(name, given.policy, found.means, words, arms, untried)


def _about(weight: ArmEvidence, found: PolicyExplanation, pulls: int, samples: int, leads: bool) -> str:
    """What there is to say about one arm; evidence E as what it means, a probability of e⁻ᴱ."""
    means = found.means
    if means == "worth":
        brings = f"For this request it may bring {weight.may_bring:.4g} at a cost of {weight.cost:.4g}"
        return f"{brings}: worth {weight.score:.4g}, where money is worth {found.price:.4g}."
    if means == "score":
        return f"Its score is {weight.score:.4g}; the largest comes next."
    if means == "chance":
        return f"It comes first in {weight.score:.0%} of draws."
    if leads:
        return "The others are compared with it."
    if samples == 0:
        return "Its first results are awaited." if pulls else "Never tried."
    if means == "its own rule":
        return "The policy has a rule of its own."
    if weight.enough == 0.0:
        return "As much was spent on it as on the leader: it waits until that is ahead again."
    if weight.evidence is None or weight.enough is None:
        return "Not compared at the moment."
    if weight.evidence == math.inf:
        return "No doubt is left that it is worse than the leader."
    if weight.evidence <= 0.0:
        return "Nothing speaks against it so far."
    chance = f"If it were as good as the leader, its chance of looking this bad would be {_chance(weight.evidence)}"
    return f"{chance}. For now it is tried only if that is above {_chance(weight.enough)}."


def _changed(forgotten: int) -> str:
    """What there is to say about an arm that has changed.

    >>> _changed(120), _changed(0)
    (' It has changed: its first 120 results are forgotten.', '')
    """
    return f" It has changed: its first {forgotten:,} results are forgotten." if forgotten else ""


def _chance(evidence: float) -> str:
    """The probability e⁻ᴱ.

    >>> _chance(0.1), _chance(6.0), _chance(30.0)
    ('90 %', '0.25 %', 'less than one in a million')
    """
    share = 100.0 * math.exp(-max(0.0, evidence))
    if share < 1e-4:
        return "less than one in a million"
    return f"{share:.2g} %" if share < 99.5 else "100 %"


def _why(first: ArmReason, means: Means, leaders: Sequence[str], awaited: bool) -> str:
    name = first.name
    if means == "score":
        return f"{name} has the largest score: what its rate may be at best, as far as its samples tell."
    if means == "chance":
        return f"Chance decides, and favours arms that may be best: {name} is drawn this time."
    if means == "worth" and first.leads:
        return f"{name} is worth most for this request: what it may bring less what its cost is worth elsewhere."
    if means == "worth":
        return f"{name} is drawn for this request: {listed(leaders)} is worth hardly more, and money lasts for a mix."
    if means == "its own rule":
        return f"{name} is what the policy's rule names."
    if awaited:
        return f"{name} is tried again, while its first results are awaited."
    if first.samples == 0:
        return f"{name} is tried for the first time: there is enough left to find out what it is worth."
    if first.leads and len(leaders) > 1:
        both = listed(leaders)
        return f"{both} together are the best use of money and requests; it is the turn of {name} in that mix."
    if first.leads:
        return f"{name} has the best rate so far, and the evidence against every other arm is enough for now."
    if first.evidence is not None and first.enough is not None and first.evidence <= first.enough:
        return (
            f"{name} may yet be better than {listed(leaders)}: the evidence against it is not enough to leave it alone."
        )
    return f"{name} is looked at again."


NORMAL = 1.959964  # standard deviations on either side of a mean that hold 95 %


class Outlook(msgspec.Struct, frozen=True):
    """What the rest of a campaign is worth if the best mix is played from now on, as far as its samples tell.

    `price` is what one more unit of money would bring, `worth` what one more request would. What is left is best spent
    on `low` and `high`, with the `share` of the requests that are left for `high`: None for an arm stands for serving
    nothing, or for the end of the hull. `reward` is what the campaign then brings in all, and `reward_low` to
    `reward_high` hold it with 95 % probability by the normal law; None where an arm of the mix has one sample, or an
    older version opened the ledger. What exploring still costs is not in it: early on it is too hopeful. Rewards that
    did not come are taken to be the mean of their arm.
    """

    price: float
    worth: float
    low: str | None
    high: str | None
    share: float
    reward: float
    reward_low: float | None
    reward_high: float | None


def outlook_of(state: State) -> Outlook | None:
    """The outlook once an arm has been paid for; None where requests are not limited nor forecast, and at the end."""
    horizon, arms, amount = state.horizon, state.arms, state.unit.amount
    if horizon is None or state.ended or not any(arm.rewarded for arm in arms):
        return None
    spent = [amount(arm.spent) for arm in arms]
    costs = np.array(
        [
            arm.mean_cost if arm.mean_cost is not None else cost / arm.pulls if arm.pulls else 0.0
            for arm, cost in zip(arms, spent, strict=True)
        ]
    )
    rewards = np.array([arm.reward / arm.rewarded if arm.rewarded else -math.inf for arm in arms])
    flying = {i: arm.in_flight for i, arm in enumerate(arms) if arm.in_flight and arm.pulls}
    awaited = {i: n for i, arm in enumerate(arms) if arm.rewarded and (n := arm.in_flight + arm.pulls - arm.rewarded)}
    left = max(horizon - state.used_now, 1)  # one more, where more came than was expected
    money = max(0.0, amount(state.budget - state.counted) - sum(n * float(costs[i]) for i, n in flying.items()))
    found = prices(costs, rewards, money / left)
    mix = _mix(costs, found.low, found.high, money / left)
    coming = [*awaited.items(), *((arm, left * part) for arm, part in mix.items())]
    expected = float(state.reward + sum(pulls * rewards[arm] for arm, pulls in coming))
    spread = _spread(arms, spent, found.price, mix, left, awaited)
    name = [arm.name for arm in state.arms]
    return Outlook(
        found.price,
        found.worth,
        None if found.low == NOTHING else name[found.low],
        None if found.high == NOTHING else name[found.high],
        mix.get(found.high, 0.0),
        expected,
        None if spread is None else expected - NORMAL * spread,
        None if spread is None else expected + NORMAL * spread,
    )


def _mix(costs: Vector, low: int, high: int, per_request: float) -> dict[int, float]:
    """Which share of the requests goes to which arm."""
    if high == NOTHING:
        return {} if low == NOTHING else {low: 1.0}
    start = 0.0 if low == NOTHING else float(costs[low])
    share = min(1.0, max(0.0, (per_request - start) / (float(costs[high]) - start)))
    return {high: share} if low == NOTHING else {low: 1.0 - share, high: share}


def _spread(
    arms: Sequence[Arm],
    spent: Sequence[float],
    price: float,
    mix: dict[int, float],
    left: int,
    awaited: dict[int, int],
) -> float | None:
    """The standard deviation of what is still to come; None where an arm of it has one pull.

    A pull of the mix that costs more than its mean leaves less for the others, at the price of money: so what varies is
    R − λX, by chance in each outcome and in the means that are not known better. Of awaited rewards R alone does.
    """
    variance = 0.0
    for k in sorted(mix.keys() | awaited.keys()):
        arm, n, known = arms[k], arms[k].pulls, arms[k].rewarded  # costs are known of all, rewards perhaps of fewer
        if known < 2:
            return None
        rewards = arm.squares - arm.reward * arm.reward / known
        costs = (arm.cost_squares - spent[k] * spent[k] / n) * ((known - 1) / (n - 1))
        both = arm.products - spent[k] * arm.reward / n
        reward = max(0.0, rewards) / (known - 1)
        net = max(0.0, rewards - 2.0 * price * both + price * price * costs) / (known - 1)
        part = left * mix.get(k, 0.0)
        variance += part * net + part * part * net / known + awaited.get(k, 0) * reward
    return math.sqrt(variance)
