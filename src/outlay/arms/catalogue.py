"""Problems with a name: instances to compare policies on, each hard in its own way.

>>> load("G").best
0
>>> print(describe("near-tie"))
two Gaussian arms whose rates differ by one percent, and three worse ones
"""

from collections.abc import Callable
from pathlib import Path

from outlay.arms.bounded import Beta, Uniform
from outlay.arms.continuous import Gaussian, Linear, Lognormal, Pareto, StudentT
from outlay.arms.finite import Bernoulli, Discrete
from outlay.arms.law import AnyLaw
from outlay.arms.problem import Problem
from outlay.arms.problem_file import Resolve
from outlay.checks import checked_path, reading
from outlay.errors import BadParameter
from outlay.text import meant
from outlay.usercode import find_class

_Entry = tuple[str, Callable[[], list[AnyLaw]]]  # in a line what it is; its arms


def names() -> tuple[str, ...]:
    """The names that `load` knows."""
    return tuple(_ENTRIES)


def load(name: str) -> Problem:
    """The problem of this name."""
    _, arms = _entry(name)
    return Problem(arms())


def find(text: str, owner: str = "compare") -> Problem:
    """A problem of the catalogue by its name, else the TOML file at that path; laws that it names are beside it."""
    if text in names():
        return load(text)
    path = checked_path(owner, text)
    with reading(path):
        exists = bool(text.strip()) and path.exists()
    if not exists:
        allowed = f"a TOML file or a name from the catalogue ({', '.join(names())})"
        raise BadParameter(owner, "problem", allowed + meant(path.name, names()), text)
    return Problem._read(path, beside(path.parent))


def beside(folder: Path) -> Resolve:
    """Find laws that a file names as `module:Name` or `file.py:Name` in its folder; this runs that code."""
    return lambda reference: find_class("the arm", "law", reference, folder)


def describe(name: str) -> str:
    """One line about the problem of this name."""
    return _entry(name)[0]


def _entry(name: object) -> _Entry:
    if not isinstance(name, str) or name not in _ENTRIES:
        raise BadParameter("catalogue", "name", f"one of {', '.join(_ENTRIES)}", name)
    return _ENTRIES[name]


def _bernoulli_h() -> list[AnyLaw]:
    costs = (0.25, 0.50, 0.30, 0.45, 0.25, 0.65, 0.40, 0.25, 0.95, 0.60)
    rewards = (0.50, 0.80, 0.45, 0.60, 0.30, 0.70, 0.40, 0.20, 0.90, 0.10)
    return [Bernoulli(cost, reward) for cost, reward in zip(costs, rewards, strict=True)]


def _gaussian5(correlation: float) -> list[AnyLaw]:
    costs, rates = (1.0, 1.2, 0.8, 1.0, 1.5), (1.0, 0.8, 0.7, 0.6, 0.4)
    return [Gaussian(cost, cost * rate, cost / 2, 0.5, correlation) for cost, rate in zip(costs, rates, strict=True)]


def _thousand_arms() -> list[AnyLaw]:
    """Costs 0.5 to 2 and rates 0.2 to 1, spread evenly by two irrational rotations."""

    def arm(k: int) -> Gaussian:
        cost, rate = 0.5 + 1.5 * (k * 5**0.5 % 1.0), 0.2 + 0.8 * (k * 2**0.5 % 1.0)
        return Gaussian(cost, cost * rate, cost / 2, 0.5)

    return [arm(k) for k in range(1, 1001)]


_ENTRIES: dict[str, _Entry] = {
    "G": (
        "three correlated Gaussian arms",
        lambda: [
            Gaussian(1.0, 1.5, 0.5, 0.5, 0.6),
            Gaussian(0.8, 1.0, 0.4, 0.5, 0.5),
            Gaussian(1.2, 1.2, 0.5, 0.6, 2 / 3),
        ],
    ),
    "H": ("ten independent Bernoulli arms", _bernoulli_h),
    "gaussian5": ("five uncorrelated Gaussian arms with rates from 1 to 0.4", lambda: _gaussian5(0.0)),
    "strong-correlation": ("gaussian5 with correlation 0.9 in every arm", lambda: _gaussian5(0.9)),
    "heavy-tails": (
        "Pareto, Student, lognormal and linear arms with 2.2 to 3 moments",
        lambda: [
            Lognormal(1.0, 1.0, 1.0, 0.8, 0.5),
            Pareto(0.8, 0.7, 2.5, 2.5),
            StudentT(1.2, 0.9, 0.8, 0.6, 2.5, 0.4),
            Linear(Pareto(1.0, 1.0, 3.0), 0.5, 0.1, 0.3),
            Pareto(1.5, 0.6, 3.0, 2.2),
        ],
    ),
    "negative-costs": (
        "arms whose costs are often negative, with positive means",
        lambda: [
            Gaussian(0.4, 0.5, 1.0, 0.5, -0.5),
            Gaussian(0.5, 0.6, 1.0, 1.0, 0.7),
            Uniform(-1.0, 2.0, -0.5, 1.1, 0.5),
            StudentT(0.5, 0.4, 1.0, 0.5, 4.0),
            Discrete([-1.0, 2.0], [0.1, 0.1], [0.4, 0.6]),
        ],
    ),
    "near-tie": (
        "two Gaussian arms whose rates differ by one percent, and three worse ones",
        lambda: [Gaussian(1.0, rate, 0.5, 0.5) for rate in (0.99, 1.0, 0.8, 0.6, 0.4)],
    ),
    "thousand-arms": ("a thousand Gaussian arms with rates from 0.2 to 1", _thousand_arms),
    "bounded": (
        "Bernoulli, Beta, uniform and discrete arms on [0, 1], correlated",
        lambda: [
            Bernoulli(0.5, 0.4, 0.4),
            Beta(0.4, 0.36, 0.2, 0.2, 0.6),
            Uniform(0.2, 1.0, 0.0, 0.8, 0.7),
            Discrete([0.1, 0.5, 1.0], [0.0, 0.3, 0.9], [0.3, 0.4, 0.3]),
            Beta(0.6, 0.3, 0.4, 0.15, -0.3),
        ],
    ),
}
