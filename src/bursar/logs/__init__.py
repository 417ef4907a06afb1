"""Logs of past pulls, on disk or in memory: a row for each, with its arm, cost and reward."""

from bursar.logs.columns import Columns, NoColumn
from bursar.logs.reader import Stretch, name_of, stretches

__all__ = ["Columns", "NoColumn", "Stretch", "name_of", "stretches"]
