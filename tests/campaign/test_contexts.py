"""Campaigns whose requests differ: what is told of a request is encoded, chosen by, recorded, and learned from."""

import random
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from outlay import Campaign, policies
from outlay.campaign import verify
from outlay.campaign.context import agreed_kinds, categories, encoded, features_of
from outlay.campaign.ledger import snapshot
from outlay.campaign.ledger.apply import apply
from outlay.campaign.ledger.learner import EventRandom
from outlay.campaign.ledger.validation import check_terms
from outlay.campaign.ledger_file import export_ledger, import_ledger
from outlay.campaign.stores import transaction
from outlay.engine import loop
from outlay.engine.limits import Limits
from outlay.errors import BadParameter, CampaignConflict
from outlay.policies import baselines as b
from outlay.policies.protocol import with_limits
from tests.campaign.postgres import Server

KINDS: dict[str, Any] = {"length": "number:500", "tenant": ["a", "b"], "words": "hashed:3", "place": 2}
ARMS, ROWS = 3, 50


def request(rng: random.Random) -> dict[str, Any]:
    """One that a user could make."""
    words = rng.sample(["sort", "prove", "draw", "sum"], 2)
    return {
        "length": rng.gauss(900, 500), "tenant": rng.choice("ab"), "words": words, "place": [rng.random(), 1.0],
    }  # fmt: skip


def outcome(arm: str, asked: dict[str, Any], rng: random.Random) -> tuple[float, float]:
    """What it costs and earns: the large arm is good for one tenant."""
    large = arm == "large"
    return (1.0 if large else 0.25), float(rng.random() < (0.9 if large and asked["tenant"] == "a" else 0.4))


class Requests(NamedTuple):
    """A world of requests in an order that is known, with what each arm costs and brings for them."""

    features: NDArray[np.float64]  # [request, feature]
    outcomes: NDArray[np.float64]  # [request, arm, cost or reward]
    pulled: list[int]

    def request(self, rng: Any) -> int:
        return len(self.pulled)

    def pull_for(self, row: int, arm: int, rng: Any) -> tuple[float, float]:
        self.pulled.append(int(arm))
        cost, reward = self.outcomes[row, arm].tolist()
        return cost, reward


class LedgerRandom:
    """The random numbers of a campaign's asks: after the event that opens it, asks and tells take turns."""

    def __init__(self, world: Requests) -> None:
        self._world, self._seq, self._stream = world, 0, EventRandom(0, 0)

    def __getattr__(self, verb: str) -> Any:
        if (seq := 2 + 2 * len(self._world.pulled)) != self._seq:
            self._seq, self._stream = seq, EventRandom(0, seq)
        return getattr(self._stream, verb)


def world_of(features: int, requests: int) -> Requests:
    """Costs and rewards are multiples of 1/512, so that sums in units are those in floats."""
    rng = np.random.default_rng(features)
    x = rng.standard_normal((requests, features))
    better = np.stack([0.5 + 0.0 * x[:, 0], 0.6 + 0.3 * np.tanh(x[:, 0]), 0.7 + 0.3 * np.tanh(x[:, -1])], axis=1)
    costs = np.tile([0.25, 0.75, 1.5], (requests, 1)) * (1.0 + 0.2 * rng.random((requests, 3)))
    pairs = np.stack([costs, rng.random((requests, ARMS)) < better], axis=2)
    return Requests(x, np.round(pairs * 512) / 512, [])


