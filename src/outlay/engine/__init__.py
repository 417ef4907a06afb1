"""The simulator: policies on problems at machine speed, and what came of it."""

from outlay.engine.result import Result, load
from outlay.engine.simulation import simulate

__all__ = ["Result", "load", "simulate"]
