"""bursar spends a budget well.

Several options (arms) are open; each use of one costs something random and returns something random. bursar decides
which to use next so that the total reward is as large as it can be when the budget runs out.

>>> import bursar
>>> problem = bursar.Problem([bursar.arms.Gaussian(cost=1.0, reward=0.9, cost_sd=0.3, reward_sd=0.2, correlation=0.5),
...                           bursar.arms.Bernoulli(cost=0.5, reward=0.3)], names=["steady", "cheap"])
>>> problem.names[problem.best]
'steady'
"""

import importlib
from typing import TYPE_CHECKING

from bursar._version import __version__
from bursar.errors import BursarError

if TYPE_CHECKING:
    from bursar import advice, arms, campaign, experiments, policies, report, theory
    from bursar.arms.problem import Problem
    from bursar.beliefs import Belief
    from bursar.campaign import Campaign
    from bursar.engine import Result, load, simulate

__all__ = [
    "Belief", "BursarError", "Campaign", "Problem", "Result", "__version__", "advice", "arms", "campaign",
    "experiments", "load", "policies", "report", "simulate", "theory",
]  # fmt: skip

# Where each public name lives; found on first use, so that `import bursar` and `bursar --help` load no compiler.
_HOMES = {
    "Belief": "bursar.beliefs",
    "Campaign": "bursar.campaign",
    "Problem": "bursar.arms",
    "Result": "bursar.engine",
    "load": "bursar.engine",
    "simulate": "bursar.engine",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in __all__:
        return importlib.import_module(f"bursar.{name}")
    raise AttributeError(f"module 'bursar' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
