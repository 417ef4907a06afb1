"""Experiments from a file: TOML says what to play, results are kept by content. docs/experiments.md has the format.

    experiment = load("experiment.toml")
    outcome = run(experiment, "folder")        # plays what `folder` does not hold yet, writes the reports
    for point, result in results(experiment, "folder"):
        ...

Names are imported when they are used, so that loading an experiment loads no compiler.
"""

from typing import TYPE_CHECKING

from outlay import lazily

if TYPE_CHECKING:
    from outlay.experiments.calibrate import estimate
    from outlay.experiments.play import Outcome, results, run
    from outlay.experiments.setup.file import Experiment, is_experiment, load
    from outlay.experiments.setup.plan import points_of

__all__ = ["Experiment", "Outcome", "estimate", "is_experiment", "load", "points_of", "results", "run"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "outlay.experiments.calibrate": "estimate",
        "outlay.experiments.play": "Outcome results run",
        "outlay.experiments.setup.file": "Experiment is_experiment load",
        "outlay.experiments.setup.plan": "points_of",
    },
)
