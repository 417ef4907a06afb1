"""Windows and fallbacks on random stories, beside sums that are made anew from the events each time."""

from collections import Counter
from random import Random
from typing import Any, NamedTuple

import msgspec
import pytest

from outlay import policies
from outlay.campaign.ledger import events as e
from outlay.campaign.ledger import snapshot
from outlay.campaign.ledger.events import Amended, ArmTerms, Asked, Cancelled, Expired, Record, Renewed, Terms, Told
from outlay.campaign.ledger.replay import Replay
from outlay.campaign.ledger.state import State
from outlay.campaign.records import Pull
from outlay.campaign.stores.base import run
from outlay.policies.protocol import as_data

SECOND = 1_000_000
DAY = 86_400 * SECOND
START = 20_000 * DAY + 23 * 3600 * SECOND  # an hour before midnight
POLICIES: list[Any] = [policies.Frugal(), policies.RoundRobin(), policies.Thrifty(), policies.Ration()]


class Sums(NamedTuple):
    """What pulls have cost, and what is set aside for them, by the day on which each was asked for."""

    spent: Counter[int]
    reserved: Counter[int]
    used: Counter[int]
    outside: int
    outside_reserved: int
    excused: Counter[int]


def sums(records: list[Record]) -> Sums:
    """From the events alone, the slow and obvious way."""
    asked: dict[int, tuple[int, Asked]] = {}
    cost: dict[int, int] = {}
    ended: dict[int, str] = {}
    excused = Counter[int]()
    for record in records:
        event = record.event
        if isinstance(event, Asked):
            asked[record.seq] = record.at // DAY, event
        elif isinstance(event, (Told, Amended)):
            before = cost.get(event.pull, 0)
            cost[event.pull], ended[event.pull] = event.cost, "told"
            if event.overrun:
                excused[asked[event.pull][0]] += max(0, event.cost - before)
        elif isinstance(event, Expired):
            ended[event.pull] = "expired"
            if event.charged is not None:
                cost[event.pull] = event.charged
        elif isinstance(event, Cancelled):
            ended[event.pull] = "cancel"
    found = Sums(Counter(), Counter(), Counter(), 0, 0, excused)
    for number, (day, event) in asked.items():
        held = event.reserved if number not in ended else 0
        found.used[day] += ended.get(number) != "cancel"
        if event.fallback:
            outside, reserved = found.outside + cost.get(number, 0), found.outside_reserved + held
            found = found._replace(outside=outside, outside_reserved=reserved)
        else:
            found.spent[day] += cost.get(number, 0)
            found.reserved[day] += held
    return found


def opening(random: Random) -> e.Open:
    terms = Terms(
        unit="1",
        mode=random.choice(["hard", "until_exceeded"]),
        seed=random.randrange(100),
        policy=as_data(random.choice(POLICIES)),
        version="story",
        ttl=random.choice([None, 600 * SECOND, 20_000 * SECOND]),
        first_pulls=random.choice([None, 1]),
        max_in_flight=random.choice([None, 6]),
        window="day",
        fallback=random.choice([None, "a0", "a1"]),
        propensity_draws=0,
        reward_within=random.choice([None, 60 * SECOND, 20_000 * SECOND]),
        missing_reward=random.choice([None, 0.0]),
    )
    most = [random.choice([10, 40]), random.choice([None, 25, 0])]
    arms = tuple(ArmTerms(f"a{i}", units) for i, units in enumerate(most))
    return e.Open("story", arms, random.choice([60, 150]), terms, random.choice([None, None, 12]))


def command(random: Random, pulls: list[Pull]) -> e.Command:
    pull = random.choice(pulls) if pulls else None
    verb = random.choices(
        [
            "ask",
            "tell",
            "reward",
            "cancel",
            "charge",
            "amend",
            "budget",
            "requests",
            "expect",
            "pause",
            "resume",
            "archive",
        ],
        [60, 50, 20, 4, 4, 6, 2, 1, 2, 1, 6, 2],
    )[0]
    if pull is not None and verb in ("tell", "reward", "cancel", "charge", "amend"):
        cost = random.randint(0, int(pull.reserved)) if random.random() < 0.9 else random.randint(-5, 60)
        settling: dict[str, e.Command] = {
            "tell": e.Tell(pull.id, cost, random.choice([random.random(), None])),
            "reward": e.Reward(pull.id, random.random()),
            "cancel": e.Cancel(pull.id),
            "charge": e.Charge(pull.id),
            "amend": e.Amend(pull.id, cost, None),
        }
        return settling[verb]
    others: dict[str, e.Command] = {
        "budget": e.SetBudget(random.choice([60, 90, 150])),
        "requests": e.SetRequests(random.choice([8, 12, 20])),
        "expect": e.Expect(random.choice([5, 30])),
        "pause": e.Pause(),
        "resume": e.Resume(),
        "archive": e.Archive() if random.random() < 0.34 else e.Restore(),
    }
    key, most = random.choice([None, None, f"k{random.randrange(40)}"]), random.choice([None, None, 20, {"a0": 5}])
    arms = random.choice([*[None] * 12, ("a0",), ("a1",)])
    return others.get(verb, e.Ask(key, most=most, or_fallback=random.random() < 0.1, arms=arms))


