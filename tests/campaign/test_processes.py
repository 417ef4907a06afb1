"""Several processes on one file, forks, and callers that are interrupted or come too late."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from outlay.campaign import Campaign
from outlay.campaign.ledger.events import Asked, Told
from outlay.errors import StoreError
from tests.campaign.busy import asked
from tests.campaign.checker import checked
from tests.campaign.worker import TERMS, Noted, Workers, together


@pytest.mark.parametrize("pulls", [10, pytest.param(200, marks=pytest.mark.soak)])
def test_processes_on_one_file(workers: Workers, tmp_path: Path, pulls: int) -> None:
    """Each makes its pulls, the first of all makes the tables, and the ledger has every step once."""
    store, notes = f"sqlite:///{tmp_path}/a.db", tmp_path / "notes"
    arguments = [(store, str(notes), str(i), 2, pulls, None) for i in range(4)]
    children = [workers.start("tests.campaign.worker.spend", *each) for each in arguments]
    assert [workers.wait(child) for child in children] == [0] * 4
    noted, records = Noted.read(notes), checked(store)
    noted.check(records)
    assert not noted.refused
    assert len(noted.told) == sum(isinstance(record.event, Told) for record in records) == 4 * 2 * pulls


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgresql"])
@pytest.mark.parametrize("forks", [8, pytest.param(500, marks=pytest.mark.soak)])
def test_a_fork_does_no_harm(
    workers: Workers, request: pytest.FixtureRequest, tmp_path: Path, kind: str, forks: int
) -> None:
    """It can neither ask nor read with what it was born with; a new campaign can be opened there, except on SQLite."""
    store: str | None = f"sqlite:///{tmp_path}/a.db"
    if kind != "sqlite":
        store = None if kind == "memory" else request.getfixturevalue("postgres_url")
    workers.run("tests.campaign.test_processes.fork_often", store, forks)
    if store is None:
        return
    records = checked(store)
    asked = [record.event.key for record in records if isinstance(record.event, Asked)]
    assert len(asked) == sum(isinstance(record.event, Told) for record in records)
    assert asked.count("child") == 0
    assert sum(key is not None for key in asked) == (forks if kind == "postgresql" else 0)


def fork_often(store: str | None, forks: int) -> None:
    """In a process of its own: ask and tell in a thread, and fork meanwhile."""
    over = False

    def work() -> None:
        while not over:
            asked(campaign).tell(1, 0.5)

    def fork() -> None:
        nonlocal over
        try:
            for i in range(forks):
                time.sleep(0.003)
                child = os.fork()
                if not child:
                    os._exit(forked(campaign, store, str(i)))
                assert os.waitpid(child, 0)[1] == 0
        finally:
            over = True

    with Campaign(**TERMS, store=store) as campaign:
        together([work, fork])


def forked(campaign: Campaign, store: str | None, key: str) -> int:
    """0 where all was as it should be."""
    try:
        uses: list[Callable[[], object]] = [
            lambda: campaign.ask("child"),
            campaign.status,
            lambda: [*campaign.history()],
        ]
        for use in uses:
            with pytest.raises(StoreError, match="a campaign cannot be used in a forked process"):
                use()
        assert (
            repr(campaign)
            == "<Campaign 'default': a campaign cannot be used in a forked process: open it after forking>"
        )
        campaign.disconnect()
        if store is not None and store.startswith("sqlite"):
            with pytest.raises(
                StoreError, match="was open when this process was forked, where SQLite loses data: open"
            ):
                Campaign(**TERMS, store=store)
            return 0
        with Campaign(**TERMS, store=store) as mine:
            asked(mine, key).tell(1, 0.5)
    except BaseException as error:
        print(repr(error), file=sys.stderr, flush=True)
        return 1
    return 0


def test_disconnect_while_others_ask(tmp_path: Path) -> None:
    """Each ask is answered or refused; what was answered is in the ledger."""
    store = f"sqlite:///{tmp_path}/a.db"
    campaign = Campaign(**TERMS, store=store)
    answered: list[int] = []
    refusals: list[str] = []

    def work() -> None:
        try:
            while pull := campaign.ask():
                answered.append(pull.id)
        except StoreError as error:
            refusals.append(str(error))

    def leave() -> None:
        while not answered:
            time.sleep(0.001)
        campaign.disconnect()

    together([leave, *[work] * 8])
    assert refusals == ["the campaign was disconnected: open it anew"] * 8
    assert sorted(answered) == [record.seq for record in checked(store) if isinstance(record.event, Asked)]
