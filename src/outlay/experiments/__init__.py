"""Experiments from a file: what to play as TOML, results kept by content, reports. docs/experiments.md has the format.

    experiment = read("experiment.toml")
    outcome = run(experiment, "folder")        # plays what `folder` does not hold yet, writes the reports
    for point, result in results(experiment, "folder"):
        ...

Names are looked up when used, so that reading about them loads no compiler.
"""

from typing import TYPE_CHECKING

from outlay.lazily import lazily

if TYPE_CHECKING:
    from outlay.experiments.calibrate import estimate
    from outlay.experiments.play import Outcome, results, run
    from outlay.experiments.setup.file import Experiment, is_experiment, read
    from outlay.experiments.setup.plan import points_of

__all__ = ["Experiment", "Outcome", "estimate", "is_experiment", "points_of", "read", "results", "run"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "outlay.experiments.calibrate": "estimate",
        "outlay.experiments.play": "Outcome results run",
        "outlay.experiments.setup.file": "Experiment is_experiment read",
        "outlay.experiments.setup.plan": "points_of",
    },
)
