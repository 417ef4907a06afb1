"""Random stories for hypothesis: the terms of a campaign, and what is done to it, by someone who knows only replies.

An operation is drawn without knowing the campaign (the third decision, what was set aside for it); `Caller` makes a
command of it. The unit is 1, so that amounts are whole, and rewards are eighths, so that sums are exact in any order.
HYPOTHESIS_PROFILE=default looks for new stories; a soak (`pytest -m soak`) tries many times as many.
"""

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outlay import policies
from outlay.campaign.ledger import events as e
from outlay.campaign.ledger import snapshot
from outlay.campaign.ledger.events import ArmTerms, Record, Terms
from outlay.campaign.ledger.state import State
from outlay.campaign.records import Pull
from outlay.campaign.stores.base import run
from outlay.policies import baselines as b
from outlay.policies.protocol import as_data

SECOND = 1_000_000
START = 1_700_000_000 * SECOND
OPENING = [policies.Thrifty(), policies.Thrifty(horizon="unknown")]
EXACT = [policies.RoundRobin(), policies.Fieller(), policies.Frugal(), *OPENING, b.EpsilonFirst()]  # without a cache
KEEPING = [policies.MedianRate(0.5), policies.CatoniRate(0.5), policies.KLRate("one", "sample")]
BY_CHANCE = [b.BTS(40.0, 2.0), b.GaussianThompson(), b.BGreedy(explore=3.0), b.KUBE(2.0)]
ALL = [*EXACT, *KEEPING, *BY_CHANCE]
MAX_COSTS = [None, None, 0, 1, 10, 40]
BUDGETS = st.one_of(st.sampled_from([120, 400]), st.integers(1, 400))
EIGHTHS = [n / 8 for n in range(-8, 17)]


class Operation(NamedTuple):
    """Something that is done `wait` microseconds after the last; a wait below 0 is a clock that was set back."""

    wait: int
    verb: str
    details: tuple[Any, ...]


def operation(random: Random, verbs: dict[str, int], waits: list[int]) -> Operation:
    """Something to do."""
    (verb,) = random.choices(list(verbs), list(verbs.values()))
    which = random.choice([0, 0, 0, 1, 1, 2, 3, 4, 5, 7, 10, 15, 30, -1])  # counted from the last; −1 is not there
    cost = random.choice([None, random.randint(0, 40), random.randint(-20, 90)])  # None: what was set aside
    name = random.choice(["a0", "a1", "a2", "new", "other"])
    details: dict[str, Any] = {
        "ask": (random.choice([None, None, None, "k0", "k1", "k2", "k3", "k4"]),
                random.choice([None, None, None, 5 * SECOND, 60 * SECOND]), (), None,
                random.choice([None] * 8 + [0, 12, 150, {"a0": 5}, {"a0": 30, "a1": 1}, {"new": 3}]), False, None,
                random.choice([None] * 8 + [("a0",), ("a1",), ("a0", "a2"), ("new",)])),
        "tell": (which, cost, random.choice([*EIGHTHS, *[None] * 12])),
        "reward": (random.choice([which, which, which, "k0", "k1"]), random.choice(EIGHTHS)),
        "amend": (which, cost, random.choice(EIGHTHS)),
        "cancel": (which,),
        "charge": (which,),
        "extend": (which, random.choice([1, 3 * SECOND, 100 * SECOND])),
        "budget": (random.choice([120, 400, random.randint(1, 400)]),),
        "requests": (random.choice([1, 3, 8, 20]),),
        "expect": (random.choice([0, 2, 30]),),
        "add": (name, random.choice(MAX_COSTS)),
        "disable": (name,),
        "enable": (name,),
        "warm": (random.choice(["k0", "k1", "k2"]),
                 [(name, random.randint(-5, 40), random.choice(EIGHTHS)) for _ in range(random.randint(1, 3))]),
    }  # fmt: skip
    return Operation(random.choice(waits), verb, details.get(verb, ()))


# How often each thing is done.
DAILY = {"ask": 60, "tell": 60, "cancel": 5, "charge": 5, "extend": 5, "amend": 10, "reward": 20, "again": 5}
RARE = {"budget": 8, "requests": 5, "expect": 3, "add": 3, "disable": 3, "enable": 5, "warm": 3}
RARE |= {"pause": 2, "resume": 8, "close": 1, "sweep": 2}
WAITS = [0] * 12 + [SECOND] * 4 + [7 * SECOND] * 2 + [45 * SECOND]
# Operations are drawn from tables, each by one number: hypothesis would take longer over a story than a campaign does.
ANY = [operation(Random(n), DAILY | RARE, [*WAITS, -20 * SECOND]) for n in range(4000)]
STEADY = [operation(Random(n), DAILY, WAITS) for n in range(2000)]
UNTOLD = [operation(Random(n), DAILY | RARE | {"ask": 200, "charge": 60, "tell": 12}, WAITS) for n in range(2000)]