@pytest.mark.parametrize("features", [1, 5, 25])
@pytest.mark.parametrize("policy", [policies.LinearRation, b.LinUCB, b.LinTS])
@pytest.mark.parametrize("mode", ["until_exceeded", "hard"])
def test_a_campaign_pulls_what_the_simulator_pulls(policy: Any, features: int, mode: Any) -> None:
    requests, budget, most = 220, 120.0, [0.5, 1.0, 2.0]
    given = policy(features=features)
    one, other = world_of(features, requests + 1), world_of(features, requests + 1)
    dearest = np.array(most) if mode == "hard" else None
    run, limits = loop.RunState.start(ARMS, dearest), Limits.of(np.array([budget]), np.array([requests]))
    told = cast("Any", with_limits(given, budget, requests))
    loop.advance(
        cast("Any", LedgerRandom(one)), cast("Any", one), told, told.memory(ARMS), run.pulls, run.totals, run.marks,
        run.cache, run.affordable, limits.budgets, limits.requests, limits.laws, np.zeros((1, ARMS), np.int64),
        np.zeros(1), np.zeros(1), requests + 1,
    )  # fmt: skip
    ceilings = dict(zip("012", most if mode == "hard" else [None] * ARMS, strict=True))
    campaign = Campaign(
        ceilings, budget, given, mode=mode, requests=requests, propensity_draws=0, context=features, first_pulls=None
    )
    while (pull := campaign.ask(context=other.features[len(other.pulled)])) is not None:
        campaign.tell(pull, *other.pull_for(len(other.pulled), int(pull.arm), None))
    assert other.pulled == one.pulled
    assert len(set(one.pulled)) > 1


def tangle(campaign: Campaign, seed: int, steps: int) -> None:
    """All that can happen to pulls, at random."""
    rng = random.Random(seed)
    under_way: list[Any] = []
    paid: list[Any] = []
    done: list[Any] = []
    for _ in range(steps):
        act = rng.random()
        if act < 0.5 or not under_way:
            asked = request(rng)
            pull = campaign.ask(context=asked, wait=0.0, ttl=rng.choice([None, 1e-5, 3600]))
            if pull is None:
                return
            under_way.append((pull, asked))
            continue
        pull, asked = under_way.pop(rng.randrange(len(under_way)))
        cost, reward = outcome(pull.arm, asked, rng)
        if act < 0.75:
            campaign.tell(pull, cost, reward)
            done.append(pull)
        elif act < 0.85:
            campaign.tell(pull, cost)
            paid.append((pull, reward))
        elif act < 0.9:
            with suppress(CampaignConflict):  # its time may be over
                campaign.cancel(pull)
            if rng.random() < 0.5:
                campaign.tell(pull, cost, reward)
        elif act < 0.95 and done:
            campaign.amend(rng.choice(done), cost=cost + 0.125)
        if paid and rng.random() < 0.3:
            campaign.reward(*paid.pop(rng.randrange(len(paid))))


def known(campaign: Campaign) -> bytes | None:
    """All that is known, in a ledger in memory."""
    return snapshot.dump(cast("Any", campaign)._ledger.state())


def test_the_ledger_tells_all_again() -> None:
    campaign = Campaign(
        ["small", "large"], 900, context=KINDS, requests=1500, expiry="release", first_pulls=None, propensity_draws=3
    )
    tangle(campaign, 0, 300)
    campaign.add_arm("medium")
    tangle(campaign, 1, 200)
    again = None
    for record in cast("Any", campaign)._ledger.records():
        again = apply(again, record)
    assert again is not None
    assert snapshot.dump(again) == known(campaign)
    body = known(campaign)
    assert body is not None
    loaded = snapshot.load(body)
    assert loaded is not None
    assert snapshot.dump(loaded) == body


@pytest.mark.parametrize(
    "more",
    [
        {"expiry": "charge", "reward_within": 0.001, "missing_reward": 0.25},
        {"expiry": "release", "reward_within": 0.001, "mode": "until_exceeded"},
        {"mode": "hard", "reservation": 1.0, "fallback": "small", "budget": 40},
        {"window": "day", "pool": "all"},
    ],
    ids=repr,
)
def test_two_that_share_a_ledger_choose_alike_and_it_is_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    """Each forgets settled pulls and reads the other's events; one opens from a snapshot again and again."""
    monkeypatch.setattr(transaction, "CACHED_PULLS", 3)
    monkeypatch.setattr(transaction, "SNAPSHOT_INTERVAL", 20)
    monkeypatch.setattr(transaction, "BYTES_PER_EVENT", 10**9)
    store = f"sqlite:///{tmp_path}/spend.db"
    terms: dict[str, Any] = {
        "arms": ["small", "large"], "budget": 1500, "context": KINDS, "requests": 3000, "first_pulls": None,
        "propensity_draws": 2,
    }  # fmt: skip
    pool = Campaign(["all"], 10_000, mode="hard", reservation=2, store=store, name="all")
    first = Campaign(store=store, **terms | more)
    for turn in range(6):
        tangle(first, turn, 30)
        with Campaign.open(store) as second:
            tangle(second, 10 + turn, 30)
    first.disconnect()
    pool.disconnect()
    verdict = verify(store)
    assert verdict.ok, verdict.problems
    assert verdict.choices_checked
    assert verdict.events > 250
    export_ledger(store, tmp_path / "ledger")
    import_ledger(f"sqlite:///{tmp_path}/other.db", tmp_path / "ledger")
    assert verify(f"sqlite:///{tmp_path}/other.db").head == verdict.head


