"""Programs that call the service: `Client` and `AsyncClient`, with the verbs of `Campaign`."""

from typing import TYPE_CHECKING

from outlay import lazily

if TYPE_CHECKING:
    from outlay.client.clients import AsyncClient, Client

__all__ = ["AsyncClient", "Client"]

__getattr__, __dir__ = lazily(__name__, {"outlay.client.clients": "AsyncClient Client"})
