"""Policies of users' own in a ledger: memories that bytes cannot hold, parameters that can and cannot be kept."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from outlay.campaign import Campaign, verify
from outlay.campaign.stores import transaction
from outlay.errors import CampaignConflict
from tests.campaign.busy import asked


class Held(NamedTuple):
    """A memory in one array of any kind, and a policy that takes turns."""

    array: Any

    def observe(self, arm: int, cost: float, reward: float) -> None:
        self.array[arm] = (cost, reward)

    def belief(self, arm: int) -> Any:
        return self.array[arm]

    def full(self) -> bool:
        return False


class Turns(NamedTuple):
    """A policy with such a memory."""

    dtype: Any = "O"

    def memory(self, arms: int) -> Held:
        dtype = "O" if self.dtype == "O" else [(name, float) for name in self.dtype]
        return Held(np.empty(arms, dtype=dtype))

    def choose(self, memory: Held, now: Any, rng: Any) -> int:
        return int(now.pulls) % len(memory.array)


class With(NamedTuple):
    """A policy with a parameter."""

    value: Any

    def score(self, belief: Any, log_n: float) -> float:
        return 0.0


@pytest.mark.parametrize("dtype", ["O", ["cost", "reward"]])
def test_memories_that_bytes_cannot_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: Any) -> None:
    monkeypatch.setattr(transaction, "EVERY", 4)
    store, policy = f"sqlite:///{tmp_path}/a.db", Turns(dtype)
    for _ in range(2):
        with Campaign(["a", "b"], 99, policy, store) as campaign:
            for n in range(5):
                pull = asked(campaign)
                campaign.tell(pull, cost=1, reward=n)
    assert verify(store, policy=policy).problems == ()


@pytest.mark.parametrize("value", [(1, 2), [(1.5,), "x"], With((1,)), {"a": 1}, None, True, 2**60])
def test_parameters_that_come_back(tmp_path: Path, value: Any) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    Campaign(["a"], 9, With(value), store).disconnect()
    Campaign(["a"], 9, With(value), store).disconnect()
    Campaign.open(store, policy=With(value)).disconnect()
    with pytest.raises(CampaignConflict, match="with policy With"):
        Campaign(["a"], 9, With("y"), store)