def test_on_a_server(postgres_server: Server) -> None:
    store = postgres_server.lend_database("contexts")
    with Campaign(["small", "large"], 500, store=store, context=KINDS, requests=900, first_pulls=None) as first:
        tangle(first, 0, 60)
        with Campaign.open(store) as second:
            tangle(second, 1, 60)
        tangle(first, 2, 60)
    verdict = verify(store)
    assert verdict.ok, verdict.problems
    assert verdict.choices_checked
    postgres_server.take_back("contexts")


def test_every_pull_is_learned_with_its_own_request() -> None:
    """Told in another order than asked for, late, after a cancellation: the memory is that of its own requests."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 3))
    campaign = Campaign(["a", "b"], 1000, context=3, requests=100, first_pulls=None, propensity_draws=0)
    pulls = [campaign.ask(context=row) for row in x]
    memory = policies.LinearRation(3).memory(2)
    for row in x:
        memory.arrive(row)
    for number in rng.permutation(40):
        pull = pulls[number]
        assert pull is not None
        if number % 5 == 0:
            campaign.cancel(pull)
        cost, reward = 0.5 + number / 64, number / 32
        if number % 3:
            campaign.tell(pull, cost, reward)
        else:
            campaign.tell(pull, cost)
            campaign.reward(pull, reward)
        memory.observe_with(x[number], int(pull.arm == "b"), cost, reward)
    learned = cast("Any", campaign)._ledger.state().learner.memory
    for ours, theirs in zip(memory, learned, strict=True):
        assert np.array_equal(ours, theirs, equal_nan=True)


def test_more_is_earned_than_without() -> None:
    earned = {}
    for context in (None, {"tenant": ["a", "b"]}):
        rng = random.Random(1)
        campaign = Campaign(["small", "large"], 400, requests=800, context=context, propensity_draws=0)
        for _ in range(800):
            asked = request(rng)
            pull = campaign.ask(context=None if context is None else {"tenant": asked["tenant"]})
            assert pull is not None
            campaign.tell(pull, *outcome(pull.arm, asked, rng))
        earned[context is not None] = campaign.status().reward
    assert earned[True] > earned[False] + 40


def test_every_pull_keeps_its_features() -> None:
    campaign = Campaign(["a", "b"], 10, context=KINDS)
    asked = {"length": 250, "tenant": "b", "words": "sort", "place": np.array([3, -0.5])}
    pull = campaign.ask(context=asked)
    again = campaign.ask("k", context=asked)
    assert pull is not None
    assert again is not None
    (kept, _) = campaign.pulls()
    assert kept.context is not None
    assert kept.context == encoded("ask", agreed_kinds(KINDS), asked)
    assert (kept.context[:3], kept.context[-2:]) == ((0.5, 0.0, 1.0), (3.0, -0.5))
    assert sorted(kept.context[3:6]) in ([-1.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    assert categories(agreed_kinds(KINDS), kept.context) == {"tenant": "b"}
    assert list(campaign.history())[1].more["context"] == list(kept.context)
    assert campaign.ask("k", context=asked | {"tenant": "a"}) == again  # as it was first asked


def test_what_chance_decided_is_recorded_with_its_probability() -> None:
    rng, campaign = random.Random(1), Campaign(["small", "large"], 120, context=KINDS, requests=240)
    for _ in range(200):
        asked = request(rng)
        pull = campaign.ask(context=asked)
        assert pull is not None
        campaign.tell(pull, *outcome(pull.arm, asked, rng))
    chances = [pull.propensity for pull in campaign.pulls() if pull.propensity is not None]
    assert 0 < len(chances) < 200
    assert all(0 < chance <= 1 for chance in chances)
    assert min(chances) < 0.95


def test_why_this_arm_for_this_request() -> None:
    """The arm that is named is the one that is worth most, and an ask names it, chance aside."""
    rng, campaign = random.Random(2), Campaign(["small", "large", "none"], 200, context=KINDS, requests=400)
    assert campaign.reasons(context=request(rng)).means == "its own rule"
    named = []
    for _ in range(300):
        asked = request(rng)
        found = campaign.reasons(context=asked)
        pull = campaign.ask(context=asked)
        assert pull is not None
        assert found.arm == pull.arm
        if found.means == "worth" and pull.propensity is None:
            best = max(found.arms, key=lambda arm: cast("float", arm.score))
            assert best.name == pull.arm
            named.append(pull.arm)
        campaign.tell(pull, *((0.25, 0.0) if pull.arm == "none" else outcome(pull.arm, asked, rng)))
    assert len(named) > 200
    assert len(set(named)) > 1
    assert "worth most for this request" in found.words
    assert found.arms[0].words.startswith("For this request it may bring ")
    assert campaign.reasons() == campaign.reasons(context=asked)


def test_why_this_arm_where_another_is_disabled() -> None:
    """Money has the price that it has among the arms that may be named; who is drawn by chance is not worth most."""
    rng, campaign = random.Random(5), Campaign(["small", "large"], 150, context=["x"], requests=400)
    campaign.add_arm("dear")
    means = {"small": (0.05, 0.2), "large": (0.3, 0.45), "dear": (1.0, 0.8)}
    words = []
    for n in range(399):
        asked = {"x": rng.gauss(0, 1)}
        if n == 150:
            campaign.disable_arm("dear")
            campaign.add_arm("never tried")
            campaign.disable_arm("never tried")
        found, pull = campaign.reasons(context=asked), campaign.ask(context=asked)
        assert pull is not None
        assert found.arm == pull.arm
        if found.means == "worth":
            allowed = [arm for arm in found.arms if n < 150 or arm.name in ("small", "large")]
            best = max(allowed, key=lambda arm: cast("float", arm.score))
            assert [arm.name for arm in found.arms if arm.leads] == [best.name]
            assert ("is worth most" in found.words) == (pull.arm == best.name)
            words.append(found.words)
        assert n < 150 or found.arms[0].words.endswith("where money is worth 0.")  # there is enough for "large"
        cost, reward = means[pull.arm]
        campaign.tell(pull, cost, reward + rng.gauss(0, 0.05))
    assert any(" is drawn for this request: " in each for each in words)


def test_what_each_segment_cost_and_earned() -> None:
    rng, campaign = random.Random(4), Campaign(["small", "large"], 100, context=KINDS, requests=200)
    slow: dict[str, list[float]] = {"a": [0, 0.0, 0.0], "b": [0, 0.0, 0.0]}
    for n in range(60):
        asked = request(rng)
        pull = campaign.ask(context=asked)
        assert pull is not None
        cost, reward = outcome(pull.arm, asked, rng)
        if n % 10 == 0:
            campaign.cancel(pull)
            continue
        slow[asked["tenant"]][0] += 1
        if n % 10 == 1:
            continue
        campaign.tell(pull, cost, reward)
        slow[asked["tenant"]][1] += cost
        slow[asked["tenant"]][2] += reward
    found = campaign.segments("tenant")
    assert {each.category: [each.pulls, each.spent, each.reward] for each in found} == slow
    assert sum(each.spent for each in found) == campaign.status().spent
    assert all(sum(each.arms.values()) == each.pulls for each in found)
    for name in ("length", "place", "nobody"):
        with pytest.raises(BadParameter, match=r"name of segments must be a name with categories: tenant; got"):
            campaign.segments(name)
    with pytest.raises(BadParameter, match="the context has no categories"):
        Campaign(["a"], 5, context=3).segments("tenant")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("length", "names of numbers, a mapping"),
        (0, "1 to 64 features in all; got 0"),
        (65, "1 to 64 features in all; got 65"),
        (2.5, "names of numbers, a mapping"),
        (True, "names of numbers, a mapping"),
        ([], "1 to 64 features in all; got 0"),
        ({}, "1 to 64 features in all; got 0"),
        (["a", "a"], "different names"),
        ({"v": 2, "v.1": "number"}, "names that no feature of a vector has, as v has v.1; got"),
        ([1, 2], "names of numbers, a mapping"),
        ([""], "printable characters; got ''"),
        ({"a": "numbre"}, r"context\['a'\] of Campaign must be \"number\""),
        ({"a": "number:0"}, r"the scale of context\['a'\] of Campaign must be a finite number|must be ≥ 1e-100"),
        ({"a": "number:1.5.2"}, 'must be "number"'),
        ({"a": "number:1e999"}, "a finite number"),
        ({"a": "number:-3"}, 'must be "number"'),
        ({"a": "hashed:1e1"}, 'must be "number"'),
        ({"a": {"u", "v"}}, 'must be "number"'),
        ({"a": {"x": 1}}, 'must be "number"'),
        ({"u", "v"}, "names of numbers"),
        ({"a": "number:x"}, "must be \"number\""),
        ({"a": "number:nan"}, 'must be "number"'),
        ({"a": "hashed"}, "must be \"number\""),
        ({"a": "hashed:0"}, "≥ 1"),
        ({"a": "hashed:2.5"}, 'must be "number"'),
        ({"a": []}, "different categories"),
        ({"a": ["x", "x"]}, "different categories"),
        ({"a": ["x", 1]}, "different categories"),
        ({"a": None}, r"context\['a'\] of Campaign"),
        ({"a": 0}, "≥ 1"),
        ({"a": 40, "b": "hashed:30"}, "got 70"),
    ],
)  # fmt: skip
def test_what_cannot_be_agreed_on(given: Any, said: str) -> None:
    with pytest.raises(BadParameter, match=said):
        Campaign(["a"], 5, context=given)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tenant": "c"}, r"^context\['tenant'\] of ask must be one of a, b; got 'c'$"),
        ({"tenant": None}, r"must be one of a, b; got None"),
        ({"tenant": ["a"]}, "must be one of a, b"),
        ({"tenant": np.array(["a"])}, r"must be one of a, b; got array\(\['a'\]"),
        ({"tenant": np.array(["a", "b"])}, "must be one of a, b"),
        ({"place": np.array(5.0)}, "a vector of 2 numbers"),
        ({"place": {1.0, 2.0}}, "a vector of 2 numbers"),
        ({"length": "long"}, r"^context\['length'\] of ask must be a finite number"),
        ({"length": float("nan")}, "finite number"),
        ({"length": 1e12}, "≤ 5e\\+08"),
        ({"place": [1.0]}, r"^context\['place'\] of ask must be a vector of 2 numbers; got '1 of them'$"),
        ({"place": "ab"}, "a vector of 2 numbers"),
        ({"place": [1.0, None]}, r"context\['place'\], number 2 of ask must be a finite number"),
        ({"words": 7}, "a word, or a list"),
        ({"words": ["a", 7]}, "a word, or a list"),
        ({"other": 1}, "and no other name; got 'other'"),
    ],
)
def test_what_cannot_be_asked(change: dict[str, Any], said: str) -> None:
    campaign, good = Campaign(["a", "b"], 5, context=KINDS), request(random.Random(0))
    with pytest.raises(BadParameter, match=said):
        campaign.ask(context=good | change)
    with pytest.raises(BadParameter, match=r"^context of ask_many must be a mapping with length, tenant, words and"):
        campaign.ask_many(3)
    with pytest.raises(BadParameter, match="context of ask must be a mapping"):
        next(iter(campaign))
    assert campaign.status().pulls == campaign.status().in_flight == 0


def test_what_does_not_go_together() -> None:
    with pytest.raises(BadParameter, match="context of ask must be left out: the campaign was opened without one"):
        Campaign(["a"], 5).ask(context={"x": 1})
    with pytest.raises(BadParameter, match="policy of Campaign must be one with features=2, as many as the context"):
        Campaign(["a"], 5, policies.LinearRation(3), context=2)
    with pytest.raises(BadParameter, match="arms of Campaign must be at most 156 with 64 features; got 157"):
        Campaign([str(arm) for arm in range(157)], 5, context=64)
    campaign = Campaign(["a", "b"], 5, "LinearRation", context=["x", "y"])
    assert campaign.policy == policies.LinearRation(features=2)
    with pytest.raises(CampaignConflict, match="learns by the context of each pull, which samples have not"):
        campaign.warm_start([("a", 1.0, 1.0)])


@pytest.mark.parametrize("policy", ["Thrifty", "Ration", "BTS", "Frugal"])
def test_a_policy_that_does_not_look_at_requests_chooses_as_without_a_context(policy: str, tmp_path: Path) -> None:
    terms: dict[str, Any] = {"arms": ["small", "large"], "budget": 100, "policy": policy, "requests": 200}
    store, rng = f"sqlite:///{tmp_path}/spend.db", random.Random(0)
    blind = Campaign(**terms)
    with Campaign(**terms, store=store, context=KINDS) as told:
        assert told.warm_start([("small", 0.25, 0.5)]) == blind.warm_start([("small", 0.25, 0.5)]) == 1
        for _ in range(60):
            asked = request(rng)
            pull, same = told.ask(context=asked), blind.ask()
            assert pull is not None
            assert same is not None
            assert (pull.arm, pull.reserved, pull.propensity) == (same.arm, same.reserved, same.propensity)
            cost, reward = outcome(pull.arm, asked, rng)
            told.tell(pull, cost, reward)
            blind.tell(same, cost, reward)
        assert all(pull.context is not None for pull in told.pulls())
        assert told.reasons(context=asked) == blind.reasons()
        assert sum(each.pulls for each in told.segments("tenant")) == 60
    assert verify(store).problems == ()
    assert len(Campaign([str(arm) for arm in range(157)], 5, policy, context=64).arms) == 157


def test_words_of_other_libraries_are_words() -> None:
    campaign = Campaign(["a"], 5, context={"tenant": np.array(["u", "v"]), "kind": ["x", np.str_("y")]})
    assert campaign.context == {"tenant": ("u", "v"), "kind": ("x", "y")}
    pull = campaign.ask(context={"tenant": np.str_("v"), "kind": "x"})
    assert pull is not None
    assert [each.context for each in campaign.pulls()] == [(0.0, 1.0, 1.0, 0.0)]


def test_terms_that_say_no_parameters_are_refused() -> None:
    opened = cast("Any", Campaign(["a"], 5, context=2))._state.opened
    given: list[Any] = [[], "features", None]
    for parameters in given:
        terms = msgspec.structs.replace(opened.terms, policy={"name": "LinearRation", "parameters": parameters})
        with pytest.raises(BadParameter, match="policy of Campaign must be a name and parameters"):
            check_terms(terms)


def test_another_context_is_another_campaign(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/spend.db"
    with Campaign(["a", "b"], 5, store=store, context={"x": "number", "t": ["u", "v"]}):
        pass
    with Campaign(["a", "b"], 5, store=store, context={"t": ["u", "v"], "x": "number"}) as same:
        assert same.ask(context={"x": 1, "t": "u"}) is not None
    with pytest.raises(CampaignConflict, match="is there already, with context"):
        Campaign(["a", "b"], 5, store=store, context={"x": "number:2", "t": ["u", "v"]})


def test_features_are_those_of_words_wherever_they_are_hashed() -> None:
    kinds = agreed_kinds({"url": "hashed:4"})
    assert features_of(cast("Any", kinds)) == 4
    assert encoded("ask", kinds, {"url": "outlay"}) == (0.0, 1.0, 0.0, 0.0)
    assert encoded("ask", kinds, {"url": []}) == (0.0, 0.0, 0.0, 0.0)
    several = encoded("ask", kinds, {"url": ["outlay", "budget", "arm", "outlay"]})
    alone = [np.array(encoded("ask", kinds, {"url": word})) for word in ("outlay", "budget", "arm", "outlay")]
    assert np.allclose(np.array(several), sum(alone) / 2)
