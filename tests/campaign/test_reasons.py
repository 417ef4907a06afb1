"""Why an arm comes next: the reasons name the arm that is asked next, and their numbers decide it."""

import math
from pathlib import Path

import numpy as np
import pytest

from outlay import Campaign
from outlay.campaign.reasons import Reasons
from outlay.policies import Thrifty
from outlay.policies.baselines import GaussianThompson
from tests.campaign.busy import asked

WORTH = {"a": (0.5, 0.9), "b": (1.0, 0.4), "c": (2.0, 1.9), "d": (0.7, 0.2)}  # mean cost and reward


def told(campaign: Campaign, rng: np.random.Generator) -> str | None:
    pull = campaign.ask()
    if pull is None:
        return None
    cost, reward = WORTH[pull.arm]
    pull.tell(cost * rng.uniform(0.5, 1.5), float(rng.random() < reward / 2))
    return pull.arm


def check(found: Reasons, campaign: Campaign) -> None:
    """The weights lead to the choice: that of the policy's formula."""
    sampled = {arm.name: arm.pulls for arm in campaign.status().arms}
    compared = {arm.name: arm for arm in found.arms if arm.evidence is not None and arm.enough is not None}
    excess = {name: arm.evidence - arm.enough for name, arm in compared.items()}  # type: ignore[operator]
    first = found.arms[0]
    assert first.name == found.arm
    if first.leads:
        assert all(more > 0 for more in excess.values())
    elif sampled[first.name] and first.name in excess:
        assert excess[first.name] == min(excess.values())
        assert excess[first.name] <= 0
        assert "may yet be better" in found.words


@pytest.mark.parametrize(
    ("policy", "requests"),
    [("Frugal", None), ("Thrifty", None), (Thrifty(horizon="unknown"), None), ("KLRate", None), ("Ration", 150)],
)
def test_the_reasons_name_the_next_arm_and_their_numbers_decide_it(policy: object, requests: int | None) -> None:
    campaign = Campaign(list(WORTH), 90, policy, seed=3, requests=requests)  # type: ignore[arg-type]
    rng, roles = np.random.default_rng(2), set()
    for _ in range(120):
        found = campaign.reasons()
        before = campaign.status().events
        check(found, campaign)
        roles.add(found.arms[0].leads if found.arm else None)
        assert campaign.status().events == before
        arm = told(campaign, rng)
        if arm is None:
            break
        assert found.arm == arm
    assert {True, False} <= roles


def test_a_mix_is_told_as_one() -> None:
    campaign = Campaign({"small": 0.2, "large": 2.0}, 60, "Ration", requests=200)
    for _ in range(40):
        pull = asked(campaign)
        pull.tell(*((0.1, 0.4) if pull.arm == "small" else (1.0, 0.9)))
    found = campaign.reasons()
    assert {arm.name for arm in found.arms if arm.leads} == {"small", "large"}
    assert "small and large together" in found.words


@pytest.mark.parametrize(("policy", "means"), [("Fieller", "score"), (GaussianThompson(), "chance")])
def test_other_policies_say_what_they_go_by(policy: object, means: str) -> None:
    campaign = Campaign(["a", "b"], 1000, policy)  # type: ignore[arg-type]
    rng = np.random.default_rng(2)
    for _ in range(40):
        told(campaign, rng)
    found = campaign.reasons()
    assert found.means == means
    scores = {arm.name: arm.score for arm in found.arms}
    assert all(score is not None for score in scores.values())
    if means == "score":
        assert max(scores, key=lambda name: scores[name] or -math.inf) == found.arm
    else:
        assert sum(score or 0.0 for score in scores.values()) == pytest.approx(1.0)


def test_nothing_comes_next_at_the_end_and_before_a_sample_nothing_is_weighed(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    with Campaign({"a": 1, "b": 1}, 10, "Frugal", store=store, name="x") as campaign:
        found = campaign.reasons()
        assert found.arm in ("a", "b")
        assert found.untried == 2
        assert {arm.words for arm in found.arms} == {"Never tried."}
        campaign.close()
        assert campaign.reasons().arm is None
        assert campaign.status().events == 2
        with pytest.raises(ValueError, match="most of reasons must be"):
            campaign.reasons(0)
