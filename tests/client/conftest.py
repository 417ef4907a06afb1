"""Clients are tested against the service, on the same stores."""

from tests.service.conftest import begun, book, store

__all__ = ["begun", "book", "store"]
