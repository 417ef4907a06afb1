"""Clients are tested against the service, on the same stores."""

from tests.service.conftest import begun, key_store, store

__all__ = ["begun", "key_store", "store"]
