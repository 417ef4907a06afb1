"""Experiments from a file: what to play as TOML, results kept by content, reports. docs/experiments.md has the format.

    experiment = read("experiment.toml")
    outcome = run(experiment, "folder")        # plays what `folder` does not hold yet, writes the reports
    for point, result in results(experiment, "folder"):
        ...

Names are looked up when used, so that reading about them loads no compiler.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from outlay.experiments.calibrate import estimate
    from outlay.experiments.file import Experiment, is_experiment, read
    from outlay.experiments.plan import points_of
    from outlay.experiments.play import Outcome, results, run

__all__ = ["Experiment", "Outcome", "estimate", "is_experiment", "points_of", "read", "results", "run"]

_HOMES = {
    "Experiment": "file",
    "Outcome": "play",
    "estimate": "calibrate",
    "is_experiment": "file",
    "points_of": "plan",
    "read": "file",
    "results": "play",
    "run": "play",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
