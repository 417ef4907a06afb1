"""A problem: the arms between which a budget is to be divided, and what is true of them."""

import math
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn, Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from outlay.arms.law import AnyLaw, Moments, checked, support_of
from outlay.arms.problem_file import read, written
from outlay.checks import Vector
from outlay.errors import BadFile, BadParameter
from outlay.files import checked_path, reading, writing
from outlay.markup import html_table
from outlay.parameters import Record

_SHOWN, _ROWS = 12, 50  # arms in a repr, and in a notebook's table
_TIE = 1e-12  # rates that differ by less, relative to the largest, are equal: only rounding tells them apart
_ROUNDING = 1e-9  # how far |Cov| may exceed √(Var X·Var R), relatively, for the same reason


class SecondMoments(TypedDict):
    """Second moments over arms; typed so that `UCBB1(**problem.second_moments())` is understood."""

    var_cost: Vector
    var_reward: Vector
    cov: Vector


class Bounds(TypedDict):
    """Bounds on |cost| and |reward|."""

    cost_bound: float
    reward_bound: float


class Problem:
    """Arms with their laws of (cost, reward), in a fixed order.

    The rate of an arm is r = E[R]/E[X]; the best arm has the largest rate r*; the gap of an arm is r* − r. Rates within
    1e-12·|r*| of r* are ties that rounding has parted: they count as r*, so that their gaps are exactly 0.

    Args:
        arms: laws, from `outlay.arms` or your own; every mean cost must be > 0.
        names: one name per arm; "arm 0", "arm 1", … if not given.

    >>> from outlay.arms import Constant, Gaussian
    >>> problem = Problem([Gaussian(1.0, 0.5, 0.1, 0.1), Constant(2.0, 1.8)], names=["a", "b"])
    >>> problem.rates, problem.best, problem.gaps
    (array([0.5, 0.9]), 1, array([0.4, 0. ]))
    """

    arms: tuple[AnyLaw, ...]
    names: tuple[str, ...]
    _moments: NDArray[np.float64]  # [moment, arm]

    def __init__(self, arms: Iterable[AnyLaw], names: Sequence[str] | None = None) -> None:
        laws = _checked_arms(arms)
        labels = tuple(f"arm {i}" for i in range(len(laws))) if names is None else _checked_names(names, len(laws))
        moments = np.array([_checked_moments(law, name) for law, name in zip(laws, labels, strict=True)])
        vars(self).update(arms=laws, names=labels, _moments=_frozen(moments.T.copy()))

    @property
    def mean_costs(self) -> Vector:
        """E[X] of each arm."""
        return self._moments[0]  # type: ignore[no-any-return]

    @property
    def mean_rewards(self) -> Vector:
        """E[R] of each arm."""
        return self._moments[1]  # type: ignore[no-any-return]

    @cached_property
    def rates(self) -> Vector:
        """E[R]/E[X] of each arm; r* itself for an arm within 1e-12·|r*| of it."""
        rates = self.mean_rewards / self.mean_costs
        largest = rates.max()
        return _frozen(np.where(rates >= largest - _TIE * abs(largest), largest, rates))

    @property
    def rate(self) -> float:
        """r*, the largest rate: what a unit of budget is worth."""
        return float(self.rates[self.best])

    @property
    def best(self) -> int:
        """Index of the first arm with the largest rate."""
        return int(np.argmax(self.rates))

    @cached_property
    def gaps(self) -> Vector:
        """r* − r of each arm; exactly 0 for every arm that ties with the best."""
        return _frozen(self.rate - self.rates)

    def second_moments(self) -> SecondMoments:
        """Variances and covariances over arms, as the policies that know them take them: `UCBB1(**…)`."""
        var_cost, var_reward, cov = self._moments[2:]
        return {"var_cost": var_cost, "var_reward": var_reward, "cov": cov}

    def bounds(self) -> Bounds:
        """Largest |cost| and |reward| of any arm (inf if unbounded), as `UCBB2(**…)` takes them."""
        boxes = np.abs([support_of(law) for law in self.arms])
        return {"cost_bound": float(boxes[:, :2].max()), "reward_bound": float(boxes[:, 2:].max())}

    def to_toml(self) -> str:
        """The problem as TOML text; user-defined laws are refused with `BadFile`."""
        return written(self.arms, self.names)

    @classmethod
    def from_toml(cls, text: str) -> Self:
        r"""The problem in a TOML text; `BadFile` says in one sentence what is wrong with it.

        >>> Problem.from_toml('format = 1\n[[arms]]\nlaw = "Constant"\ncost = 2\nreward = 1')
        Problem([Constant(cost=2.0, reward=1.0)])
        """
        if not isinstance(text, str):
            raise BadParameter("from_toml", "text", "a string", text)
        arms, names = read(text)
        try:
            return cls(arms, names)
        except BadParameter as error:
            raise BadFile(str(error)) from None

    def save(self, path: str | Path) -> None:
        """Write the problem to a TOML file."""
        text, target = self.to_toml(), checked_path("save", path)
        with writing(target):
            target.write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a problem from a TOML file."""
        source = checked_path("load", path)
        try:
            with reading(source):
                text = source.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise BadFile(f"{source} is not a text file in UTF-8") from None
        try:
            return cls.from_toml(text)
        except BadFile as error:
            raise BadFile(f"{source}: {error}") from None

    def __len__(self) -> int:
        return len(self.arms)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Problem) or self.names != other.names:
            return False
        return all(map(Record.__eq__, self.arms, other.arms))  # type: ignore[arg-type]

    def __hash__(self) -> int:
        return hash((self.names, *map(Record.__hash__, self.arms)))  # type: ignore[arg-type]

    def __repr__(self) -> str:
        default = all(name == f"arm {i}" for i, name in enumerate(self.names))
        names = "" if default else f", names={_shortened(self.names)}"
        return f"{type(self).__name__}({_shortened(self.arms)}{names})"

    def _repr_html_(self) -> str:
        columns = zip(self.names, self.arms, self.mean_costs, self.mean_rewards, self.rates, self.gaps, strict=True)
        rows = [(name, repr(law), *(f"{x:.4g}" for x in numbers)) for name, law, *numbers in islice(columns, _ROWS)]
        more = len(self) - len(rows)
        caption = f"{len(self):,} arms, the best is {self.names[self.best]}" + f"; {more:,} are not shown" * (more > 0)
        headings = ("arm", "law of (cost, reward)", "mean cost", "mean reward", "rate", "gap")
        return html_table(headings, rows, caption, left=2)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.arms, self.names)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Problem cannot be changed; make a new one with another {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a Problem cannot be changed")


def checked_problem(owner: str, problem: Any) -> Problem:
    """The problem itself; else `BadParameter`.

    >>> checked_problem("rates", None)
    Traceback (most recent call last):
    outlay.errors.BadParameter: problem of rates must be an outlay.Problem; got None
    """
    if not isinstance(problem, Problem):
        raise BadParameter(owner, "problem", "an outlay.Problem", problem)
    return problem


def _checked_arms(arms: Any) -> tuple[AnyLaw, ...]:
    if not isinstance(arms, Iterable) or hasattr(arms, "_fields"):
        raise BadParameter("Problem", "arms", "a sequence of laws", arms)
    laws = tuple(checked("Problem", f"arm {i}", law) for i, law in enumerate(arms))
    if not laws:
        raise BadParameter("Problem", "arms", "a sequence of at least one law", arms)
    return laws


def _checked_names(names: Any, count: int) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise BadParameter("Problem", "names", "a sequence of strings", names)
    names = tuple(names)
    if len(names) != count:
        raise BadParameter("Problem", "names", f"{count}, as many as arms", len(names))
    seen: set[str] = set()
    for i, name in enumerate(names):
        if not isinstance(name, str) or not name.strip() or any(unicodedata.category(c) in ("Cc", "Cs") for c in name):
            raise BadParameter("Problem", f"name {i}", "a string, not blank and without control characters", name)
        if name in seen:
            raise BadParameter("Problem", f"name {i}", "unlike the others", name)
        seen.add(name)
    return tuple(map(str, names))


def _checked_moments(law: AnyLaw, arm: str) -> Moments:
    given: Any = law.moments()
    try:
        moments = Moments(*map(float, given))
    except (TypeError, ValueError):
        raise BadParameter("Problem", f"the moments of {arm!r}", "five numbers", given) from None
    if not 0.0 < moments.mean_cost < math.inf:
        raise BadParameter("Problem", f"the mean cost of {arm!r}", "a finite number > 0", moments.mean_cost)
    if not math.isfinite(moments.mean_reward):
        raise BadParameter("Problem", f"the mean reward of {arm!r}", "a finite number", moments.mean_reward)
    if not (moments.var_cost >= 0.0 and moments.var_reward >= 0.0 and not math.isnan(moments.cov)):
        raise BadParameter("Problem", f"the variances of {arm!r}", "≥ 0, with a covariance", moments[2:])
    # Variances below 1e-300 have lost digits; a covariance may come from E[XR] − E[X]·E[R].
    most = math.sqrt(max(moments.var_cost, 1e-300)) * math.sqrt(max(moments.var_reward, 1e-300))
    if abs(moments.cov) > most * (1.0 + _ROUNDING) + 1e-12 * abs(moments.mean_cost * moments.mean_reward):
        allowed = f"within ±√(Var(cost)·Var(reward)) = ±{most:.6g}"
        raise BadParameter("Problem", f"the covariance of {arm!r}", allowed, moments.cov)
    return moments


def _frozen(array: Vector) -> Vector:
    array.setflags(write=False)
    return array


def _shortened(items: tuple[Any, ...]) -> str:
    """Like repr of a list, with the middle of a long one left out."""
    if len(items) <= _SHOWN:
        return repr(list(items))
    shown = [*map(repr, items[: _SHOWN // 2]), f"<{len(items) - _SHOWN} more>", *map(repr, items[-_SHOWN // 2 :])]
    return f"[{', '.join(shown)}]"