def check(state: State, records: list[Record], now: int, budgets: list[int]) -> None:
    """That the state's sums are those of the events, and that the cap of every day holds by itself."""
    found, today = sums(records), state.at // DAY
    assert state.window_start == max(r.event.start for r in records if isinstance(r.event, Renewed))
    assert state.window_start <= state.at
    day = state.window_start // DAY
    assert (state.counted, state.held) == (found.spent[day], found.reserved[day])
    assert (state.spent_on_fallback, state.spent_before_window) == (
        found.outside,
        found.spent.total() - found.spent[day],
    )
    assert state.used_now == found.used[day]
    assert state.carried == sum(state.is_earlier(decision) for decision in state.pending.values())
    assert day == today or now < state.window_start + DAY
    if state.terms.mode == "hard" and state.arms[1].max_cost is not None:
        for each, spent in (found.spent + found.reserved).items():
            assert spent <= max(budgets) + found.excused[each]


def played(seed: int, steps: int) -> tuple[State, list[Record]]:
    """A story; now and then it goes on from a snapshot."""
    random = Random(seed)
    done = run(None, [opening(random)], START)
    assert done.state is not None
    state, records, now = done.state, done.records, START
    pulls: list[Pull] = []
    budgets = [state.budget]
    for _ in range(steps):
        now += random.choice([0, 0, 0, SECOND, 30 * SECOND, 900 * SECOND, 900 * SECOND, 20_000 * SECOND])
        do: Any = command(random, pulls)
        if isinstance(do, e.SetBudget):
            budgets.append(do.budget)
        if random.random() < 0.05 and (body := snapshot.dump(state)) is not None:
            again = snapshot.load(body)
            assert again is not None
            for decision in state.pulls.values():
                again.cache_pull(decision)
            state = again
        done = run(state, [do], now)
        records += done.records
        pulls += [reply for reply in done.replies if isinstance(reply, Pull)]
        check(state, records, now, budgets)
    return state, records


def retold(state: State, records: list[Record]) -> None:
    """Every event is decided again, and the fold of all is the state."""
    replay, folded = Replay(), None
    for record in records:
        if isinstance(record.event, Asked):
            assert record.event.fallback or folded is not None
        folded, doubt = replay.fold(folded, record)
        assert doubt is None
    assert folded is not None
    assert snapshot.dump(folded) == snapshot.dump(state)


@pytest.mark.parametrize("seed", range(24))
def test_each_window_keeps_its_own_sums_and_cap(seed: int) -> None:
    state, records = played(seed, 120)
    retold(state, records)


@pytest.mark.soak
def test_each_window_keeps_its_own_sums_and_cap_in_long_stories() -> None:
    for seed in range(1000, 1600):
        retold(*played(seed, 250))


def test_the_stories_have_what_they_are_about() -> None:
    """Several windows, pulls across their edges, fallbacks and the end of a window's budget."""
    counted: Counter[str] = Counter()
    for seed in range(24):
        _, records = played(seed, 120)
        for record in records:
            counted[type(record.event).__name__] += 1
            counted["across"] += getattr(record.event, "earlier", False)
            counted["fallback"] += getattr(record.event, "fallback", False)
            counted["outside"] += getattr(record.event, "fallback", False) * (not isinstance(record.event, Asked))
    assert min(counted[kind] for kind in ("Renewed", "Exhausted", "across", "fallback", "outside")) > 20
    assert min(counted[kind] for kind in ("Archived", "Rewarded")) > 5


@pytest.mark.parametrize("forged", [Renewed(START - 1, START + DAY), Renewed(START, START + 3600 * SECOND)])
def test_a_window_that_the_calendar_does_not_have_is_found(forged: Renewed) -> None:
    """Somebody who would have the budget begin anew more often: at opening, or in the middle of a day."""
    _, records = played(3, 5)
    opened, renewed = records[0], records[1]
    assert isinstance(renewed.event, Renewed)
    replay = Replay()
    state, _ = replay.fold(None, opened)
    _, doubt = replay.fold(state, msgspec.structs.replace(renewed, event=forged))
    assert doubt is not None
    assert "and the rules say" in doubt
    replay = Replay()
    state, _ = replay.fold(None, opened)
    state, doubt = replay.fold(state, renewed)
    assert doubt is None
    _, doubt = replay.fold(state, Record(3, renewed.at, renewed.event, state.head))
    assert doubt is not None
    assert "changes nothing" in doubt
