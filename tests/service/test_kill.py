"""kill -9 of the server under load, again and again: what was acknowledged is there once, and the budget is exact."""

import socket
from decimal import Decimal

import pytest

from outlay import Campaign
from outlay import client as clients
from tests.service.conftest import POLICY, Load, Served

WORKERS = 8


@pytest.mark.parametrize("kills", [1, pytest.param(100, marks=pytest.mark.soak)])
def test_kills_under_load_lose_nothing(store: str, kills: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "LONGEST", 0.5)
    with Campaign(["a", "b"], 1000, POLICY, store=store, name="killed", reservation=0.001, first_pulls=None):
        pass
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    served = Served(store, "--port", str(port))
    load = Load("killed", [served.address] * WORKERS, Decimal("0.001"))
    for _ in range(kills):
        load.wait_for(3 * WORKERS)
        served.process.kill()
        served.process.communicate()
        served = Served(store, "--port", str(port))
    load.stop()
    served.stop()
    load.check(store)
