"""A policy that was renamed is found by its old name, wherever names are stored or typed."""

import shutil
from pathlib import Path

import pytest

from outlay import Campaign, knowledge, load, policies
from outlay.arms import catalogue
from outlay.errors import CampaignConflict
from outlay.experiments.setup.players import Player, player

ASSETS = Path(__file__).parents[1]


def test_in_python() -> None:
    old, unknown = "Uniform", "Nobody"
    assert policies.named(old) is getattr(policies, old) is policies.RoundRobin
    assert old not in policies.__all__
    assert not policies.RENAMED.keys() & policies.BY_NAME.keys()
    assert policies.named(unknown) is policies.named(None) is policies.named([old]) is None
    with pytest.raises(AttributeError, match=r"^module 'outlay\.policies' has no attribute 'Nobody'$"):
        getattr(policies, unknown)


@pytest.mark.parametrize("asked", ["Uniform", "uniform", "RoundRobin", "round-robin"])
def test_on_the_command_line(asked: str) -> None:
    assert knowledge.named_policies(catalogue.load("G"), [asked]) == {"RoundRobin": policies.RoundRobin()}


def test_in_an_experiment_file(tmp_path: Path) -> None:
    old, new = (player({"name": name}, 1, tmp_path) for name in ("Uniform", "RoundRobin"))
    assert old == new == Player("RoundRobin", "RoundRobin", {})
    assert player({"name": "Uniform", "label": "in turn"}, 1, tmp_path).label == "in turn"


def test_a_name_that_is_newer_than_the_ledger_is_a_policy_of_the_users_own() -> None:
    """0.1.0 had no RoundRobin: whoever ran one then had written it, and must bring it along."""
    assert policies.named("RoundRobin", "0.1.0") is None
    assert policies.named("RoundRobin", "no version") is policies.RoundRobin
    assert policies.named("RoundRobin", "0.2.0") is policies.named("Uniform", "0.1.0") is policies.RoundRobin


def test_in_a_saved_result() -> None:
    assert load(ASSETS / "assets" / "0.1.0" / "result.parquet").policies["06 Uniform"] == policies.RoundRobin()


@pytest.mark.parametrize("name", ["Uniform", "RoundRobin"])
def test_in_a_ledger(name: str, tmp_path: Path) -> None:
    """A campaign that an older version opened is opened again under either name, and under no other policy."""
    store = f"sqlite:///{tmp_path}/ledger.db"
    shutil.copy(ASSETS / "campaign" / "assets" / "ledger-0001.db", tmp_path / "ledger.db")
    with Campaign(["only"], 5, name, store, name="closed", unit="0.01", ttl=None) as campaign:
        assert campaign.status().policy == "Uniform", "as it was agreed"
    with pytest.raises(CampaignConflict, match=r"with policy Uniform\(\), not "):
        Campaign(["only"], 5, "Greedy", store, name="closed", unit="0.01", ttl=None)
