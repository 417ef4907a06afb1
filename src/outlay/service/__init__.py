"""Campaigns over HTTP: `outlay serve`. A thin layer over `Campaign`: check the key, call one method, answer in JSON.

What can be set about it is declared here: the command line reads that without a web framework.
"""

from typing import TYPE_CHECKING, NamedTuple

from outlay import lazily

if TYPE_CHECKING:
    from outlay.service.app import application
    from outlay.service.openapi import document
    from outlay.service.server import serve

__all__ = ["ServiceSettings", "application", "document", "serve"]

LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")


class ServiceSettings(NamedTuple):
    """How the service runs.

    Args:
        store: the address of the campaigns' database.
        host: the address to listen on; beyond this machine only with keys.
        port: the port; 0 for any that is free.
        hosts: the names by which the service may be called, as in `https://budget.example.com`; empty: this machine's
            own where it listens on loopback, any otherwise.
        most_bytes: the largest body of a request.
        most_active: requests with a key that may be under way; more are refused, with 503.
        most_streams: event streams that may be open.
        trusted_proxy: the address of a proxy whose word about schemes and callers is taken; None where there is none.
        warn_at: shares of a budget, as 0.8: a warning is made when so much is spent.
        webhook: where warnings are sent, beside the log; None for nowhere.
        webhook_secret: what they are signed with.
        log_all: log every request, not only those that fail or change something.
        trace: make a span of each request, for OpenTelemetry.
    """

    store: str = "sqlite:///outlay.db"
    host: str = "127.0.0.1"
    port: int = 8700
    hosts: tuple[str, ...] = ()
    most_bytes: int = 1 << 20
    most_active: int = 2000
    most_streams: int = 100
    trusted_proxy: str | None = None
    warn_at: tuple[float, ...] = ()
    webhook: str | None = None
    webhook_secret: str = ""
    log_all: bool = False
    trace: bool = False

    @property
    def on_loopback(self) -> bool:
        """Whether only programs on this machine can call it."""
        return self.host in LOOPBACK


__getattr__, __dir__ = lazily(
    __name__,
    {
        "outlay.service.app": "application",
        "outlay.service.openapi": "document",
        "outlay.service.server": "serve",
    },
)
