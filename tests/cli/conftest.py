"""Shared by tests of the command line."""

from functools import partial
from pathlib import Path

import pytest
from tests.cli import campaign_runs

from outlay import Campaign


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> campaign_runs.Run:
    """Run `outlay` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return campaign_runs.ran


@pytest.fixture
def outlay(ask: campaign_runs.Run, monkeypatch: pytest.MonkeyPatch) -> campaign_runs.Run:
    """Run `outlay campaign` in an empty folder."""
    monkeypatch.delenv("OUTLAY_STORE", raising=False)
    return partial(ask, "campaign")


@pytest.fixture(scope="session")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that NEW and an ask make."""
    path = tmp_path_factory.mktemp("begun") / "outlay.db"
    with Campaign(["a", "b"], 5, store=f"sqlite:///{path}") as campaign:
        campaign.ask()
    return path
