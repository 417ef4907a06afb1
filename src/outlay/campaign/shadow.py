"""What another policy would have earned: it hears what the ledger tells, and names an arm for every request again.

Where it names the arm that was pulled, its outcome is known. Where chance could have named its arm with probability π,
the outcome is estimated by Γ = m + [that arm was pulled] ÷ π · (outcome − m), m what a linear model had learned until
then: right on average, whatever m is. Where only the policy in charge decided, m alone is left, of all outcomes.

The other policy learns from what was pulled, not from what it would have pulled, and spends from a budget of its own.

Reference: M. Dudík, D. Erhan, J. Langford, L. Li, "Doubly robust policy evaluation and optimization", Statistical
Science 29 (2014).
"""

import math
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from outlay.beliefs import LinearMoments
from outlay.beliefs.linear import COST, REWARD, combined, product
from outlay.campaign.context import features_of
from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.allocate import admissible, arms_of, learner_of, with_room
from outlay.campaign.ledger.apply import apply
from outlay.campaign.ledger.learner import ORDER, EventRandom, Learner
from outlay.campaign.ledger.state import State, mean_costs
from outlay.checks import Vector
from outlay.policies.linear_ration import noise
from outlay.policies.protocol import Policy
from outlay.text import counted

APART = 20  # requests for which both must name different arms before the gain has an interval
RARE = 0.01  # chances below count as none
DRAWS = 100  # choices from which a chance is estimated that the policy in charge cannot say
OWN = 2**63  # the draw of an event that is the other policy's: its chance must have nothing to do with that in charge
NORMAL = 1.959964  # standard errors on either side of a mean that hold 95 %

Basis = Literal["outcomes", "chance", "model", "chance and a model"]


class Gain(msgspec.Struct, frozen=True):
    """What a request brings more, with an interval of 95 %; without one where too few requests tell."""

    value: float
    low: float | None
    high: float | None


class Shadow(msgspec.Struct, frozen=True):
    """What another policy would have made of the requests so far, those whose outcome is known.

    Of `requests`, it names the arm that was pulled for `same`, and nothing for `unserved`, once its budget is spent.
    For `by_chance` it names an arm that the policy in charge could have named, by chance, and did not; for `by_model`
    one that it could not have named. `basis` is what estimates rest on: a "model" is a linear one of each arm's other
    outcomes. `reward`, `cost` (the campaign's) and `other_reward`, `other_cost` are those of a request, `gain` is the
    other's reward less the campaign's. Estimates are None where arms would have been named that are `unknown`: they
    have fewer than two outcomes.
    """

    policy: str
    other: str
    requests: int
    same: int
    by_chance: int
    by_model: int
    unserved: int
    basis: Basis
    reward: float
    cost: float
    other_reward: float | None
    other_cost: float | None
    gain: Gain | None
    unknown: tuple[str, ...]
    words: str


class Named(NamedTuple):
    """What the other policy makes of one request."""

    arm: int  # −1 for none
    chance: float  # with which the policy in charge names that arm
    features: Vector
    guess: tuple[float, float]  # reward and cost of the arm, by the model so far


def shadow_of(records: Iterable[e.Record], given: Policy | None, other: Policy) -> Shadow:
    """Follow a ledger; `given` is the policy in charge, where it is not built in."""
    walk = LedgerWalk(given, other)
    for record in records:
        walk.step(record)
    return walk.outcome()


class _Both:
    """Two learners that are told the same, but for what was spent before a window; the first is in charge."""

    def __init__(self, first: Learner, second: Learner) -> None:
        self.first, self.second = first, second
        self.noticed, self.by_context = first.noticed, first.by_context
        self.spent = 0.0  # by the second

    def begin_anew(self, spent: float, used: int) -> None:
        """A window begins."""
        self.first.begin_anew(spent, used)
        self.second.begin_anew(self.spent, used)

    def observe_all(self, samples: Iterable[tuple[int, float, float]], stream: EventRandom) -> None:
        """Samples made elsewhere, which have no context."""
        samples = [*samples]
        self.first.observe_all(samples, stream)
        if not self.second.by_context:
            self.second.observe_all(samples, stream)

    def __getattr__(self, verb: str) -> Any:
        def tell(*args: Any) -> None:
            getattr(self.first, verb)(*args)
            getattr(self.second, verb)(*args)
            self.second.noticed.clear()

        return tell


