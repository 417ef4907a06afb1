"""What another policy would have earned: against sums made by hand, and against the truth where that is known."""

import asyncio
import random
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pytest

from outlay import Campaign, policies
from outlay.advice import advise
from outlay.campaign import Shadow, verify
from outlay.errors import BadParameter
from outlay.formulas.argmax import Counts, Now
from outlay.service.streams import write_csv
from tests.campaign.test_contexts import KINDS, outcome, request, tangle

WORTH = {"small": 0.3, "large": 0.6}
PRICE = {"small": 0.25, "large": 1.0}


class Coin(NamedTuple):
    """One arm of two with a chance of `share`, whatever is known."""

    share: float = 0.3

    def choose(self, memory: Any, now: Now, rng: np.random.Generator) -> int:
        return int(rng.random() < self.share)


class SureCoin(NamedTuple):
    """The same; it says its chances."""

    share: float = 0.3

    def choose(self, memory: Any, now: Now, rng: np.random.Generator) -> int:
        return int(rng.random() < self.share)

    def chances(self, memory: Any, arms: Counts, now: Now) -> Any:
        return np.array([1.0 - self.share, self.share])[arms]


class Second(NamedTuple):
    """Always the second arm."""

    def choose(self, memory: Any, now: Now, rng: np.random.Generator) -> int:
        return 1


def played(policy: Any, pulls: int, seed: int = 0, **terms: Any) -> Campaign:
    rng = random.Random(seed)
    campaign = Campaign(["small", "large"], **{"budget": 10_000, "policy": policy, "seed": seed} | terms)
    for _ in range(pulls):
        pull = campaign.ask()
        assert pull is not None
        campaign.tell(pull, PRICE[pull.arm], rng.random() < WORTH[pull.arm])
    return campaign


@pytest.mark.parametrize("policy", ["Thrifty", "Ration", "Frugal", Second()])
def test_the_policy_in_charge_would_have_earned_what_it_did(policy: Any) -> None:
    campaign = played(policy, 60, requests=100)
    found = campaign.shadow(policy)
    status = campaign.status()
    assert (found.requests, found.same, found.basis) == (60, 60, "outcomes")
    assert found.gain is not None
    assert (found.gain.value, found.gain.low, found.gain.high) == (0.0, 0.0, 0.0)
    assert found.reward == found.other_reward == pytest.approx(status.reward / 60)
    assert found.cost == found.other_cost == pytest.approx(status.spent / 60)


@pytest.mark.parametrize("policy", [Coin(), SureCoin()])
def test_what_chance_tells_is_weighed_by_hand(policy: Any) -> None:
    campaign = played(policy, 150)
    found = campaign.shadow(Second())
    sums, total, costs, matched = [0.0, 0], 0.0, 0.0, 0
    every = [0.0, 0]
    for pull in campaign.pulls():
        assert pull.reward is not None
        large = pull.arm == "large"
        guess = sums[0] / sums[1] if sums[1] else every[0] / every[1] if every[1] else 0.0
        seen = 1.0 if sums[1] else 0.25 if every[1] else 0.0
        weight = large / 0.3
        total += guess + weight * (pull.reward - guess)
        costs += seen + weight * (1.0 - seen) * (sums[1] == 0)
        matched += large
        if large:
            sums = [sums[0] + pull.reward, sums[1] + 1]
        every = [every[0] + pull.reward, every[1] + 1]
    assert (found.same, found.by_chance, found.by_model, found.basis) == (matched, 150 - matched, 0, "chance")
    tolerance = 1e-9 if isinstance(policy, SureCoin) else 0.05  # which is estimated from 100 draws for each request
    assert found.other_reward == pytest.approx(total / 150, abs=tolerance)
    assert found.other_cost == pytest.approx(costs / 150, abs=tolerance)


