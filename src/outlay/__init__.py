"""outlay spends a budget well.

Several options (arms) are open; each use of one costs something random and returns something random. outlay decides
which to use next so that the total reward is as large as it can be when the budget runs out.

>>> import outlay
>>> problem = outlay.Problem([outlay.arms.Gaussian(cost=1.0, reward=0.9, cost_sd=0.3, reward_sd=0.2, correlation=0.5),
...                           outlay.arms.Bernoulli(cost=0.5, reward=0.3)], names=["steady", "cheap"])
>>> problem.names[problem.best]
'steady'
"""

from typing import TYPE_CHECKING

from outlay._version import __version__
from outlay.errors import OutlayError
from outlay.lazily import lazily

if TYPE_CHECKING:
    from outlay import advice, arms, campaign, experiments, policies, report, results, theory
    from outlay.arms.problem import Problem
    from outlay.beliefs import Belief
    from outlay.campaign import Campaign
    from outlay.client import AsyncClient, Client
    from outlay.engine import simulate
    from outlay.results import Result, load

__all__ = [
    "AsyncClient",
    "Belief",
    "Campaign",
    "Client",
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
    "results",
    "simulate",
    "theory",
]  # fmt: skip

__getattr__, __dir__ = lazily(
    __name__,  # `import outlay` and `outlay --help` load no compiler
    {
        "outlay.arms": "Problem arms",
        "outlay.beliefs": "Belief",
        "outlay.campaign": "Campaign campaign",
        "outlay.client": "AsyncClient Client",
        "outlay.engine": "simulate",
        "outlay.results": "Result load results",
        **{f"outlay.{room}": room for room in ("advice", "experiments", "policies", "report", "theory")},
    },
)