class LedgerWalk:
    """Along a ledger, event by event; `named` has what the other policy makes of each request, by the pull's number."""

    def __init__(self, given: Policy | None, other: Policy) -> None:
        self._given, self._other = given, other
        self._state: State | None = None
        self.named: dict[int, Named] = {}
        self._paid: dict[int, float] = {}  # what each request counts for in the other policy's budget

    def step(self, record: e.Record) -> None:
        """Take in one event."""
        state, event = self._state, record.event
        if state is None:
            state = self._state = apply(None, record, self._given)
            learner, budget = learner_of(state), state.unit.amount(state.budget)
            costs = mean_costs(state.arms)
            second = Learner(self._other, len(state.arms), budget, state.requests, costs)
            second.shuffle(EventRandom(state.terms.seed, ORDER))
            self._both = _Both(learner, second)
            state.learner = cast("Learner", self._both)
            self._features = 1 if state.terms.context is None else features_of(state.terms.context)
            self._model = LinearMoments.empty(len(state.arms), self._features)
            return
        if isinstance(event, e.Asked) and not event.fallback:
            self.named[record.seq] = self._name(state, event, record.seq)
        elif isinstance(event, e.Added):
            self._both.second.check_wider()
            self._model = self._model.with_new_arm()
        number = record.about()
        before = None if number is None else _outcome(state, number)
        self._state = apply(state, record)
        if number is not None and number in self.named:
            self._learn(self._state, number, before)

    def _name(self, state: State, event: e.Asked, seq: int) -> Named:
        """The arm that the other policy names, and with which chance the one in charge does."""
        both, seed = self._both, state.terms.seed
        features = np.zeros(self._features) if event.context is None else np.array(event.context)
        spent = both.spent - both.second.past[0]
        if spent >= state.unit.amount(state.budget):
            return Named(-1, 1.0, features, (0.0, 0.0))
        arms = with_room(state, admissible(state, event.most, arms_of(state, event.arms)), event.most, event.room)
        where = state.under_way, spent, EventRandom(seed, seq, OWN), state.used_now, event.context
        arm = both.second.choose(arms, *where)
        chance = self._chance(state, event, seq, arm, arms)
        return Named(arm, chance if chance >= RARE else 0.0, features, self._guess(arm, features))

    def _chance(self, state: State, event: e.Asked, seq: int, arm: int, arms: Any) -> float:
        """With which chance the policy in charge names an arm."""
        sure, draws = float(arm == event.arm), state.terms.propensity_draws
        if event.propensity is None and draws:  # nothing was drawn
            return sure
        first, spent = self._both.first, state.unit.amount(state.counted)
        more = state.used_now, event.context
        chances = first.chances(arms, state.under_way, spent, *more)
        if chances is not None:
            return float(chances[arms.index(arm)])
        streams = [EventRandom(state.terms.seed, seq, draw) for draw in range(DRAWS + 1)]
        first.choose(arms, state.under_way, spent, streams[0], *more)
        if not streams[0].used:
            return sure
        return sum(first.choose(arms, state.under_way, spent, each, *more) == arm for each in streams[1:]) / DRAWS

    def _guess(self, arm: int, features: Vector) -> tuple[float, float]:
        """Reward and cost of an arm by the model; of all arms together before its first outcome."""
        model = self._model
        belief = model.belief(arm)
        if belief.pulls == 0:
            every = model.belief(len(model.told))
            return float(every.mean_reward), float(every.mean_cost)
        reward, cost = (
            model.levels[side, arm] + product(model.lines[:, side, arm], features) for side in (REWARD, COST)
        )
        return float(reward), max(float(cost), float(model.least[arm]))

    def _learn(self, state: State, number: int, before: tuple[float, float | None] | None) -> None:
        """What a pull counts for may have changed, and the model has another outcome."""
        named, pull, after = self.named[number], state.pulls[number], _outcome(state, number)
        if after is None:
            return
        if named.arm >= 0:
            cost = after[0] if named.arm == pull.arm else self._guess(named.arm, named.features)[1]
            self._both.spent += cost - self._paid.get(number, 0.0)
            self._paid[number] = cost
        if after[1] is not None and (before is None or before[1] is None):
            self._model.observe_with(named.features, pull.arm, after[0], after[1])

    def outcome(self) -> Shadow:
        """What it came to."""
        state = self._state
        assert state is not None  # noqa: S101 (the first event opens)
        rows: list[tuple[float, ...]] = []
        counts, far = [0, 0, 0, 0], dict[int, list[Vector]]()  # same, by chance, by model, unserved
        sure = 0  # requests for which both name the same arm, whatever chance says
        for number, named in self.named.items():
            found = _outcome(state, number)
            if found is None or found[1] is None:
                continue
            cost, reward = found[0], found[1]
            pulled = state.pulls[number].arm
            if named.arm < 0:
                kind, other = 3, (0.0, 0.0)
            elif named.chance == 1.0 and named.arm == pulled:
                kind, other, sure = 0, (reward, cost), sure + 1
            elif named.chance > 0.0:
                kind, guess, weight = int(named.arm != pulled), named.guess, (named.arm == pulled) / named.chance
                other = guess[0] + weight * (reward - guess[0]), guess[1] + weight * (cost - guess[1])
            else:
                kind, other = 2, self._guess(named.arm, named.features)
                far.setdefault(named.arm, []).append(named.features)
            counts[kind] += 1
            rows.append((reward, cost, *other))
        names = [arm.name for arm in state.arms]
        unknown = tuple(names[arm] for arm in sorted(far) if self._model.belief(arm).pulls < 2)
        table = np.array(rows).reshape(-1, 4)
        reward, cost, other_reward, other_cost = (table.mean(axis=0) if len(table) else np.zeros(4)).tolist()
        gain = None if unknown or not len(table) else self._gain(table[:, 2] - table[:, 0], sure, far)
        by_chance = counts[0] + counts[1] > sure
        basis: Basis = "chance" if by_chance else "outcomes"
        if counts[2]:
            basis = "chance and a model" if by_chance else "model"
        shadow = Shadow(
            policy=state.terms.policy["name"],
            other=type(self._other).__name__,
            requests=len(table),
            same=counts[0],
            by_chance=counts[1],
            by_model=counts[2],
            unserved=counts[3],
            basis=basis,
            reward=reward,
            cost=cost,
            other_reward=None if gain is None else other_reward,
            other_cost=None if gain is None else other_cost,
            gain=gain,
            unknown=unknown,
            words="",
        )
        return msgspec.structs.replace(shadow, words=_words(shadow))

    def _gain(self, more: NDArray[np.float64], same: int, far: dict[int, list[Vector]]) -> Gain:
        """The mean of what each request brings more, with an interval.

        Where the model alone is gone by, all guesses of an arm are off together: its doubt is added, arm for arm.
        """
        value, count = float(more.mean()), len(more)
        if same == count:
            return Gain(value, value, value)
        if count - same < APART:
            return Gain(value, None, None)
        centred = more - value
        square = float(centred @ centred)
        model, variance = self._model, square / (count - 1) / count
        for arm, asked in far.items():
            away = np.mean(asked, axis=0) - model.centres[arm]
            spread = 1.0 / model.belief(arm).pulls + product(away, combined(model.inverse[arm], away))
            variance += (len(asked) / count * noise(model)) ** 2 * spread
        half = _quantile(centred, square) * math.sqrt(variance)
        return Gain(value, value - half, value + half)


