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
    from outlay.experiments.file import Experiment, is_experiment, load
    from outlay.experiments.plan import points_of
    from outlay.experiments.play import Outcome, estimate, results, run

__all__ = ["Experiment", "Outcome", "estimate", "is_experiment", "load", "points_of", "results", "run"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "outlay.experiments.play": "estimate Outcome results run",
        "outlay.experiments.file": "Experiment is_experiment load",
        "outlay.experiments.plan": "points_of",
    },
)
