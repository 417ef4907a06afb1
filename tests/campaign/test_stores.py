"""The contract of stores: memory and databases keep to it, and it finds out a store that does not."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from outlay.campaign.ledger.events import Command, Open
from outlay.campaign.records import Reply
from outlay.campaign.stores.base import Clock, Store
from outlay.campaign.stores.memory import MemoryLedger
from outlay.campaign.stores.transaction import SqlLedger
from outlay.testing import StoreContract


class TestMemory(StoreContract):
    def make_store(self, opening: Open, clock: Clock) -> Store:
        return MemoryLedger(opening, clock=clock)


class TestSqlite(StoreContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.address = f"sqlite:///{tmp_path}/ledger.db"

    def make_store(self, opening: Open, clock: Clock) -> Store:
        return SqlLedger(self.address, opening.name, opening, clock=clock)


class TestPostgres(TestSqlite):
    @pytest.fixture(autouse=True)
    def _folder(self, postgres_url: str) -> None:
        self.address = postgres_url


class Forgetful(MemoryLedger):
    """Loses what a batch wrote after its first event."""

    def transact(self, commands: Sequence[Command], timeout: float | None = None) -> list[Reply]:
        replies = super().transact(commands, timeout)
        del self._records[2:]
        return replies


class Deaf(MemoryLedger):
    """Answers every batch with the reply to its first command."""

    def transact(self, commands: Sequence[Command], timeout: float | None = None) -> list[Reply]:
        return super().transact(commands, timeout)[:1] * len(commands)


@pytest.mark.parametrize(
    ("kind", "reason"), [(Forgetful, "the records must be"), (Deaf, "the replies must be")], ids=["forgetful", "deaf"]
)
def test_the_contract_finds_out_who_does_not_keep_to_it(kind: type[MemoryLedger], reason: str) -> None:
    class Wrong(StoreContract):
        def make_store(self, opening: Open, clock: Clock) -> Store:
            return kind(opening, clock=clock)

    with pytest.raises(AssertionError, match=reason):
        Wrong().test_a_batch_is_its_commands_one_by_one()


def test_a_contract_without_a_store() -> None:
    with pytest.raises(NotImplementedError, match=r"StoreContract must define make_store\(opening, clock\)"):
        StoreContract().test_closing_again_does_nothing()
