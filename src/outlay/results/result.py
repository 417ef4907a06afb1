"""What a simulation gives back: pulls, cost and reward per policy, run and budget, and everything derived from them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from outlay.errors import BadParameter, needed
from outlay.parameters import equal
from outlay.results import regret
from outlay.results.endings import beside
from outlay.results.regret import RegretKind

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd

    from outlay.arms import Problem

Floats = NDArray[np.float64]
Later = Callable[[], Floats]  # gives an array when it is called

_playing = threading.RLock()  # whoever asks while another thread plays waits for it


class OnFirstUse:
    """A field that is given as an array, or as a function that is called when the field is first read."""

    def __init__(self, name: str, about: str) -> None:
        self.name, self.__doc__ = name, about

    def __get__(self, result: Result | None, owner: type | None = None) -> Floats | OnFirstUse:
        if result is None:
            return self
        held = vars(result)
        if callable(held[self.name]):
            with _playing:
                if callable(make := held[self.name]):
                    held[self.name] = make()
        array: Floats = held[self.name]
        return array

    def __set__(self, result: Result, value: Floats | Later) -> None:
        vars(result)[self.name] = value


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The outcome of `simulate`.

    Attributes:
        problem: the arms that were played.
        policies: label → policy; its order is the first axis of the arrays below.
        budgets: ascending; one run gives every budget, at its own first passage. With requests, one may come several
            times, and be infinite.
        seed: run i draws from SeedSequence(seed, spawn_key=(i,)) whatever the policy.
        pulls: how often each arm was pulled, int64 [policy, run, budget, arm].
        cost: total cost when the budget was exceeded or the last request served, float64 [policy, run, budget].
        reward: total reward, the last pull's included, float64 [policy, run, budget].
        oracle_reward: what π* (always the best arm) earned in the same runs, float64 [run, budget]. With requests, the
            arm that brings most alone, as R_k·min(N, B/X_k) has it: regret is not measured against that.
        version: of the outlay that made it.
        requests: how many pulls could be made, int64 [budget]; None: as many as the budget bought.
        mode: "until_exceeded", or "hard" where no budget was ever passed.

    Results are equal when all of these are, nan equal to nan.

    `simulate` does not play π*. `oracle_reward` does when it is first read, on the backend of the simulation, which
    takes about as long as the quickest of policies; so do the realised regret, `save`, and reports and advice, which
    compare with it. The pseudo-regret, `frame` and everything else here do not need it. Read it once before you send a
    result of a GPU to where there is none.
    """

    problem: Problem
    policies: dict[str, Any]
    budgets: Floats
    seed: int
    pulls: NDArray[np.int64]
    cost: Floats
    reward: Floats
    oracle_reward: Floats
    version: str
    requests: NDArray[np.int64] | None = None
    mode: Literal["until_exceeded", "hard"] = "until_exceeded"

    def __post_init__(self) -> None:
        shape = (len(self.policies), self.pulls.shape[1] if self.pulls.ndim == 4 else 0, len(self.budgets))
        wanted = {
            "pulls": (*shape, len(self.problem.names)),
            "cost": shape,
            "reward": shape,
            "oracle_reward": shape[1:],
        } | ({} if self.requests is None else {"requests": shape[2:]})
        for name, axes in wanted.items():
            array = vars(self)[name]
            if not callable(array) and (array.shape != axes or 0 in axes):
                raise BadParameter("Result", name, f"an array of shape {axes} without empty axes", array.shape)

    @property
    def labels(self) -> list[str]:
        """The policies' labels, in the order of the first axis."""
        return list(self.policies)

    @property
    def runs(self) -> int:
        """How many independent runs each policy made."""
        return int(self.pulls.shape[1])

    @property
    def limits(self) -> dict[str, NDArray[Any]]:
        """What ended the runs, as columns: the budgets, and the requests where there are any."""
        return {"budget": self.budgets} | ({} if self.requests is None else {"requests": self.requests})

    @property
    def attainable(self) -> Floats:
        """The most that each budget can bring on average: r*·B or, with requests, N·f(B/N)."""
        if self.requests is None:
            return self.problem.rate * self.budgets
        return regret.fluid_rewards(self.problem, self.budgets, self.requests)

    @property
    def gaps(self) -> Floats:
        """By how much each arm falls short at the last budget: 0 for those that are best to pull.

        It is r* − r of the arm or, with requests, what a pull of it loses: ν + λE[X] − E[R].
        """
        if self.requests is None:
            return self.problem.gaps
        return regret.fluid_gaps(self.problem, float(self.budgets[-1]), int(self.requests[-1]))

    def run_regret(self, kind: RegretKind = "pseudo") -> Floats:
        """Regret of every run, [policy, run, budget]; `regret` says what the kinds are."""
        realised = regret.check_kind(kind) == "realised"
        if self.requests is None and realised:
            return regret.realised(self.reward, self.oracle_reward)
        if self.requests is None:
            return regret.pseudo(self.pulls, self.problem.mean_costs, self.problem.gaps)
        if realised:
            return np.asarray(self.attainable - self.reward)
        return regret.fluid(self.problem, self.budgets, self.requests, self.pulls, self.cost)

    @needed("Result.regret")
    def regret(self, kind: RegretKind = "pseudo") -> pd.DataFrame:
        """Regret over runs: policy, budget, mean, stderr, low, high (95 % interval of the mean), q10, q50, q90.

        `kind="pseudo"` is Σ_k T_k μ_k Δ_k; `kind="realised"` is the simulated mean reward of π* minus the reward, with
        the standard error of the differences within each run (π* draws from the same streams). With one run stderr,
        low and high are nan. The realised regret plays π* if nobody has asked for it before.

        With requests, a column after the budget, regret is against N·f(B/N), the fluid optimum (docs/requests.md):
        "pseudo" is ν·(N − τ) + λ·(B − S) + Σ_k Δ_k T_k, what unserved requests, money not spent and pulls off the edge
        lose; "realised" is N·f(B/N) minus the reward.
        """
        regret.check_kind(kind)
        import pandas as pd

        against_best = kind == "realised" and self.requests is None
        summary = regret.summary(self.run_regret(kind), self.oracle_reward - self.reward if against_best else None)
        keys = {
            "policy": np.repeat(np.array(self.labels, dtype=object), len(self.budgets)),
            **{name: np.tile(values, len(self.policies)) for name, values in self.limits.items()},
        }
        return pd.DataFrame(keys | {name: values.ravel() for name, values in summary._asdict().items()})

    @needed("Result.frame")
    def frame(self) -> pd.DataFrame:
        """One row per policy, run and budget (and requests): pulls (of all arms), cost, reward and pseudo-regret."""
        import pandas as pd

        policies, runs, budgets = self.cost.shape
        return pd.DataFrame(
            {
                "policy": np.repeat(np.array(self.labels, dtype=object), runs * budgets),
                "run": np.tile(np.repeat(np.arange(runs), budgets), policies),
                **{name: np.tile(values, policies * runs) for name, values in self.limits.items()},
                "pulls": self.pulls.sum(axis=-1).ravel(),
                "cost": self.cost.ravel(),
                "reward": self.reward.ravel(),
                "regret": self.run_regret().ravel(),
            }
        )

    @needed("Result.save")
    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a Parquet file, all or nothing; `outlay.load(path)` gives an equal result.

        Policies and laws are kept by name and parameters, never pickled: outlay's come back as they were. Yours come
        back by name, with all that regret needs, or as they were if their classes are handed over as `load` is called.
        The file holds what π* earned: it is played now if nobody has asked for it before.
        """
        from outlay.results import storage

        storage.write(self, path)

    def __eq__(self, other: object) -> bool:
        if type(other) is not Result:
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        last = "oracle_reward"  # it may have to be played first, unless both would play the same
        known = [field.name for field in fields(self) if field.name != last]
        if self.labels != other.labels or not all(_equal(mine[name], theirs[name]) for name in known):
            return False
        if callable(mine[last]) and callable(theirs[last]) and mine[last] == theirs[last]:
            return True
        return _equal(self.oracle_reward, other.oracle_reward)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        one = self.budgets[0] == self.budgets[-1]
        budgets = f"{self.budgets[0]:g}" if one else f"{self.budgets[0]:g} … {self.budgets[-1]:g}"
        count = "budget" if one else f"{len(self.budgets)} budgets"
        served = "" if self.requests is None else f", {_spanned(self.requests)} requests"
        return (
            f"<Result: {', '.join(self.labels)} on {len(self.problem.names)} arms; "
            f"{self.runs} runs, {count} {budgets}{served}{beside(self.mode)}, seed {self.seed}>"
        )

    def _repr_html_(self) -> str:
        from outlay.results.notebook import result_html

        return result_html(self)


# Here, since in the class it would pass for the field's default.
_about = "What π* (always the best arm) earned in the same runs, [run, budget]: played when it is first read."
Result.oracle_reward = OnFirstUse("oracle_reward", _about)  # type: ignore[assignment]


def checked(owner: str, result: object) -> Result:
    """The value itself if it is a result; else BadParameter, in the name of the function that was given it."""
    if not isinstance(result, Result):
        raise BadParameter(owner, "result", "an outlay.Result", result)
    return result


@needed("load")
def load(path: str | PathLike[str], *, laws: Iterable[type] = (), policies: Iterable[type] = ()) -> Result:
    """Read a result that `Result.save` wrote. Nothing is imported: no code of whoever wrote it is run.

    A law or a policy of your own comes back as itself if its class is among `laws` or `policies`. Otherwise the law
    comes back by name, with its moments, and cannot be drawn from; the policy, and one that this version of outlay
    cannot make again, comes back as its repr string.
    """
    from outlay.results import storage
    from outlay.usercode import handed

    return storage.read(path, handed("load", "laws", laws), handed("load", "policies", policies))


def _spanned(counts: NDArray[np.int64]) -> str:
    """A number, or the least and the largest of several."""
    low, high = int(counts.min()), int(counts.max())
    return f"{low:,}" if low == high else f"{low:,} … {high:,}"


def _equal(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other, equal_nan=True)
    if isinstance(one, dict) and isinstance(other, dict):  # the labels are known to be equal
        return all(map(equal, one.values(), other.values()))
    return one == other
