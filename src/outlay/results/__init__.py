"""What came of a simulation: arrays, regret, Parquet files, notebooks."""

from outlay.results.result import Result, load

__all__ = ["Result", "load"]
