"""Two services on one PostgreSQL: one cap, one set of keys, and an answer from either."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import httpx2
import pytest

from outlay import Client
from outlay.campaign import verify
from outlay.errors import ServiceError
from outlay.service import auth
from outlay.service.auth import KeyStore
from tests.campaign.conftest import postgres_server, postgres_url
from tests.service.conftest import POLICY, running

__all__ = ["postgres_server", "postgres_url"]
pytestmark = pytest.mark.soak


def test_one_cap_and_one_set_of_keys(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "FRESH", 0.0)
    key_store = KeyStore(postgres_url)
    token, key = key_store.new("workers", ["admin"])
    with running(postgres_url) as one, running(postgres_url) as other:
        with Client(one, "shared", key=token) as client:
            client.create({"a": Decimal("0.5"), "b": 1}, 30, POLICY, mode="hard")

        def work(address: str) -> int:
            done = 0
            with Client(address, "shared", key=token) as client:
                for pull in client:
                    client.tell(pull, cost=Decimal("0.3"), reward=1)
                    done += 1
            return done

        with ThreadPoolExecutor(6) as pool:
            pulls = sum(pool.map(work, [one, other] * 3))
        with Client(other, "shared", key=token) as client:
            status = client.status()
        assert status.exact.spent == pulls * Decimal("0.3")
        assert Decimal("29") < status.exact.spent <= 30
        assert httpx2.get(f"{one}/readyz").status_code == 200
        key_store.revoke(key.id)
        for address in (one, other):
            with Client(address, "shared", key=token) as client, pytest.raises(ServiceError, match="no_key"):
                client.status()
    assert len(key_store.entries()) == 1
    key_store.close()
    assert verify(postgres_url, "shared").ok
