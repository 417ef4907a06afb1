"""Pools: a hard cap on the sum of several campaigns, in stories beside sums that are made anew, and in a store."""

import multiprocessing as mp
import os
import signal
import threading
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from outlay import Campaign, policies
from outlay.campaign import verify
from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.events import ArmTerms, Record, Terms
from outlay.campaign.ledger.pool import Pool
from outlay.campaign.ledger.replay import Replay
from outlay.campaign.ledger.state import State
from outlay.campaign.records import Pull
from outlay.campaign.stores.base import run
from outlay.campaign.stores.transaction import queue_depth
from outlay.errors import BadParameter, NoCampaign, NotNow, OverBudget
from outlay.policies.protocol import as_data
from tests.campaign.busy import blocked

SECOND = 1_000_000
DAY = 86_400 * SECOND
START = 20_000 * DAY + 23 * 3600 * SECOND  # an hour before midnight
FIXED = {"name": "Fixed", "parameters": {"arm": 0}}
POLICIES: list[Any] = [policies.Frugal(), policies.RoundRobin(), policies.Thrifty()]
both = pytest.mark.parametrize("store", ["sqlite", "postgresql"], indirect=True)
MEMBERS = [f"acme/{i}" for i in range(5)]


class Story:
    """A pool and five members; what each pull counts for is kept here once more, in the plainest way."""

    def __init__(self, seed: int) -> None:
        self.random, self.now = Random(seed), START
        draw: Any = self.random.choice
        window = draw([None, None, "day"])
        shared: dict[str, Any] = {"unit": "1", "version": "story", "window": window}
        only = Terms(mode="hard", policy=FIXED, seed=0, ttl=draw([None, None, 20 * SECOND]), **shared)
        self.total = draw([40, 120, 400])
        self.states: dict[str, State] = {}
        self.records: dict[str, list[Record]] = {}
        self.counted: dict[tuple[str, int], tuple[int, int]] = {}  # the day, and what it counts for
        self.excused = self.got = self.refused = 0
        self._do("acme", e.Open("acme", (ArmTerms("tenants"),), self.total, only))
        for name in MEMBERS:
            mode: e.Mode = draw(["hard", "hard", "until_exceeded"])
            terms = Terms(
                mode=mode,
                policy=as_data(draw(POLICIES)),
                seed=seed,
                ttl=draw([None, 10 * SECOND]),
                expiry="charge" if mode == "hard" else draw(["charge", "release"]),
                reservation=draw([None, 6]),
                fallback=draw([None, None, "a"]),
                reward_within=draw([None, 5 * SECOND]),
                pool="acme",
                **shared,
            )
            arms = (ArmTerms("a", 2), ArmTerms("b", draw([None, 9])), ArmTerms("c", draw([None, 30])))
            self._do(name, e.Open(name, arms, draw([60, 100]), terms))

    def _do(self, name: str, command: e.Command) -> Any:
        """What comes of it; and the events of the member and of the pool are kept."""
        pool = Pool(self.states["acme"], name) if name != "acme" and name in self.states else None
        done = run(self.states.get(name), [command], self.now, pool=pool)
        assert done.state is not None
        self.states[name] = done.state
        self.records.setdefault(name, []).extend(done.records)
        if pool is not None:
            self.states["acme"] = pool.state
            self.records["acme"] += pool.records
        self._follow(name, done.records)
        return done.replies[0]

    def _follow(self, name: str, records: list[Record]) -> None:
        """Count by the members' events alone."""
        for record in records if name != "acme" else ():
            event = record.event
            if isinstance(event, e.Asked) and not event.fallback:
                self.counted[name, record.seq] = record.at // DAY, event.reserved
            number = record.about()
            if (name, number) not in self.counted or number is None:
                continue
            day, counts = self.counted[name, number]
            if isinstance(event, (e.Told, e.Amended)):
                # What was not set aside could break the cap: a cost above it, a correction, a tell after all.
                self.excused += max(0, event.cost - counts)
                self.counted[name, number] = day, event.cost
            elif isinstance(event, e.Cancelled) or (isinstance(event, e.Expired) and event.charged is None):
                self.counted[name, number] = day, 0

    def turn(self) -> None:
        draw = self.random.choice
        self.now += draw([0] * 8 + [SECOND] * 4 + [7 * SECOND, 45 * SECOND] + [1800 * SECOND] * (self.now % 7 == 0))
        name = draw(MEMBERS)
        mine = [number for member, number in self.counted if member == name][-6:]
        verb = draw(["ask"] * 6 + ["tell"] * 6 + ["reward", "cancel", "charge", "amend", "extend", "total"])
        if verb == "ask":
            key = draw([None, None, "k0", "k1", "k2"])
            command = e.Ask(key, draw([None, None, 5 * SECOND]), (), None, draw([None, None, 1, 12, {"a": 1}]))
            command = command._replace(arms=draw([None, None, None, ("a",)]))
            before = len(self.counted)
            reply = self._do(name, command._replace(ttl=None) if key else command)
            self.got += len(self.counted) > before
            self.refused += reply is None or isinstance(reply, (NotNow, OverBudget))
        elif verb == "total":
            self.total = draw([40, 120, 400])
            self._do("acme", e.SetBudget(self.total))
            self.excused += max(0, self.sum(self.now // DAY) - self.total)
        elif mine:
            number = draw(mine)
            held = self.states[name].pulls[number].reserved
            cost = draw([held, held, held // 2, held + 3])
            commands: dict[str, e.Command] = {
                "tell": e.Tell(number, cost, draw([None, 0.5])), "reward": e.Reward(number, 1.0),
                "cancel": e.Cancel(number), "charge": e.Charge(number), "amend": e.Amend(number, cost, None),
                "extend": e.Extend(number, 60 * SECOND),
            }  # fmt: skip
            self._do(name, commands[verb])

    def sum(self, day: int) -> int:
        windows = self.states["acme"].terms.window is not None
        return sum(counts for of, counts in self.counted.values() if of == day or not windows)

    def check(self) -> None:
        pool = self.states["acme"]
        if pool.terms.ttl is None:  # else a pull may be charged there before it is over here
            assert pool.spent + pool.reserved == sum(counts for _, counts in self.counted.values())
            members = [self.states[name] for name in MEMBERS]
            assert pool.spent == sum(state.spent - state.spent_on_fallback for state in members)
        assert pool.spent + pool.reserved >= sum(counts for _, counts in self.counted.values())
        assert pool.counted + pool.held <= self.total + self.excused

    def replay(self) -> None:
        for name, records in self.records.items():
            replay, state = Replay(), None
            for record in records:
                state, doubt = replay.fold(state, record)
                assert doubt is None, (name, doubt)
            assert state is not None
            assert (state.head, state.spent, state.left) == (
                self.states[name].head,
                self.states[name].spent,
                self.states[name].left,
            )


@pytest.mark.parametrize("stories", [60, pytest.param(5000, marks=pytest.mark.soak)])
def test_the_pool_is_the_sum_of_its_members_whatever_happens(stories: int) -> None:
    got = refused = 0
    for seed in range(stories):
        story = Story(seed)
        for _ in range(120):
            story.turn()
            story.check()
        story.replay()
        got, refused = got + story.got, refused + story.refused
    assert got > 15 * stories
    assert refused > 5 * stories


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store with a pool of 3: SQLite, or as the parameter says."""
    address = f"sqlite:///{tmp_path}/pool.db"
    if getattr(request, "param", "sqlite") == "postgresql":
        address = request.getfixturevalue("postgres_url")
    with Campaign(["tenants"], 3, FIXED, store=address, name="acme", mode="hard", ttl=None):
        return address


def member(store: str, name: str, **changed: Any) -> Campaign:
    terms: dict[str, Any] = {"arms": {"small": 0.25, "large": 1}, "budget": 2, "policy": "Frugal", "mode": "hard"}
    return Campaign(**terms | changed, store=store, name=name, pool="acme")


def sums(store: str) -> tuple[Any, Any]:
    """What the pool and its members have spent and set aside."""
    found = []
    for name in ("acme", "acme/1", "acme/2"):
        with Campaign.open(store, name) as campaign:
            exact = campaign.status().exact
            found.append(exact.spent + exact.reserved)
    return found[0], sum(found[1:])


@both
def test_two_members_spend_no_more_than_there_is_together(store: str) -> None:
    with member(store, "acme/1", budget=4) as one, member(store, "acme/2") as two:
        for campaign in (one, two) * 9:
            if (pull := campaign.ask()) is not None:
                campaign.tell(pull, pull.reserved, 1.0 if pull.arm == "large" else 0.0)
        assert (one.ask(), two.ask()) == (None, None)
        assert one.status().ended is None  # it is the pool that has ended, and may go on
        with Campaign.open(store, "acme") as pool:
            assert pool.status().spent == 3
            assert [pull.key for pull in pool.pulls(limit=1)] == ["acme/1/2"]
            pool.set_budget(3.5)
        pull = one.ask(key="again")
        assert pull == one.ask(key="again")
        assert pull is not None
        assert pull.arm == "small"  # the other fits its own budget, and not what is left in the pool
        assert one.history(after=pull.id - 1).listed()[0].more["room"] == 0.5
        one.tell("again", 0.125)
        one.reward("again", 1)
        assert one.amend("again", cost=2, reason="invoice").overrun
    assert sums(store)[0] == sums(store)[1]
    for name in ("acme", "acme/1", "acme/2"):
        assert verify(store, name).ok


def test_a_refusal_of_the_pool_says_what_to_do(store: str) -> None:
    terms: dict[str, Any] = {"arms": {"large": 1}, "fallback": "large"}
    with member(store, "acme/1", **terms) as one, member(store, "acme/2", arms={"large": 1}) as two:
        held = [two.ask(most=1), one.ask(most=1), one.ask(most=0.75)]
        with pytest.raises(NotNow, match="set aside"):
            two.ask(most=0.5)
        fallback = one.ask(wait=0.01, most=0.5)
        assert fallback is not None
        assert fallback.fallback
        two.tell_many((pull, pull.reserved, 1) for pull in held[:1] if pull)
        one.tell_many((pull, pull.reserved, 1) for pull in held[1:] if pull)
        with pytest.raises(OverBudget, match=r"0\.5, and 0\.25 is left"):
            two.ask(most=0.5)
        over = one.ask(most=0.5)
        assert over is not None
        assert over.fallback
        with Campaign.open(store, "acme") as pool:
            pool.pause()
            with pytest.raises(NotNow, match="'acme' is paused"):
                two.ask()
    assert sums(store)[0] == 2.75
    for name in ("acme", "acme/1", "acme/2"):
        assert verify(store, name).ok


def test_what_cannot_be_a_pool_is_refused(store: str) -> None:
    with pytest.raises(NoCampaign, match="no campaign 'else' to be a pool"):
        Campaign(["a"], 1, store=store, name="x", pool="else")
    with pytest.raises(BadParameter, match="pool of Campaign must be given with a store"):
        Campaign(["a"], 1, pool="acme")
    with pytest.raises(BadParameter, match="unit of Campaign must be 1E-9, that of its pool"):
        member(store, "x", unit="0.01")
    with pytest.raises(BadParameter, match="at most 180 characters with a pool"):
        member(store, "x" * 190)
    with Campaign(["a"], 1, store=store, name="soft"), pytest.raises(BadParameter, match="hard mode"):
        Campaign(["a"], 1, store=store, name="x", pool="soft")
    with Campaign({"a": 1}, 1, store=store, name="dear", mode="hard"), pytest.raises(BadParameter, match="no maximum"):
        Campaign(["a"], 1, store=store, name="x", pool="dear")
    with pytest.raises(NoCampaign):
        Campaign.open(store, "x")


def test_a_campaign_like_another_has_its_terms(store: str) -> None:
    with member(store, "acme/*", ttl=60) as model:
        model.set_budget(1)
        with Campaign.open(store, "acme/1", like=model) as one:
            assert (one.budget, one.pool, one.arms) == (1, "acme", ("small", "large"))
            model.set_budget(2)
        with Campaign.open(store, "acme/1", like=model) as one:
            assert one.budget == 1


def test_a_command_that_cannot_be_written_leaves_other_members_alone(store: str) -> None:
    """Although all are in one transaction with the pool."""
    outcomes: dict[str, Any] = {}

    def act(campaign: Campaign, key: str) -> None:
        try:
            (outcomes[key],) = campaign._ledger.transact([e.SetBudget(2**70) if key == "bad" else e.Ask(key)])
        except OverflowError as refusal:
            outcomes[key] = refusal

    with member(store, "acme/1") as one, member(store, "acme/2") as two:
        calls = [(one, "a"), (two, "b"), (one, "bad"), (two, "c")]
        crowd = [threading.Thread(target=act, args=call) for call in calls]
        with blocked(store):
            for thread in crowd:
                thread.start()
            while queue_depth(store) < len(crowd):
                time.sleep(0.001)
        for thread in crowd:
            thread.join()
    assert isinstance(outcomes.pop("bad"), OverflowError)
    assert [isinstance(outcomes[key], Pull) for key in "abc"] == [True] * 3
    assert sums(store)[0] == sums(store)[1] > 0


def spend(store: str, name: str, seed: int) -> None:
    """In a process of its own: ask and tell until it is killed."""
    random = Random(seed)
    with Campaign.open(store, name) as campaign:
        while True:
            try:
                pull = campaign.ask()
            except NotNow:
                continue
            if pull is None:
                time.sleep(0.001)
            elif random.random() < 0.2:
                campaign.cancel(pull)
            else:
                campaign.tell(pull, pull.reserved * random.random() / 50, 1.0)


@both
@pytest.mark.parametrize("kills", [3, pytest.param(100, marks=pytest.mark.soak)])
def test_after_kill_9_the_pool_is_still_the_sum(store: str, kills: int) -> None:
    for name in ("acme/1", "acme/2"):
        member(store, name).disconnect()
    context, random = mp.get_context("spawn"), Random(1)
    running = [context.Process(target=spend, args=(store, f"acme/{1 + i % 2}", i)) for i in range(3)]
    for process in running:
        process.start()
    try:
        for kill in range(kills):
            before = sums(store)
            deadline = time.monotonic() + 60
            while sums(store) == before and kill == 0 and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(random.uniform(0.05, 0.2))
            victim = running[kill % 3]
            assert victim.pid is not None
            os.kill(victim.pid, signal.SIGKILL)
            victim.join()
            running[kill % 3] = context.Process(target=spend, args=(store, f"acme/{1 + kill % 2}", 10 + kill))
            running[kill % 3].start()
    finally:
        for process in running:
            process.kill()
            process.join()
    pool, members = sums(store)
    assert 0 < members == pool <= 3
    for name in ("acme", "acme/1", "acme/2"):
        assert verify(store, name).ok
