"""The simulator: policies on problems at machine speed, and what came of it."""

from bursar.engine.result import Result, load
from bursar.engine.simulation import simulate

__all__ = ["Result", "load", "simulate"]
