"""Logs of past pulls, on disk or in memory: a row for each, with its arm, cost and reward."""

from outlay.logs.columns import Columns, NoColumn
from outlay.logs.reader import Stretch, name_of, stretches

__all__ = ["Columns", "NoColumn", "Stretch", "name_of", "stretches"]
