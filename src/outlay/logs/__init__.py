"""Logs of past pulls, on disk or in memory: one row per pull, with its arm, cost and reward."""

from outlay.logs.columns import OTHER, Columns, More, NoColumn
from outlay.logs.reader import Stretch, name_of, stretches
from outlay.logs.sources import Source

__all__ = ["OTHER", "Columns", "More", "NoColumn", "Source", "Stretch", "name_of", "stretches"]