def _quantile(centred: NDArray[np.float64], square: float) -> float:
    """Of Student's law, 97.5 %; a few large weights leave few degrees of freedom.

    >>> round(_quantile(np.array([-1.0, 1.0] * 5), 10.0), 2)  # 2.26 in tables
    2.26
    """
    count = len(centred)
    peaked = float((centred**4).sum()) * count / square**2 if square > 0.0 else 1.0  # 3 for the normal law
    degrees = min(count - 1.0, 2.0 * count / (peaked - 1.0)) if peaked > 1.0 else count - 1.0
    z = NORMAL  # Cornish and Fisher's expansion
    return z + (z**3 + z) / (4.0 * degrees) + (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / (96.0 * degrees**2)


def _outcome(state: State, number: int) -> tuple[float, float | None] | None:
    """What a pull counts for: cost and reward, None while that is awaited; None where it counts for nothing."""
    pull = state.pulls.get(number)
    return None if pull is None or pull.cost is None else (state.unit.amount(pull.cost), pull.reward)


def _words(found: Shadow) -> str:
    """In some sentences."""
    if not found.requests:
        return "No request has an outcome yet."
    said = [f"{found.other} names the arm that was pulled for {found.same:,} of {counted(found.requests, 'request')}."]
    if found.by_chance:
        said.append(f"For {found.by_chance:,} it names one that {found.policy} could have named by chance.")
    if found.by_model:
        said.append(
            f"For {found.by_model:,} it names one that {found.policy} would not have named: nobody can know what that"
            " would have brought, and a linear model of the arm's other outcomes is gone by."
        )
    if found.unserved:
        said.append(f"For {found.unserved:,} its budget is spent.")
    if found.unknown:
        said.append(f"Too little is known of {', '.join(found.unknown)} to say what it would have earned.")
    elif (gain := found.gain) is not None and found.same < found.requests:
        between = "too few differ for an interval" if gain.low is None else f"95 %: {gain.low:+.4g} to {gain.high:+.4g}"
        said.append(f"It would have earned {found.other_reward:.4g} a request, {gain.value:+.4g} ({between}),")
        said[-1] += f" and cost {found.other_cost:.4g} instead of {found.cost:.4g}."
    return " ".join(said)
