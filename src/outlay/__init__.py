"""outlay spends a budget well.

Several options (arms) are open; each use of one costs something random and returns something random. outlay decides
which to use next so that the total reward is as large as it can be when the budget runs out.

>>> import outlay
>>> problem = outlay.Problem([outlay.arms.Gaussian(cost=1.0, reward=0.9, cost_sd=0.3, reward_sd=0.2, correlation=0.5),
...                           outlay.arms.Bernoulli(cost=0.5, reward=0.3)], names=["steady", "cheap"])
>>> problem.names[problem.best]
'steady'
"""

import importlib
from typing import TYPE_CHECKING

from outlay._version import __version__
from outlay.errors import OutlayError

if TYPE_CHECKING:
    from outlay import advice, arms, campaign, experiments, policies, report, theory
    from outlay.arms.problem import Problem
    from outlay.beliefs import Belief
    from outlay.campaign import Campaign
    from outlay.engine import Result, load, simulate

__all__ = [
    "Belief",
    "Campaign",
    "OutlayError",
    "Problem",
    "Result",
    "__version__",
    "advice",
    "arms",
    "campaign",
    "experiments",
    "load",
    "policies",
    "report",
    "simulate",
    "theory",
]  # fmt: skip

# Where each public name lives; found on first use, so that `import outlay` and `outlay --help` load no compiler.
_HOMES = {
    "Belief": "outlay.beliefs",
    "Campaign": "outlay.campaign",
    "Problem": "outlay.arms",
    "Result": "outlay.engine",
    "load": "outlay.engine",
    "simulate": "outlay.engine",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in __all__:
        return importlib.import_module(f"outlay.{name}")
    raise AttributeError(f"module 'outlay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