def test_intervals_hold_the_truth() -> None:
    """Of 80 intervals of 95 % at least 66 hold it: fewer do by chance with a probability below 1e-5."""
    held = 0
    for seed in range(80):
        campaign = played(SureCoin(), 120, seed)
        pulled = [pull.arm for pull in campaign.pulls()]
        gain = cast("Any", campaign.shadow(Second()).gain)
        truth = np.mean([WORTH["large"] - WORTH[arm] for arm in pulled])
        held += gain.low <= truth <= gain.high
        assert gain.high - gain.low < 0.8
    assert held >= 66


def test_where_nothing_is_left_to_chance_the_words_say_so() -> None:
    """Thrifty does not hear of requests, so what a model says of its arms is right on average."""
    rng = random.Random(0)
    campaign = Campaign(["small", "large"], 400, "Ration", requests=800, context={"tenant": ["a", "b"]})
    for _ in range(600):
        tenant = rng.choice("ab")
        pull = campaign.ask(context={"tenant": tenant})
        assert pull is not None
        good = 0.9 if (pull.arm, tenant) == ("large", "a") else 0.4
        campaign.tell(pull, PRICE[pull.arm], rng.random() < good)
    found = campaign.shadow()
    assert (found.policy, found.other, found.basis, found.by_chance) == ("Ration", "LinearRation", "model", 0)
    assert found.same + found.by_model + found.unserved == found.requests == 600
    assert found.by_model > 50
    assert found.gain is not None
    assert found.gain.low is not None
    assert found.gain.low > 0.0
    assert found.other_cost == pytest.approx(0.5, abs=0.03)
    assert "nobody can know what that would have brought" in found.words
    assert "95 %: +" in found.words


def test_an_arm_that_was_never_pulled_is_unknown() -> None:
    campaign = played(Second(), 50)
    found = campaign.shadow({"name": "Fixed", "parameters": {"arm": 0}})
    assert (found.by_model, found.unknown) == (50, ("small",))
    assert (found.gain, found.other_reward, found.other_cost) == (None, None, None)
    assert "Too little is known of small" in found.words
    nothing = Campaign(["a", "b"], 5).shadow("Ration")
    assert (nothing.requests, nothing.gain, nothing.words) == (0, None, "No request has an outcome yet.")
    few = played(Coin(), 10).shadow(Second())
    assert few.gain is not None
    assert few.gain.low is None
    assert "too few differ for an interval" in few.words


def test_it_spends_from_a_budget_of_its_own() -> None:
    campaign = played({"name": "Fixed", "parameters": {"arm": 0}}, 100, budget=30)  # which costs 0.25 each
    campaign.warm_start([("large", 1.0, 1.0)] * 5)
    found = campaign.shadow(Second())
    assert (found.same, found.by_model + found.unserved, found.requests) == (0, 100, 100)
    dear = played(Coin(0.5), 100, budget=60)
    found = dear.shadow(Second())
    assert 34 <= found.unserved <= 40  # it has 60 at 1 each; less is reckoned before the first of them was told
    assert "its budget is spent" in found.words


