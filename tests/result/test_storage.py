"""Results on disk: exact round trips, atomic writes, one sentence for every bad file."""

import dataclasses
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from outlay.arms import Problem
from outlay.errors import BadFile, BadParameter
from outlay.policies import UCBB1, UCBB2
from outlay.results import Result, load


class Mine(NamedTuple):
    """A policy that outlay does not know."""

    bonus: Any = 1.5

    def score(self, belief, log_n):
        return belief.mean_reward + self.bonus * log_n


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def relabelled(result: Result, labels: list[str]) -> Result:
    return dataclasses.replace(result, policies=dict(zip(labels, result.policies.values(), strict=True)))


def test_round_trip_is_exact(tiny, tmp_path):
    path = tmp_path / "x.parquet"
    awkward = dataclasses.replace(
        tiny,
        policies={"one": UCBB1([0.1, 1 / 3], [0.2, 0.3], [0.0, 1e-300], alpha=2.1), "two": UCBB2(1.0, 2.0)},
        budgets=np.array([0.1 + 0.2, 1e308]),
        cost=tiny.cost * np.pi,
        reward=np.where(tiny.reward > 5, np.nan, -np.inf),
        seed=2**80,
    )
    awkward.save(path)
    back = load(path)
    assert back == awkward
    assert back.cost.tobytes() == awkward.cost.tobytes()
    assert back.pulls.dtype == np.int64
    assert type(back.policies["one"]) is UCBB1
    assert names_in(tmp_path) == ["x.parquet"]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(labels=st.lists(st.text(min_size=1, max_size=12), min_size=2, max_size=2, unique=True))
def test_round_trip_of_odd_labels(tiny, tmp_path, labels):
    odd = relabelled(tiny, labels)
    odd.save(tmp_path / "odd.parquet")
    assert load(tmp_path / "odd.parquet") == odd


def test_labels_that_are_not_unicode_are_refused(tiny, tmp_path):
    with pytest.raises(BadParameter, match=r"^labels of save must be text that UTF-8 can hold"):
        relabelled(tiny, ["a", "\ud800"]).save(tmp_path / "x.parquet")
    assert names_in(tmp_path) == []


def test_any_parquet_reader_can_use_the_rows(tiny, tmp_path):
    tiny.save(str(tmp_path / "x.parquet"))
    rows = pq.read_table(tmp_path / "x.parquet").to_pylist()
    assert len(rows) == 8
    assert rows[2] == {
        "policy": "even", "run": 1, "budget": 5.0, "cost": 6.0, "reward": 4.0, "oracle_reward": 12.0, "pulls": [2, 0]
    }  # fmt: skip


def test_a_failing_write_leaves_the_old_file(tiny, tmp_path, monkeypatch):
    path = tmp_path / "x.parquet"
    tiny.save(path)
    before = path.read_bytes()

    def broken(table, file, **_):
        file.write(b"half a file")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", broken)
    with pytest.raises(BadFile, match=r"^cannot write .*x\.parquet: No space left on device$"):
        dataclasses.replace(tiny, seed=8).save(path)
    assert path.read_bytes() == before
    assert names_in(tmp_path) == ["x.parquet"]


PLACES = {
    "": "it is a folder",
    "nowhere/x.parquet": "there is no folder ",
    "x" * 300: "File name too long",
    "/proc/x": "",
}


@pytest.mark.parametrize(("place", "reason"), PLACES.items())
def test_places_that_cannot_be_written(tiny, tmp_path, place, reason):
    with pytest.raises(BadFile) as caught:
        tiny.save(tmp_path / place)
    assert str(caught.value).startswith(f"cannot write {tmp_path / place}: {reason}")
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("path", [5, None, b"x", "a\0b", "\ud800", []])
def test_what_is_no_path_is_refused(tiny, path):
    for owner, function in (("save", tiny.save), ("load", load), ("save", tiny.problem.save), ("load", Problem.load)):
        with pytest.raises(BadParameter, match=f"^path of {owner} must be a path, a string or a pathlib.Path; got "):
            function(path)


def notes_of(path: Path) -> Any:
    return json.loads(pq.read_table(path).schema.metadata[b"outlay"])


def with_notes(path: Path, notes: object) -> None:
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({b"outlay": json.dumps(notes).encode()}), path)


def refused(path: Path) -> str:
    with pytest.raises(BadFile) as caught:
        load(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


def test_bad_files(tmp_path):
    assert "there is no file" in refused(tmp_path / "none.parquet")
    assert "is a folder" in refused(tmp_path)
    (tmp_path / "text").write_text("not parquet")
    assert "not a readable Parquet file" in refused(tmp_path / "text")
    (tmp_path / "empty").write_bytes(b"")
    assert "not a readable Parquet file" in refused(tmp_path / "empty")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "foreign")
    assert "not one that outlay saved" in refused(tmp_path / "foreign")


def test_newer_format(tiny, tmp_path):
    path = tmp_path / "x.parquet"
    tiny.save(path)
    with_notes(path, notes_of(path) | {"format": 2})
    assert "has format 2; this outlay reads format 1" in refused(path)


@pytest.mark.parametrize(
    "change",
    [
        {"runs": 3},
        {"runs": "x"},
        {"budgets": [1.0]},
        {"budgets": [5.0, 11.0]},
        {"policies": []},
        {"policies": [1]},
        {"policies": None},
        {"problem": "=="},
        {"problem": 3},
    ],
)
def test_damaged_notes(tiny, tmp_path, change):
    path = tmp_path / "x.parquet"
    tiny.save(path)
    with_notes(path, notes_of(path) | change)
    assert "is a damaged result" in refused(path)


def test_shuffled_rows_and_missing_columns(tiny, tmp_path):
    path = tmp_path / "x.parquet"
    tiny.save(path)
    table = pq.read_table(path)
    pq.write_table(table.take(list(range(7, -1, -1))), path)
    assert "not in the order" in refused(path)
    pq.write_table(table.drop_columns(["cost"]), path)
    assert "is a damaged result" in refused(path)
