"""The simulator: policies on problems at machine speed."""

from outlay.engine.simulation import simulate

__all__ = ["simulate"]