def operations(*, steady: bool = False, untold: bool = False) -> st.SearchStrategy[list[Operation]]:
    """What is done to a campaign; `steady` keeps clocks right and leaves the rarer verbs out, `untold` most tells."""
    one = st.sampled_from(STEADY if steady else UNTOLD if untold else ANY)
    return st.integers(0, 80).flatmap(lambda count: st.lists(one, min_size=count, max_size=count))


@st.composite
def openings(draw: st.DrawFn, /, choices: list[Any], **fixed: Any) -> e.Open:
    """Terms of every kind, for a policy of these."""
    mode = draw(st.sampled_from(["until_exceeded", "hard"]))
    drawn: dict[str, Any] = {
        "mode": mode,
        "seed": draw(st.integers(0, 2**63 - 1)),
        "policy": as_data(draw(st.sampled_from(choices))),
        "ttl": draw(st.sampled_from([None, 10 * SECOND, 30 * SECOND])),
        "expiry": "charge" if mode == "hard" else draw(st.sampled_from(["charge", "release"])),
        "reservation": draw(st.sampled_from([None, None, 0, 15])),
        "default_reward": draw(st.sampled_from(EIGHTHS)),
        "max_in_flight": draw(st.sampled_from([None, None, 1, 3])),
        "negative_costs": draw(st.booleans()),
        "propensity_draws": draw(st.sampled_from([0, 2])),
        "first_pulls": draw(st.sampled_from([None, 1, 1, 2])),
        "reward_within": draw(st.sampled_from([None, 5 * SECOND, 40 * SECOND])),
        "missing_reward": draw(st.sampled_from([None, 0.0, 0.625])),
    } | fixed
    arms = tuple(
        ArmTerms(f"a{i}", most)
        for i, most in enumerate(draw(st.lists(st.sampled_from(MAX_COSTS), min_size=1, max_size=3)))
    )
    budget, of_unknown = draw(BUDGETS), drawn["reservation"] or 0
    if drawn["mode"] == "hard":  # so that some arm fits
        budget = max(budget, min(of_unknown if arm.max_cost is None else arm.max_cost for arm in arms))
    requests = draw(st.sampled_from([None, None, 1, 3, 8]))
    return e.Open("story", arms, budget, Terms(unit="1", version="story", **drawn), requests)


# What someone who writes a ledger by hand might put in place of what was agreed.
FORGED: list[dict[str, Any]] = [
    {"mode": "hard", "expiry": "release"},
    *({"mode": mode} for mode in ("bogus", "", None)),
    *({"expiry": expiry} for expiry in ("never", None)),
    *({"reservation": units} for units in (-1, -40, 2**60)),
    *({"ttl": micros} for micros in (0, -SECOND, 10**18)),
    *({"reward_within": micros} for micros in (0, -SECOND, 10**18)),
    *({"missing_reward": reward} for reward in (float("nan"), 1e200)),
    {"currency": "\x1b[31m"},
    *({"max_in_flight": most} for most in (0, -1)),
    *({"first_pulls": most} for most in (0, -1)),
    *({"default_reward": reward} for reward in (float("nan"), float("inf"), -1e200)),
    *({"seed": seed} for seed in (-1, 2**63)),
    *({"propensity_draws": draws} for draws in (-1, 10**9)),
    *({"format": number} for number in (0, -1, 2)),
    *({"unit": text} for text in ("0", "-1", "1e0", "one", "")),
    *({"arms": arms} for arms in ((), (ArmTerms("a0", -5),), (ArmTerms("a0"), ArmTerms("a0", 1)), (ArmTerms("\x1b"),))),
    *({"budget": units} for units in (0, -5, 2**60)),
    *({"requests": requests} for requests in (0, -1, 2**60)),
    *({"name": name} for name in ("", "\x1b[31m", "n" * 10**5)),
    *({"policy": policy} for policy in ({}, {"name": "Frugal"}, {"name": "Frugal", "parameters": {"no": 1}})),
]


def forged(opening: e.Open, changed: dict[str, Any]) -> e.Open:
    """An opening in which something was changed by hand."""
    whole = {field: value for field, value in changed.items() if field in opening._fields}
    parts = {field: value for field, value in changed.items() if field not in whole}
    return opening._replace(**whole, terms=msgspec.structs.replace(opening.terms, **parts))


