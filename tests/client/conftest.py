"""Clients are tested against the service, on the same stores."""

from typing import Any

from outlay import Client
from outlay.campaign.pull import ClientPull
from tests.service.conftest import begun, key_store, store

__all__ = ["asked", "begun", "key_store", "store"]


def asked(client: Client, **named: Any) -> ClientPull:
    """The next pull of a campaign that has not ended."""
    pull = client.ask(**named)
    assert pull is not None
    return pull