@pytest.mark.parametrize(
    "more",
    [
        {"expiry": "charge", "reward_within": 0.001, "missing_reward": 0.25},
        {"mode": "hard", "reservation": 1.0, "fallback": "small", "budget": 40},
        {"window": "day", "policy": "Ration"},
        {"policy": "BTS"},
        {"policy": "LinTS"},
    ],
    ids=repr,
)
@pytest.mark.parametrize("other", ["LinearRation", "Thrifty", "LinTS", "BTS"])
def test_all_that_can_happen_to_pulls(
    tmp_path: Path, more: dict[str, Any], other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger on disk tells what one in memory does, and is left as it was; the next choices are the same."""
    monkeypatch.setattr("outlay.campaign.shadow.DRAWS", 10)  # nothing is said here of how near estimates come
    terms: dict[str, Any] = {
        "arms": ["small", "large"], "budget": 900, "context": KINDS, "requests": 3000, "first_pulls": None,
        "propensity_draws": 2,
    }  # fmt: skip
    store = f"sqlite:///{tmp_path}/spend.db"
    with Campaign(store=store, **terms | more) as campaign:
        tangle(campaign, 0, 60)
        campaign.add_arm("medium")
        tangle(campaign, 1, 60)
        if more.get("policy") == "Ration":
            campaign.warm_start([("small", 0.25, 1.0)] * 3)
        tangle(campaign, 2, 40)
        before = campaign.history().listed()
        found = campaign.shadow(other)
        assert campaign.shadow(other) == found
        assert campaign.history().listed() == before
        known = [pull for pull in campaign.pulls() if pull.reward is not None and not pull.fallback]
        assert found.requests == len(known)
        assert found.same + found.by_chance + found.by_model + found.unserved == found.requests
        assert found.reward == pytest.approx(np.mean([cast("float", pull.reward) for pull in known]))
        assert found.cost == pytest.approx(np.mean([cast("float", pull.cost) for pull in known]))
    assert verify(store).ok


def test_what_cannot_look_at_these_requests() -> None:
    blind = Campaign(["a", "b"], 5)
    with pytest.raises(BadParameter, match="policy of shadow must be one that needs no context: the campaign has none"):
        blind.shadow(policies.LinearRation(2))
    with pytest.raises(BadParameter, match="policy of shadow must be one with features=3"):
        Campaign(["a", "b"], 5, context=3).shadow(policies.LinearRation(2))
    with pytest.raises(BadParameter, match="policy of Campaign must be one of"):
        blind.shadow("Thrify")
    with pytest.raises(BadParameter, match="policy of shadow must be a NamedTuple"):
        blind.shadow(cast("Any", 7))


def test_awaited() -> None:
    campaign = played("Thrifty", 20)
    found = asyncio.run(campaign.ashadow("Ration"))
    assert isinstance(found, Shadow)
    assert found == campaign.shadow("Ration")


def test_one_that_hears_of_requests_beside_one_that_does_not() -> None:
    """What LinearRation learns of the outcomes of another policy's pulls is what it learns of its own."""
    rng, terms = random.Random(0), {"arms": ["small", "large"], "budget": 300, "requests": 600, "context": KINDS}
    campaign = Campaign(**cast("Any", terms), propensity_draws=0)
    for _ in range(200):
        asked = request(rng)
        pull = campaign.ask(context=asked)
        assert pull is not None
        campaign.tell(pull, *outcome(pull.arm, asked, rng))
    found = campaign.shadow("LinearRation")
    assert found.same + found.by_chance >= 195  # rounding of what it has spent may move it
    assert found.gain is not None
    assert abs(found.gain.value) < 0.1


def test_a_campaign_s_log_says_whether_contexts_would_pay(tmp_path: Path) -> None:
    """Named columns and chances, without anything to be done by hand; what pulls under way have is left out."""
    rng = random.Random(0)
    campaign = Campaign(["small", "large"], 10_000, SureCoin(0.5), context={"tenant": ["a", "b"], "arm": "number"})
    for n in range(600):
        tenant = rng.choice("ab")
        pull = campaign.ask(context={"tenant": tenant, "arm": n % 7})
        assert pull is not None
        good = 0.9 if (pull.arm, tenant) == ("large", "a") else 0.4
        if n % 100 != 50:
            campaign.tell(pull, PRICE[pull.arm], rng.random() < good)
    path = tmp_path / "pulls.csv"
    with path.open("wb") as file:
        write_csv(campaign, file)
    columns = "context.tenant", "context.arm"
    found = advise(path, budget=300, requests=500, context=columns, chance="propensity", rehearse=False).contexts
    assert found is not None
    assert (found.basis, found.requests) == ("chances in the log", 594)
    assert found.gain is not None
    assert found.gain.low > 0.0
