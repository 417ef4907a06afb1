"""What a simulation gives back: pulls, cost and reward per policy, run and budget, and what is derived from them.

On disk, a result is one Parquet file of tidy rows, for any reader; what the rows cannot say is JSON in the schema's
metadata. Nothing is pickled or imported, so reading a file runs no code of its author.
"""

from __future__ import annotations

import json
import math
import threading
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from outlay import policies
from outlay.arms import ContextualProblem, Problem
from outlay.checks import check_writable, checked_path, reading, writing
from outlay.errors import BadFile, BadParameter, MissingExtra, OutlayError, needed
from outlay.parameters import equal
from outlay.policies.protocol import Policy, as_data
from outlay.tables import Table
from outlay.text import aligned, counted, sparkline
from outlay.usercode import ClassesByName, classes_by_name, reference_of

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd
    import pyarrow as pa

Floats = NDArray[np.float64]
Later = Callable[[], Floats]  # gives an array when it is called
RegretKind = Literal["pseudo", "realised"]
COVERAGE = 0.95

Notes = dict[str, Any]  # what the rows of a file cannot say, as JSON has it; of all policies or of one
FORMAT = 1
_KEY = b"outlay"

_playing = threading.RLock()  # whoever asks while another thread plays waits for it


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
        piece_pulls: where the arms change (`Problem.changing`), how often each was pulled in each piece, int64
            [policy, run, budget, piece, arm]; else None. Regret and π* are then those of the best arm of each piece.

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
    piece_pulls: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        shape = (len(self.policies), self.pulls.shape[1] if self.pulls.ndim == 4 else 0, len(self.budgets))
        wanted = {
            "pulls": (*shape, len(self.problem.names)),
            "cost": shape,
            "reward": shape,
            "oracle_reward": shape[1:],
        } | ({} if self.requests is None else {"requests": shape[2:]})
        if self.piece_pulls is not None or self.problem.later:
            wanted["piece_pulls"] = (*shape, len(self.problem.pieces), len(self.problem.names))
        for name, axes in wanted.items():
            array = vars(self)[name]
            if not callable(array) and (np.shape(array) != axes or 0 in axes):
                raise BadParameter("Result", name, f"an array of shape {axes} without empty axes", np.shape(array))

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
        if isinstance(self.problem, ContextualProblem):
            requests = [math.inf] * len(self.budgets) if self.requests is None else self.requests.tolist()
            return np.array([*map(self.problem.attainable, self.budgets.tolist(), requests)])
        if self.requests is None:
            spans = np.diff(np.minimum(np.append(self.problem.starts, math.inf), self.budgets[:, None]))
            return np.asarray(spans @ [piece.rate for piece in self.problem.pieces])
        from outlay.theory import fluid  # here, since all of theory comes with it

        pairs = zip(self.budgets.tolist(), self.requests.tolist(), strict=True)
        return np.array([n * fluid(self.problem, b, n).value for b, n in pairs])

    @property
    def gaps(self) -> Floats:
        """By how much each arm falls short at the last budget: 0 for those that are best to pull.

        It is r* − r of the arm, where arms change in the piece that the last budget ends in; or, with requests, what a
        pull of it loses: ν + λE[X] − E[R].
        """
        if self.requests is None:
            return self.problem.pieces[int(np.sum(self.problem.starts[1:] < self.budgets[-1]))].gaps
        from outlay.theory import request_gaps

        return request_gaps(self.problem, float(self.budgets[-1]), int(self.requests[-1]))

    def run_regret(self, kind: RegretKind = "pseudo") -> Floats:
        """Regret of every run, [policy, run, budget]; `regret` says what the kinds are."""
        if str(kind) not in get_args(RegretKind):
            raise BadParameter("regret", "kind", '"pseudo" or "realised"', kind)
        realised = kind == "realised"
        if isinstance(self.problem, ContextualProblem):
            return np.asarray(self.attainable - self.reward)
        if self.requests is None:
            if realised:
                return np.asarray(self.oracle_reward.mean(axis=0) - self.reward)
            if self.piece_pulls is None:
                return pseudo_regret(self.pulls, self.problem.mean_costs, self.problem.gaps)
            weights = np.array([piece.mean_costs * piece.gaps for piece in self.problem.pieces])
            return np.asarray((self.piece_pulls * weights).sum(axis=(-2, -1)))
        if realised:
            return np.asarray(self.attainable - self.reward)
        from outlay.theory import fluid_regret

        pairs = enumerate(zip(self.budgets.tolist(), self.requests.tolist(), strict=True))
        each = (fluid_regret(self.problem, b, n, self.pulls[..., j, :], self.cost[..., j]) for j, (b, n) in pairs)
        return np.stack([regret.total for regret in each], axis=-1)

    @needed("Result.regret")
    def regret(self, kind: RegretKind = "pseudo") -> pd.DataFrame:
        """Regret over runs: policy, budget, mean, stderr, low, high (95 % interval of the mean), q10, q50, q90.

        `kind="pseudo"` is Σ_k T_k μ_k Δ_k, which by Wald's identity has the mean of the realised regret (up to the
        overshoot of the last pull) and far less variance; `kind="realised"` is the simulated mean reward of π* minus
        the reward, with the standard error of the differences within each run (π* draws from the same streams). With
        one run stderr, low and high are nan. The realised regret plays π* if nobody has asked for it before.

        With requests, a column after the budget, regret is against N·f(B/N), the fluid optimum (docs/requests.md):
        "pseudo" is ν·(N − τ) + λ·(B − S) + Σ_k Δ_k T_k, what unserved requests, money not spent and pulls off the edge
        lose; "realised" is N·f(B/N) minus the reward. Where requests differ (`ContextualProblem`), regret is against
        what the best rule earns that knows every request's means, and both kinds are realised.
        """
        import pandas as pd

        summary = regret_summary(self, kind)
        return pd.DataFrame(
            {
                "policy": np.repeat(np.array(self.labels, dtype=object), len(self.budgets)),
                **{name: np.tile(values, len(self.policies)) for name, values in self.limits.items()},
                **{name: values.ravel() for name, values in summary._asdict().items()},
            }
        )

    @needed("Result.frame")
    def frame(self) -> pd.DataFrame:
        """One row per policy, run and budget (and requests): pulls (of all arms), cost, reward and pseudo-regret."""
        import pandas as pd

        numbers = {
            "pulls": self.pulls.sum(axis=-1).ravel(),
            "cost": self.cost.ravel(),
            "reward": self.reward.ravel(),
            "regret": self.run_regret().ravel(),
        }
        return pd.DataFrame(_keys(self) | numbers)

    @needed("Result.save")
    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a Parquet file, all or nothing; `outlay.load(path)` gives an equal result.

        Policies and laws are kept by name and parameters, never pickled: outlay's come back as they were. Yours come
        back by name, with all that regret needs, or as they were if their classes are handed over as `load` is called.
        The file holds what π* earned: it is played now if nobody has asked for it before.
        """
        import pyarrow.parquet as pq

        target = checked_path("save", path)
        check_writable(target)
        table = _table(self)
        temporary = target.with_name(f".{uuid.uuid4().hex}.part")
        with writing(target):
            try:
                with temporary.open("xb") as file:
                    pq.write_table(table, file, compression="zstd")
                temporary.replace(target)
            finally:
                temporary.unlink(missing_ok=True)

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
        served = ""
        if self.requests is not None:
            low, high = int(self.requests.min()), int(self.requests.max())
            served = f", {low:,} requests" if low == high else f", {low:,} … {high:,} requests"
        return (
            f"<Result: {', '.join(self.labels)} on {len(self.problem.names)} arms; "
            f"{self.runs} runs, {count} {budgets}{served}{beside(self.mode)}, seed {self.seed}>"
        )

    def _repr_html_(self) -> str:
        """The table at the largest budget; the lines share their scale, logarithmic both ways, and its ends."""
        summary = regret_summary(self)
        mean = summary.mean
        positive = mean[mean > 0]
        least = float(positive.min()) if positive.size else 1.0
        heights = np.log(np.maximum(mean, least))
        ends = float(heights.min()), float(heights.max())
        _, values = axis_of(self)
        first, last = (f"{values[i]:,g}" for i in (0, -1))
        columns = (
            *(aligned(values[:, -1].tolist(), 3) for values in (mean, summary.stderr, summary.q50)),
            [f"{share:.1%}" for share in best_shares(self)],
            aligned(mean[:, 0].tolist(), 3),
            [sparkline(line, *ends) for line in heights],
        )
        best_arms, along = "best arm" if self.requests is None else "best arms", f"from {first} to {last}"
        headings = ("policy", "regret", "± stderr", "median", best_arms, f"regret at {first}", along)
        where = last_of(self) + beside(self.mode)
        made = f"{self.runs:,} runs, {len(self.problem):,} arms, seed {self.seed}"
        return Table(headings, list(zip(self.labels, *columns, strict=True)), f"Regret at {where}: {made}").html()


def _oracle_reward(result: Result) -> Floats:
    """What π* (always the best arm) earned in the same runs, [run, budget]: played when it is first read."""
    held = vars(result)
    if callable(held["oracle_reward"]):
        with _playing:
            if callable(play := held["oracle_reward"]):
                held["oracle_reward"] = play()
    array: Floats = held["oracle_reward"]
    return array


def _hold_oracle_reward(result: Result, value: Floats | Later) -> None:
    vars(result)["oracle_reward"] = value


# Here, since in the class it would pass for the field's default.
Result.oracle_reward = property(_oracle_reward, _hold_oracle_reward)  # type: ignore[assignment]


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
    import pyarrow as pa
    import pyarrow.parquet as pq

    known_laws, known_policies = classes_by_name("load", "laws", laws), classes_by_name("load", "policies", policies)
    source = checked_path("load", path)
    with reading(source):
        if not source.exists():
            raise BadFile(f"there is no file {source}")
        if source.is_dir():
            raise BadFile(f"{source} is a folder, not a saved result")
    try:
        table = pq.read_table(source, partitioning=None)
    except (pa.ArrowException, OSError) as error:
        raise BadFile(f"{source} is not a readable Parquet file ({_one_line(error)})") from error
    metadata = table.schema.metadata or {}
    text = metadata.get(_KEY)
    if text is None:
        raise BadFile(f"{source} is a Parquet file, but not one that outlay saved")
    try:
        notes = json.loads(text)
        version = notes["format"]
    except (ValueError, LookupError, TypeError) as error:
        raise BadFile(f"{source} has damaged notes of outlay ({_one_line(error)})") from error
    if version != FORMAT:
        raise BadFile(f"{source} has format {version}; this outlay reads format {FORMAT}: upgrade outlay")
    try:
        return _result(table, notes, known_laws, known_policies)
    except MissingExtra:
        raise
    except (OutlayError, pa.ArrowException, ValueError, LookupError, TypeError, AttributeError) as error:
        raise BadFile(f"{source} is a damaged result ({_one_line(error)})") from error


def pseudo_regret(pulls: NDArray[np.int64], mean_costs: Floats, gaps: Floats) -> Floats:
    """Σ_k T_k μ_k Δ_k over the last axis of `pulls`."""
    return np.asarray(pulls @ (mean_costs * gaps), dtype=np.float64)


class Summary(NamedTuple):
    """A per-run quantity summed up over runs; every field is an array over [policy, budget]."""

    mean: Floats
    stderr: Floats
    low: Floats
    high: Floats
    q10: Floats
    q50: Floats
    q90: Floats


def summary_over_runs(per_run: Floats, paired: Floats | None = None) -> Summary:
    """Mean, standard error, 95 % Student interval and quantiles over runs (axis 1 of [policy, run, budget]).

    `paired` holds per-run values of the same mean whose scatter gives the standard error: for the realised regret, the
    differences oracle_reward − reward within each run, where the common stream makes both vary together. One run says
    nothing about its scatter: stderr, low and high are then nan.
    """
    runs = per_run.shape[1]
    mean = per_run.mean(axis=1)
    stderr = half = np.full_like(mean, np.nan)
    if runs > 1:
        from scipy.special import stdtrit

        stderr = (per_run if paired is None else paired).std(axis=1, ddof=1) / np.sqrt(runs)
        half = float(stdtrit(runs - 1, 0.5 + COVERAGE / 2)) * stderr
    q10, q50, q90 = np.quantile(per_run, [0.1, 0.5, 0.9], axis=1)
    return Summary(mean, stderr, mean - half, mean + half, q10, q50, q90)


def regret_summary(result: Result, kind: RegretKind = "pseudo") -> Summary:
    """What `Result.regret` says, as arrays."""
    per_run = result.run_regret(kind)
    against_best = kind == "realised" and result.requests is None
    return summary_over_runs(per_run, result.oracle_reward - result.reward if against_best else None)


def best_shares(result: Result) -> list[float]:
    """Per policy, the share of all pulls up to the largest budget that went to an arm of gap 0."""
    pulls = result.pulls[:, :, -1].sum(axis=1)
    on_best = pulls[:, np.asarray(result.gaps) <= 0].sum(axis=1)
    if result.piece_pulls is not None:
        best = np.array([piece.gaps <= 0 for piece in result.problem.pieces])
        on_best = (result.piece_pulls[:, :, -1] * best).sum(axis=(1, 2, 3))
    return [float(share) for share in on_best / np.maximum(pulls.sum(axis=1), 1)]


def axis_of(result: Result) -> tuple[str, NDArray[Any]]:
    """What regret is drawn over, with its name: "budget", or "requests" where the budget is always the same."""
    budgets, requests = result.budgets, result.requests
    if requests is None or len(set(budgets.tolist())) > 1 or (math.isfinite(budgets[0]) and len(budgets) == 1):
        return "budget", budgets
    return "requests", requests


def last_of(result: Result, number: Callable[[float], str] = "{:,g}".format) -> str:
    """The last budget in words: "budget 10,000", "budget 10,000 and 500 requests" or "500 requests"."""
    requests = None if result.requests is None else int(result.requests[-1])
    return ended(float(result.budgets[-1]), requests, number)


def ended(budget: float, requests: int | None, number: Callable[[float], str] = "{:,g}".format) -> str:
    """A budget with its requests in words.

    >>> ended(1e4, None), ended(1e4, 500), ended(math.inf, 1)
    ('budget 10,000', 'budget 10,000 and 500 requests', '1 request')
    """
    if requests is None:
        return f"budget {number(budget)}"
    served = counted(requests, "request")
    return served if budget == math.inf else f"budget {number(budget)} and {served}"


def beside(mode: str) -> str:
    """What follows the limits in a title: the mode, unless it is the usual one."""
    return "" if mode == "until_exceeded" else f", {mode} mode"


def _equal(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other, equal_nan=True)
    if isinstance(one, dict) and isinstance(other, dict):  # the labels are known to be equal
        return all(map(equal, one.values(), other.values()))
    return one == other


def _table(result: Result) -> pa.Table:
    import pyarrow as pa

    notes: Notes = {
        "format": FORMAT,
        "version": result.version,
        "problem": result.problem.to_toml(),
        "policies": [_described(label, policy) for label, policy in result.policies.items()],
        "seed": result.seed,
        "runs": result.runs,
        "budgets": [None if budget == math.inf else budget for budget in result.budgets.tolist()],
        "requests": None if result.requests is None else result.requests.tolist(),
        "mode": result.mode,
    }
    try:
        keys = {name: pa.array(values) for name, values in _keys(result).items()}
    except UnicodeEncodeError:
        raise BadParameter("save", "labels", "text that UTF-8 can hold", result.labels) from None
    columns = keys | {
        "cost": pa.array(result.cost.ravel()),
        "reward": pa.array(result.reward.ravel()),
        "oracle_reward": pa.array(np.tile(result.oracle_reward.ravel(), len(result.policies))),
        "pulls": pa.FixedSizeListArray.from_arrays(pa.array(result.pulls.ravel()), result.pulls.shape[-1]),
    }
    if result.piece_pulls is not None:
        pieces = result.piece_pulls.reshape(*result.pulls.shape[:-1], -1)
        columns["piece_pulls"] = pa.FixedSizeListArray.from_arrays(pa.array(pieces.ravel()), pieces.shape[-1])
    return pa.table(columns).replace_schema_metadata({_KEY: json.dumps(notes).encode()})


def _keys(result: Result) -> dict[str, NDArray[Any]]:
    """The columns that say which policy, run and budget a row is about."""
    policies, runs, budgets = result.cost.shape
    return {
        "policy": np.repeat(np.array(result.labels, dtype=object), runs * budgets),
        "run": np.tile(np.repeat(np.arange(runs), budgets), policies),
        **{name: np.tile(values, policies * runs) for name, values in result.limits.items()},
    }


def _result(table: pa.Table, notes: Notes, laws: ClassesByName, players: ClassesByName) -> Result:
    chosen = {entry["label"]: _remade(entry, players) for entry in notes["policies"]}
    shape = (len(chosen), notes["runs"], len(notes["budgets"]))
    numbers = {name: table[name].to_numpy().reshape(shape) for name in ("cost", "reward", "oracle_reward")}
    problem = Problem.from_toml(notes["problem"], laws.values())
    pieces = None
    if problem.later:
        flat = table["piece_pulls"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        pieces = flat.reshape(*shape, len(problem.pieces), len(problem))
    result = Result(
        problem=problem,
        policies=chosen,
        budgets=np.array([math.inf if budget is None else budget for budget in notes["budgets"]], dtype=np.float64),
        seed=notes["seed"],
        pulls=table["pulls"].combine_chunks().flatten().to_numpy(zero_copy_only=False).reshape(*shape, -1),
        cost=numbers["cost"],
        reward=numbers["reward"],
        oracle_reward=numbers["oracle_reward"][0],
        version=notes["version"],
        requests=np.array(notes["requests"], dtype=np.int64) if notes["requests"] else None,
        mode=notes["mode"],
        piece_pulls=pieces,
    )
    if not all(np.array_equal(values, table[name].to_numpy()) for name, values in _keys(result).items()):
        raise ValueError("its rows are not in the order they were written")
    return result


def _described(label: str, policy: Policy | str) -> Notes:
    """A policy as data; its name is None when outlay cannot make it again: one of the user's says where it is from."""
    if isinstance(policy, str):
        return {"label": label, "name": None, "parameters": {}, "repr": policy}
    name = next((name for name, kind in policies.BY_NAME.items() if kind is type(policy)), None)
    entry: Notes = {"label": label, "name": name, "parameters": as_data(policy)["parameters"], "repr": repr(policy)}
    if name is None:
        entry["own"] = reference_of(type(policy))
        try:
            json.dumps(entry["parameters"], allow_nan=True)
        except (TypeError, ValueError):
            entry["parameters"] = {}
    return entry


def _remade(entry: Notes, players: ClassesByName) -> Policy | str:
    """The policy again where this version of outlay or a class of the user's can make it, else its repr."""
    try:
        parameters = entry["parameters"]
        kind = policies.named(entry["name"])
        if kind is None and (kind := players.get(entry.get("own", ""))) is not None:
            parameters = {name: np.array(v) if isinstance(v, list) else v for name, v in parameters.items()}
        made: Policy | str = entry["repr"] if kind is None else kind(**parameters)
    except (KeyError, TypeError, BadParameter):
        return str(entry["repr"])
    return made


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
