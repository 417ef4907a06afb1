"""A problem: the arms between which a budget is to be divided, what is true of them, and what is refused."""

import copy
import math
import operator
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn, Self, SupportsIndex, TypedDict

import numpy as np
from numpy.typing import NDArray

from outlay.arms.law import AnyLaw, LawMoments, check_law, support_of
from outlay.arms.problem_file import Resolve, read, written
from outlay.checks import Vector, checked_path, reading, real, writing
from outlay.errors import BadCode, BadFile, BadParameter, NotCovered, UnknownArm
from outlay.parameters import equal, hashable, is_record
from outlay.tables import Table
from outlay.text import counted, meant
from outlay.usercode import Returned, classes_by_name, is_own, pair_of, try_once, what_failed

_PAIR = Returned("a pair of finite numbers, as in `return cost, reward`", pair_of)
_ROUNDING = 1e-9  # how far |Cov| may exceed √(Var X·Var R), relatively: only rounding can make it do so
_SHOWN, _ROWS = 12, 50  # arms in a repr, and in a notebook's table
_TIE = 1e-12  # rates that differ by less, relative to the largest, are equal: only rounding tells them apart


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

    It can be read like a list of its laws, and by name like a dict: `problem[0]`, `problem["cheap"]`, `for law in
    problem`. The rate of an arm is r = E[R]/E[X]; the best arm has the largest rate r*; the gap of an arm is r* − r.
    Rates within 1e-12·|r*| of r* are ties that rounding has separated: they count as r*, so that their gaps are exactly
    0. An arm that costs nothing on average has no rate: a problem may have such arms beside one that costs something,
    for `theory.fluid`, but whatever reads a rate refuses them.

    Args:
        arms: laws, from `outlay.arms` or your own; at least one mean cost must be > 0.
        names: one name per arm; "arm 0", "arm 1", … if not given.

    >>> from outlay.arms import Constant, Gaussian
    >>> problem = Problem([Gaussian(1.0, 0.5, 0.1, 0.1), Constant(2.0, 1.8)], names=["a", "b"])
    >>> problem.rates, problem.best, problem.gaps
    (array([0.5, 0.9]), 1, array([0.4, 0. ]))
    >>> problem["b"], problem[-1] == problem["b"], [law.cost for law in problem]
    (Constant(cost=2.0, reward=1.8), True, [1.0, 2.0])
    >>> len(problem), "a" in problem, Constant(2.0, 1.8) in problem, "c" in problem
    (2, True, True, False)
    >>> problem["c"]
    Traceback (most recent call last):
    outlay.errors.UnknownArm: there is no arm 'c' in this problem: it has 2 arms, of other names
    """

    arms: tuple[AnyLaw, ...]
    names: tuple[str, ...]
    later: "tuple[tuple[float, Problem], ...]" = ()
    _moments: NDArray[np.float64]  # [moment, arm]

    def __init__(self, arms: Iterable[AnyLaw], names: Sequence[str] | None = None) -> None:
        laws = checked_arms(arms)
        labels = tuple(f"arm {i}" for i in range(len(laws))) if names is None else checked_names(names, len(laws))
        moments = np.array([checked_moments(law, name) for law, name in zip(laws, labels, strict=True)])
        if not (moments[:, 0] > 0.0).any():
            checked_costs("Problem", moments[:, 0], labels)
        vars(self).update(arms=laws, names=labels, _moments=_frozen(moments.T.copy()))

    @classmethod
    def changing(cls, pieces: "Iterable[tuple[float, Problem]]") -> Self:
        """A problem whose arms change: pairs of the spending from which on a problem holds, and that problem.

        A change takes place with the pull by which a run has spent more than that: every run begins with the first
        problem, from 0 on. All have as many arms, of the same names. What the problem says of itself (`rates`, `best`,
        …) is said of its first piece; `later` has the others. It is for `simulate`, on threads, with budgets alone;
        theory, bounds and advice are about arms that stay what they are, and refuse it.

        >>> from outlay.arms import Constant
        >>> before, after = Problem([Constant(1, 3), Constant(1, 2)]), Problem([Constant(1, 1), Constant(1, 2)])
        >>> problem = Problem.changing([(0, before), (100, after)])
        >>> problem.best, problem.later[0][1].best, problem.starts
        (0, 1, array([  0., 100.]))
        """
        made = checked_pieces(pieces)
        changing = cls(made[0][1].arms, made[0][1].names)
        vars(changing).update(later=made[1:])
        return changing

    @property
    def pieces(self) -> "tuple[Problem, ...]":
        """The problems that hold one after another; where nothing changes, the problem alone."""
        first = Problem(self.arms, self.names) if self.later else self
        return first, *(piece for _, piece in self.later)

    @property
    def starts(self) -> Vector:
        """What has been spent when each piece begins: the first at 0."""
        return np.array([0.0, *(start for start, _ in self.later)])

    @property
    def laws(self) -> tuple[AnyLaw, ...]:
        """The laws of all arms, piece after piece."""
        return (*self.arms, *(law for _, piece in self.later for law in piece.arms))

    @property
    def world(self) -> Any:
        """What the simulator draws from: the laws."""
        return self.laws

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

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
        """E[R]/E[X] of each arm; r* itself for an arm within 1e-12·|r*| of it. Every mean cost must be > 0."""
        checked_costs("rates", self.mean_costs, self.names)
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
        checked_problem("second_moments", self, free=True)
        var_cost, var_reward, cov = self._moments[2:]
        return {"var_cost": var_cost, "var_reward": var_reward, "cov": cov}

    def bounds(self) -> Bounds:
        """Largest |cost| and |reward| of any arm (inf if unbounded), as `UCBB2(**…)` takes them."""
        boxes = np.abs([support_of(law) for law in self.laws])
        return {"cost_bound": float(boxes[:, :2].max()), "reward_bound": float(boxes[:, 2:].max())}

    def to_toml(self) -> str:
        """The problem as TOML text; a law of your own is written by name, with its arguments and what it knows."""
        return written([(start, piece.arms) for start, piece in zip(self.starts, self.pieces, strict=True)], self.names)

    @classmethod
    def from_toml(cls, text: str, laws: Iterable[type] = ()) -> Self:
        r"""The problem in a TOML text; `BadFile` says in one sentence what is wrong with it.

        Nothing is imported. A law of your own comes back as itself if its class is among `laws`, and else by name: its
        moments are known, and it cannot be drawn from.

        >>> Problem.from_toml('format = 1\n[[arms]]\nlaw = "Constant"\ncost = 2\nreward = 1')
        Problem([Constant(cost=2.0, reward=1.0)])
        """
        if not isinstance(text, str):
            raise BadParameter("from_toml", "text", "a string", text)
        return cls._resolved(text, classes_by_name("from_toml", "laws", laws).get)

    @classmethod
    def _resolved(cls, text: str, resolve: Resolve) -> Self:
        pieces, names = read(text, resolve)
        try:
            made = [(start, cls(arms, names)) for start, arms in pieces]
            return cls.changing(made) if len(made) > 1 else made[0][1]
        except BadParameter as error:
            raise BadFile(str(error)) from None

    def save(self, path: str | Path) -> None:
        """Write the problem to a TOML file."""
        text, target = self.to_toml(), checked_path("save", path)
        with writing(target):
            target.write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path, laws: Iterable[type] = ()) -> Self:
        """Read a problem from a TOML file; `laws` has the classes of your own laws, as `from_toml` does."""
        return cls._read(checked_path("load", path), classes_by_name("load", "laws", laws).get)

    @classmethod
    def _read(cls, source: Path, resolve: Resolve) -> Self:
        try:
            with reading(source):
                text = source.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise BadFile(f"{source} is not a text file in UTF-8") from None
        try:
            return cls._resolved(text, resolve)
        except BadFile as error:
            raise BadFile(f"{source}: {error}") from None

    def __len__(self) -> int:
        return len(self.arms)

    def __iter__(self) -> Iterator[AnyLaw]:
        return iter(self.arms)

    def __getitem__(self, arm: SupportsIndex | str) -> AnyLaw:
        """The law of an arm, by its position (from the end where negative) or by its name."""
        if isinstance(arm, str):
            if arm in self._positions:
                return self.arms[self._positions[arm]]
            raise UnknownArm(arm, f"it has {counted(len(self), 'arm')}, of other names{meant(arm, self.names)}")
        try:
            return self.arms[operator.index(arm)]
        except (IndexError, TypeError):
            raise UnknownArm(arm, f"it has {counted(len(self), 'arm')}, counted from 0") from None

    def __contains__(self, arm: object) -> bool:
        """Whether it is the name of an arm, or the law of one."""
        return arm in self._positions if isinstance(arm, str) else any(equal(law, arm) for law in self.arms)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Problem) or self.names != other.names or self.starts.tolist() != other.starts.tolist():
            return False
        return all(map(equal, self.laws, other.laws))

    def __hash__(self) -> int:
        return hash((self.names, *self.starts.tolist(), *map(hashable, self.laws)))

    def __repr__(self) -> str:
        default = all(name == f"arm {i}" for i, name in enumerate(self.names))
        names = "" if default else f", names={_shortened(self.names)}"
        if self.later:
            pieces = zip(self.starts.tolist(), self.pieces, strict=True)
            return f"{type(self).__name__}.changing({_shortened(tuple(pieces))})"
        return f"{type(self).__name__}({_shortened(self.arms)}{names})"

    def _repr_html_(self) -> str:
        rated = bool((self.mean_costs > 0).all())
        means = (self.mean_costs, self.mean_rewards, *((self.rates, self.gaps) if rated else ()))
        columns = zip(self.names, self.arms, *means, strict=True)
        rows = [(name, repr(law), *(f"{x:.4g}" for x in numbers)) for name, law, *numbers in islice(columns, _ROWS)]
        more = len(self) - len(rows)
        best = f", the best is {self.names[self.best]}" if rated else ""
        changes = f"; {counted(len(self.later), 'change')} later" * bool(self.later)
        caption = f"{len(self):,} arms{best}{changes}" + f"; {more:,} are not shown" * (more > 0)
        headings = ("arm", "law of (cost, reward)", "mean cost", "mean reward", "rate", "gap")
        return Table(headings[: 2 + len(means)], rows, caption, texts=headings[:2]).html()

    def __reduce__(self) -> tuple[Any, ...]:
        if self.later:
            return type(self).changing, ([*zip(self.starts.tolist(), self.pieces, strict=True)],)
        return type(self), (self.arms, self.names)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Problem cannot be changed; make a new one with another {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a Problem cannot be changed")


def checked_problem(owner: str, problem: object, *, free: bool = False, changing: bool = False) -> Problem:
    """The problem itself, if it is one.

    Mean costs must be above 0 unless `free` says otherwise, and arms stay what they are unless `changing` does.
    """
    if not isinstance(problem, Problem):
        raise BadParameter(owner, "problem", "an outlay.Problem", problem)
    if problem.later and not changing:
        raise NotCovered(f"{owner} is about arms that stay what they are, and those of this problem change")
    if not free:
        for piece in problem.pieces:
            checked_costs(owner, piece.mean_costs, piece.names)
    return problem


def checked_pieces(pieces: object) -> tuple[tuple[float, Problem], ...]:
    """Pairs of a start and a problem, if they follow one another from 0 on and have the same arms by name."""
    owner, allowed = "Problem.changing", "a sequence of pairs (what was spent before, a problem)"
    if not isinstance(pieces, Iterable):
        raise BadParameter(owner, "pieces", allowed, pieces)
    made: list[tuple[float, Problem]] = []
    for i, pair in enumerate(pieces):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[1], Problem):
            raise BadParameter(owner, f"piece {i}", "a pair (what was spent before, a problem)", pair)
        start, piece = real(owner, f"the start of piece {i}", pair[0]), checked_problem(owner, pair[1], free=True)
        if start != 0 if i == 0 else start <= made[-1][0]:
            allowed = f"> {made[-1][0]:g}, the start of the one before" if i else "0"
            raise BadParameter(owner, f"the start of piece {i}", allowed, start)
        if made and piece.names != made[0][1].names:
            raise BadParameter(
                owner, f"the names of piece {i}", f"those of piece 0, {[*made[0][1].names]}", [*piece.names]
            )
        made.append((start, piece))
    if not made:
        raise BadParameter(owner, "pieces", allowed, pieces)
    return tuple(made)


def checked_arms(arms: object) -> tuple[AnyLaw, ...]:
    """The laws, if there is at least one."""
    if not isinstance(arms, Iterable) or is_record(arms):
        raise BadParameter("Problem", "arms", "a sequence of laws", arms)
    laws = tuple(check_law("Problem", f"arm {i}", law) for i, law in enumerate(arms))
    if not laws:
        raise BadParameter("Problem", "arms", "a sequence of at least one law", arms)
    for cls, law in {type(law): law for law in laws}.items():
        if is_own(cls):
            # A copy: a law that counts its draws has made none yet.
            try_once(copy.deepcopy(law), "draw", "rng", (np.random.default_rng(0),), _PAIR)
    return laws


def checked_names(names: object, count: int) -> tuple[str, ...]:
    """The names, if there is one per arm, each printable and unlike the others."""
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


def checked_costs(owner: str, mean_costs: Iterable[float], names: Iterable[str]) -> None:
    """Refuse the first arm whose mean cost is not above 0: it has no rate, and might never spend a budget."""
    for cost, name in zip(mean_costs, names, strict=True):
        if not 0.0 < cost < math.inf:
            raise BadParameter(owner, f"the mean cost of {name!r}", "a finite number > 0", float(cost))


def checked_moments(law: AnyLaw, arm: str) -> LawMoments:
    """The exact moments of an arm, if a law can have them."""
    try:
        given: tuple[float, ...] = law.moments()
    except Exception as error:
        if is_own(type(law)):
            raise BadCode(what_failed(error)) from error
        raise
    try:
        moments = LawMoments(*map(float, given))
    except (TypeError, ValueError):
        raise BadParameter("Problem", f"the moments of {arm!r}", "five numbers", given) from None
    if not math.isfinite(moments.mean_cost):
        raise BadParameter("Problem", f"the mean cost of {arm!r}", "a finite number", moments.mean_cost)
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


def _shortened(items: tuple[object, ...]) -> str:
    """Like repr of a list, with the middle of a long one left out."""
    if len(items) <= _SHOWN:
        return repr(list(items))
    shown = [*map(repr, items[: _SHOWN // 2]), f"<{len(items) - _SHOWN} more>", *map(repr, items[-_SHOWN // 2 :])]
    return f"[{', '.join(shown)}]"
