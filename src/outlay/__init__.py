"""outlay spends a budget well.

Several options (arms) are open; each use of one costs something random and returns something random. outlay decides
which to use next so that the total reward is as large as it can be when the budget runs out.

>>> import outlay
>>> problem = outlay.Problem([outlay.arms.Gaussian(cost=1.0, reward=0.9, cost_sd=0.3, reward_sd=0.2, correlation=0.5),
...                           outlay.arms.Bernoulli(cost=0.5, reward=0.3)], names=["steady", "cheap"])
>>> problem.names[problem.best]
'steady'
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from outlay.errors import OutlayError, needed

if TYPE_CHECKING:
    from outlay import advice, arms, campaign, experiments, policies, report, results, theory
    from outlay.arms.problem import Problem
    from outlay.beliefs import Belief
    from outlay.campaign import Campaign
    from outlay.client import AsyncClient, Client
    from outlay.engine.simulate import simulate
    from outlay.results import Result, load

__version__ = "0.3.0"

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


def lazily(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names are imported on first use: `dir` and the Tab key show all.

    Args:
        package: the package, `__name__` in its `__init__.py`.
        homes: from a module to the names that come from it, with spaces between them; a package that offers one of its
            subpackages lists it under the subpackage itself.

    >>> look_up, names = lazily("outlay", {"outlay.errors": "BadFile BadParameter"})
    >>> look_up("BadFile"), [name for name in names() if name.startswith("Bad")]
    (<class 'outlay.errors.BadFile'>, ['BadFile', 'BadParameter'])
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def look_up(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with needed(f"{package}.{name}".removeprefix("outlay.")):
            module = import_module(home_of[name])
        return module if home_of[name] == f"{package}.{name}" else getattr(module, name)

    return look_up, lambda: sorted({*sys.modules[package].__all__, *home_of})


__getattr__, __dir__ = lazily(
    __name__,  # `import outlay` and `outlay --help` load no compiler
    {
        "outlay.arms": "Problem arms",
        "outlay.beliefs": "Belief",
        "outlay.campaign": "Campaign campaign",
        "outlay.client": "AsyncClient Client",
        "outlay.engine.simulate": "simulate",
        "outlay.results": "Result load results",
        **{f"outlay.{room}": room for room in ("advice", "experiments", "policies", "report", "theory")},
    },
)
