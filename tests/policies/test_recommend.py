"""What is known → which policy, with a reason of one sentence, and what contradicts the samples is refused."""

from typing import Any

import pytest

from outlay import policies
from outlay.beliefs import Belief
from outlay.errors import BadParameter

MOMENTS: dict[str, Any] = {"var_cost": [0.04, 0.05], "var_reward": 0.09, "cov": 0.01}
SEEN = Belief(0, 10, 0.5, 0.8, 0.1, 0.1, 0.0)


def test_the_default_needs_nothing() -> None:
    assert policies.default() == policies.Thrifty() == policies.recommend().policy


@pytest.mark.parametrize(
    ("known", "policy"),
    [
        ({}, policies.Thrifty()),
        ({"reward_bound": 1.0, "cost_bound": 2.0}, policies.Thrifty()),
        ({"tails": "heavy"}, policies.Thrifty()),
        ({"second_moments": MOMENTS, "tails": "light"}, policies.FiellerKnown(**MOMENTS)),
        ({"second_moments": MOMENTS, "tails": "heavy"}, policies.Thrifty()),
        ({"guarantee": True}, policies.Thrifty()),
        ({"guarantee": True, "reward_bound": 2.0}, policies.Frugal(reward_bound=2.0)),
        ({"guarantee": True, "second_moments": MOMENTS}, policies.CatoniRate(**MOMENTS)),
        ({"guarantee": True, "second_moments": MOMENTS, "tails": "light"}, policies.CatoniRate(**MOMENTS)),
        (
            {"guarantee": True, "reward_bound": 2.0, "cost_bound": 3.0, "costs_can_be_negative": True},
            policies.BernsteinRate(6.0, 4.0),
        ),
        ({"guarantee": True, "reward_bound": 2.0, "costs_can_be_negative": True}, policies.Thrifty()),
        ({"requests": 100}, policies.Ration(requests=100)),
        ({"requests": 100, "reward_bound": 2.0, "guarantee": True}, policies.Ration(requests=100)),
        (
            {"requests": 100, "reward_bound": 2.0, "costs": [0.5]},
            policies.Ration(costs=[0.5], reward_bound=2.0, requests=100),
        ),
    ],
    ids=str,
)
def test_what_is_known_decides(known: dict[str, Any], policy: Any) -> None:
    found = policies.recommend([SEEN], **known)
    assert found.policy == policy
    assert found.reason
    assert "\n" not in found.reason
    assert not found.reason.endswith(".")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"guarantee": "no"}, "guarantee of recommend must be True or False; got 'no'"),
        (
            {"second_moments": {}},
            "second_moments of recommend must be None or a dict of var_cost, var_reward and cov; got {}",
        ),
        ({"requests": 0}, "requests of recommend must be > 0; got 0"),
        ({"costs": [0.5]}, "costs of recommend must be None where requests have no limit; got [0.5]"),
        ({"tails": "fat"}, "tails of recommend must be one of light, heavy; got 'fat'"),
        ({"cost_bound": 0.4}, "cost_bound of recommend must be at least what arm 0 has had on average, 0.5; got 0.4"),
        (
            {"reward_bound": 0.7},
            "reward_bound of recommend must be at least what arm 0 has had on average, 0.8; got 0.7",
        ),
    ],
    ids=str,
)
def test_what_is_wrong_is_one_sentence(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadParameter) as caught:
        policies.recommend([SEEN], **wrong)
    assert str(caught.value) == sentence


def test_samples_that_contradict_the_sign_of_costs() -> None:
    with pytest.raises(BadParameter, match=r"costs_can_be_negative .* True: arm 0 has cost -0.5 on average; got False"):
        policies.recommend([SEEN._replace(mean_cost=-0.5)])
    assert policies.recommend([SEEN._replace(mean_cost=-0.5)], costs_can_be_negative=True).policy == policies.default()


@pytest.mark.parametrize("beliefs", [SEEN, [1, 2], 3, None], ids=str)
def test_beliefs_are_a_sequence_of_them(beliefs: Any) -> None:
    with pytest.raises(BadParameter, match="beliefs of recommend must be a sequence of Belief, one for each arm; got "):
        policies.recommend(beliefs)
