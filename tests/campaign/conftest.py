"""Shared by tests of campaigns: a PostgreSQL server with an empty database for each test, and processes to kill."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.campaign.busy import busy, exported
from tests.campaign.postgres import Server, unavailable
from tests.campaign.worker import Workers


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """A server for this worker process's tests; one that is to crash starts a `Server` of its own."""
    if reason := unavailable():
        pytest.skip(reason)
    with Server() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: Server) -> Iterator[str]:
    """Where SQLAlchemy finds an empty database, of a name that no other test had."""
    name = f"test_{uuid4().hex}"
    yield postgres_server.lend_database(name)
    postgres_server.take_back(name)


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    """The address of an empty store: SQLite, or as the parameter says; None for memory."""
    kind = getattr(request, "param", "sqlite")
    if kind == "postgresql":
        return str(request.getfixturevalue("postgres_url"))
    return None if kind == "memory" else f"sqlite:///{tmp_path}/a.db"


@pytest.fixture(params=["memory", "sqlite"])
def memory_or_file(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    """The address of an empty store, which is in memory or on SQLite."""
    return None if request.param == "memory" else f"sqlite:///{tmp_path}/a.db"


@pytest.fixture(scope="session")
def workers() -> Iterator[Workers]:
    """Processes that can be killed, forked from one that has imported everything."""
    with Workers() as workers:
        yield workers


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with a campaign in which everything happened."""
    store = f"sqlite:///{tmp_path_factory.mktemp('source')}/spend.db"
    busy(store)
    return store


@pytest.fixture(scope="session")
def content(source: str) -> bytes:
    return exported(source)