# Commands that are made of what was drawn, and of nothing else.
AS_DRAWN: dict[str, Callable[..., e.Command]] = {
    "ask": e.Ask,
    "budget": e.SetBudget,
    "requests": e.SetRequests,
    "expect": e.Expect,
    "add": lambda name, most: e.AddArm(ArmTerms(name, most)),
    "disable": e.DisableArm,
    "enable": e.EnableArm,
    "pause": e.Pause,
    "resume": e.Resume,
    "close": e.Close,
    "sweep": e.ExpirePulls,
}


class Caller:
    """Makes commands of operations, from the replies so far."""

    def __init__(self) -> None:
        self.pulls: list[Pull] = []
        self.unreported: list[Pull] = []
        self.now = START
        self.last: e.Command = e.ExpirePulls()

    def command(self, operation: Operation) -> e.Command:
        """The command; the clock moves on to it."""
        self.now += operation.wait
        if operation.verb != "again":
            make = AS_DRAWN.get(operation.verb) or getattr(self, "_" + operation.verb)
            self.last = make(*operation.details)
        return self.last

    def hears(self, reply: Any) -> None:
        """Take down a pull that was named."""
        if isinstance(reply, Pull) and reply.id not in [pull.id for pull in self.pulls]:
            self.pulls.append(reply)
            self.unreported.append(reply)

    def _pull(self, which: int, pulls: list[Pull] | None = None) -> tuple[int, int]:
        """A decision of these, or of all, and what was set aside for it."""
        pulls = pulls or self.pulls
        if which < 0 or not pulls:
            return 10**6, 0
        pull = pulls[-1 - which % len(pulls)]
        return pull.id, int(pull.reserved)

    def _reward(self, which: int | str, reward: float) -> e.Reward:
        return e.Reward(which if isinstance(which, str) else self._pull(which)[0], reward)

    def _tell(self, which: int, cost: int | None, reward: float | None) -> e.Tell:
        number, reserved = self._pull(which, self.unreported)
        self.unreported = [pull for pull in self.unreported if pull.id != number or which % 3 == 2]
        return e.Tell(number, reserved if cost is None else cost, reward)

    def _cancel(self, which: int) -> e.Cancel:
        return e.Cancel(self._pull(which, self.unreported)[0], "why")

    def _charge(self, which: int) -> e.Charge:
        return e.Charge(self._pull(which, self.unreported)[0])

    def _extend(self, which: int, ttl: int) -> e.Extend:
        return e.Extend(self._pull(which, self.unreported)[0], ttl)

    def _amend(self, which: int, cost: int | None, reward: float) -> e.Amend:
        number, reserved = self._pull(which)
        if which in (1, 2):  # one of them alone
            return e.Amend(number, cost if which == 1 else None, None if which == 1 else reward, "why")
        return e.Amend(number, reserved if cost is None else cost, reward, "why")

    def _warm(self, key: str, samples: list[tuple[str, int, float]]) -> e.WarmStart:
        names, costs, rewards = zip(*samples, strict=True)
        return e.WarmStart(names, tuple(map(float, costs)), rewards, key)


def opened(opening: e.Open) -> tuple[State, list[Record]]:
    """A campaign that has just been opened, and its ledger."""
    done = run(None, [opening], START)
    assert done.replies == [None]
    assert done.state is not None
    return done.state, done.records


def shown(reply: Any) -> Any:
    """A reply in a form that compares: an error is its class and its words."""
    return (type(reply), str(reply)) if isinstance(reply, Exception) else reply


def whole_story(opening: e.Open, story: list[Operation]) -> tuple[State, list[Record], list[Any]]:
    """A whole story: where it ends, its ledger and the replies."""
    (state, records), caller, replies = opened(opening), Caller(), []
    for operation in story:
        done = run(state, [caller.command(operation)], caller.now)
        caller.hears(done.replies[0])
        records += done.records
        replies += done.replies
    return state, records, replies


def essence(state: State) -> tuple[Any, ...]:
    """The state to the last bit."""
    return snapshot.dump(state), state.pulls, state.keys, list(state.pending), list(state.awaiting), state.due


def for_stories(
    *strategies: st.SearchStrategy[Any], examples: int, soak: int
) -> Callable[[Callable[..., None]], Callable[[int], None]]:
    """A test of random examples: so many every day, and `soak` times as many in a soak."""

    def decorated(test: Callable[..., None]) -> Callable[[int], None]:
        def try_all(examples: int) -> None:
            settings(max_examples=examples)(given(*strategies)(test))()

        try_all.__name__, try_all.__doc__ = test.__name__, test.__doc__
        often = pytest.param(soak * examples, marks=pytest.mark.soak)
        return pytest.mark.parametrize("examples", [examples, often])(try_all)

    return decorated
