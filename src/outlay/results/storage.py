"""Results on disk: one Parquet file of tidy rows; what the rows cannot say is JSON in the schema's metadata.

Columns: policy, run, budget, cost, reward, oracle_reward, pulls (a list of one int64 per arm), for any Parquet reader.
Where requests are limited, they are a column after the budget.
The metadata holds the format version, outlay's version, the problem as TOML, the policies as name and parameters,
the seed, runs, budgets, requests and mode. Nothing is pickled or
imported, so reading a file runs no code of its author: laws and policies of the user's come back by name, unless their
classes are handed over.
"""

from __future__ import annotations

import json
import math
import os
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np

from outlay import policies
from outlay.arms import Problem
from outlay.checks import check_writable, checked_path, reading, writing
from outlay.errors import BadFile, BadParameter, MissingExtra, OutlayError
from outlay.policies.protocol import Policy, as_data
from outlay.results.result import Result
from outlay.usercode import Handed, reference_of

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
Notes = dict[str, Any]  # what the rows cannot say, as JSON has it; of all policies or of one
_KEY = b"outlay"


def write(result: Result, path: str | os.PathLike[str]) -> None:
    """Write `result` to `path`; a failure leaves what was there."""
    import pyarrow.parquet as pq

    target = checked_path("save", path)
    check_writable(target)
    table = _table(result)
    temporary = target.with_name(f".{uuid.uuid4().hex}.part")
    with writing(target):
        try:
            with temporary.open("xb") as file:
                pq.write_table(table, file, compression="zstd")
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def read(path: str | os.PathLike[str], laws: Handed, players: Handed) -> Result:
    """The result in the file at `path`, or BadFile in one sentence; with the user's classes that are handed over."""
    import pyarrow as pa
    import pyarrow.parquet as pq

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
        return _result(table, notes, laws, players)
    except MissingExtra:
        raise
    except (OutlayError, pa.ArrowException, ValueError, LookupError, TypeError, AttributeError) as error:
        raise BadFile(f"{source} is a damaged result ({_one_line(error)})") from error


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
    columns = _keys(result) | {
        "cost": pa.array(result.cost.ravel()),
        "reward": pa.array(result.reward.ravel()),
        "oracle_reward": pa.array(np.tile(result.oracle_reward.ravel(), len(result.policies))),
        "pulls": pa.FixedSizeListArray.from_arrays(pa.array(result.pulls.ravel()), result.pulls.shape[-1]),
    }
    return pa.table(columns).replace_schema_metadata({_KEY: json.dumps(notes).encode()})


def _keys(result: Result) -> dict[str, pa.Array]:
    """The columns that say which policy, run and budget a row is about."""
    import pyarrow as pa

    policies, runs, budgets = result.cost.shape
    try:
        labels = pa.array(result.labels)
    except UnicodeEncodeError:
        raise BadParameter("save", "labels", "text that UTF-8 can hold", result.labels) from None
    return {
        "policy": labels.take(pa.array(np.repeat(np.arange(policies), runs * budgets))),
        "run": pa.array(np.tile(np.repeat(np.arange(runs), budgets), policies)),
        **{name: pa.array(np.tile(values, policies * runs)) for name, values in result.limits.items()},
    }


def _result(table: pa.Table, notes: Notes, laws: Handed, players: Handed) -> Result:
    import pyarrow as pa

    chosen = {entry["label"]: _remade(entry, players) for entry in notes["policies"]}
    shape = (len(chosen), notes["runs"], len(notes["budgets"]))
    numbers = {name: table[name].to_numpy().reshape(shape) for name in ("cost", "reward", "oracle_reward")}
    result = Result(
        problem=Problem.from_toml(notes["problem"], laws.values()),
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
    )
    keys = _keys(result)
    if not pa.table(keys).equals(table.select(list(keys))):
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


def _remade(entry: Notes, players: Handed) -> Policy | str:
    """The policy again where this version of outlay or a class of the user's can make it, else its repr."""
    try:
        kind = policies.named(entry["name"])
        if kind is None and (own := players.get(entry.get("own", ""))) is not None:
            lists = {name: np.array(v) if isinstance(v, list) else v for name, v in entry["parameters"].items()}
            remade: Policy = own(**lists)
            return remade
        made: Policy | str = entry["repr"] if kind is None else kind(**entry["parameters"])
    except (KeyError, TypeError, BadParameter):
        return str(entry["repr"])
    return made


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
