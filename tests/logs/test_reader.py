"""Logs: every kind of file gives the same rows, and what cannot be read is told in one sentence."""

import gzip
import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from outlay import logs
from outlay.errors import BadFile, BadParameter
from outlay.logs import LogColumns, MoreColumns, stretches


def made(rows: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    arms = rng.choice(["small", "large", "père"], size=rows, p=[0.5, 0.3, 0.2])
    return pd.DataFrame({"id": range(rows), "arm": arms, "cost": rng.normal(2, 1, rows), "reward": rng.random(rows)})


def read(source, columns=None) -> pd.DataFrame:
    parts = [
        pd.DataFrame({"arm": np.array(part.names, object)[part.codes], "cost": part.costs, "reward": part.rewards})
        for part in stretches(source, columns or LogColumns(), "advise")
    ]
    return pd.concat(parts, ignore_index=True)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_kind_of_file_gives_the_same_rows(here, monkeypatch):
    monkeypatch.setattr(logs, "BLOCK", 4096)
    monkeypatch.setattr(logs, "BATCH", 100)
    frame = made()
    frame.to_csv("log.csv", index=False)
    frame.to_csv("log.txt", index=False, sep=";")
    frame.to_csv("tabs", index=False, sep="\t", encoding="utf-8-sig")
    frame.to_csv("log.csv.gz", index=False)
    frame.to_parquet("log.parquet")
    frame.to_csv("log.csv.bz2", index=False)
    Path("zipped").write_bytes(gzip.compress(Path("log.csv").read_bytes()))
    with pa.CompressedOutputStream("log.csv.zst", "zstd") as file:
        file.write(Path("log.csv").read_bytes())
    shutil.copy("log.csv", os.fsdecode(b"l\xffg"))
    frame.assign(arm=frame["arm"].astype("category")).to_parquet("categories")
    frame.to_json("log.jsonl", orient="records", lines=True, double_precision=15)
    Path("packed.jsonl.gz").write_bytes(gzip.compress(b"\n" + Path("log.jsonl").read_bytes()))
    wanted = frame[["arm", "cost", "reward"]]
    for path in sorted(Path().iterdir()):
        pd.testing.assert_frame_equal(read(path), wanted, check_dtype=False, obj=str(path))
    for table in (frame, pa.Table.from_pandas(frame)):
        pd.testing.assert_frame_equal(read(table), wanted, check_dtype=False)
    assert len(list(stretches("log.csv", LogColumns(), "advise"))) > 10


def test_columns_can_be_named_and_are_found_by_name(here):
    made(5).rename(columns={"arm": "model", "cost": " USD"}).to_csv("log.csv", index=False)
    found = read("log.csv", LogColumns("Model", "usd", "reward"))
    np.testing.assert_array_equal(found["cost"], made(5)["cost"])


def test_other_columns_may_hold_anything(here):
    frame = made(500)
    frame.insert(1, "prompt", ['two\nlines, "quoted"; and\r\nmore'] * 500)
    frame.to_csv("log.csv", index=False)
    pd.testing.assert_frame_equal(read("log.csv"), frame[["arm", "cost", "reward"]], check_dtype=False)


def test_kinds_of_cells():
    frame = pd.DataFrame({"arm": [7, 8, 7], "cost": ["1", " 2.5 ", "NA"], "reward": [1, None, 2]})
    [part] = stretches(frame, LogColumns(), "advise")
    assert part.names == ["7", "8"]
    assert part.costs.tolist() == [1.0]
    assert part.left_out.tolist() == [2, 3]
    truths = pd.DataFrame({"arm": ["a"], "cost": [1], "reward": [True]})
    assert next(stretches(truths, LogColumns(), "advise")).rewards.tolist() == [1.0]
    words = truths.assign(reward="False")
    assert next(stretches(words, LogColumns(), "advise")).rewards.tolist() == [0.0]
    nested = pd.DataFrame({"arm": [["a"]], "cost": [1], "reward": [1]})
    with pytest.raises(BadFile, match=r"^the arm of the frame must be names; the column is of the kind list"):
        list(stretches(nested, LogColumns(), "advise"))
    mixed = pd.DataFrame({"arm": ["a", "b"], "cost": [1, "x"], "reward": [1, 2]})
    with pytest.raises(BadFile, match=r"^the cost of the frame must be a number in every row; row 2 has 'x'$"):
        list(stretches(mixed, LogColumns(), "advise"))
    with pytest.raises(
        BadParameter, match=r"^log of advise must be the path of a file, a pandas frame or an Arrow table; got "
    ):
        list(stretches(pd.Series([1.0]), LogColumns(), "advise"))


@pytest.mark.parametrize(
    ("cells", "amounts"),
    [
        (["$1.78", "$1,234.50", "-$2", "3 $", "0.002"], [1.78, 1234.5, -2.0, 3.0, 0.002]),
        (["€ 1,78", "1.234,50 €", "€ 1.234", "7"], [1.78, 1234.5, 1234.0, 7.0]),
        (["1 234.50", "1'234.50", "12\u202f345"], [1234.5, 1234.5, 12345.0]),
        (["0,002", "1.234.567"], [0.002, 1234567.0]),
        (["$1,234"], [1234.0]),
    ],
)
def test_amounts_of_money(cells, amounts):
    frame = pd.DataFrame({"arm": "a", "spend": cells, "reward": 1})
    [part] = stretches(frame, LogColumns(cost="spend"), "advise")
    assert part.costs.tolist() == amounts
    assert part.money == (f"spend ({cells[0]!r} as {amounts[0]:g})",)


def test_a_later_stretch_is_read_as_the_first_was(monkeypatch):
    """A point that parts decimals in one stretch parts no thousands in the next, nor the other way round."""
    monkeypatch.setattr(logs, "BATCH", 2)
    for cells, refused in ((["1.25", "2.5", "1,25", "3"], "1,25"), (["1,25", "2,5", "1.25", "3"], "1.25")):
        with pytest.raises(BadFile, match=f"must be written alike; row 3 has '{refused}'"):
            list(stretches(pd.DataFrame({"arm": "a", "cost": cells, "reward": 1}), LogColumns(), "advise"))
    thousands = pd.DataFrame({"arm": "a", "cost": ["1,25", "2,5", "1.250", "3"], "reward": 1})
    assert read(thousands)["cost"].tolist() == [1.25, 2.5, 1250.0, 3.0]


HEAD = "arm,cost,reward\n"
BROKEN = {
    "arm,price,reward\na,1,2\n": "log.csv has no column 'cost'; it has arm, price, reward: name the one for the cost",
    "x\n1\n": "log.csv has no column 'arm' and no 'cost' and no 'reward'; it has x: name those for the arm and ",
    "arm,cost,reward,cost\na,1,2,3\n": "log.csv has 2 columns for the cost, cost, cost; it has arm, cost, reward, cost",
    HEAD + "a,1,2\nb,$3 each,1\n": "the cost of log.csv must be a number in every row; row 3 has '$3 each'",
    HEAD + 'a,"€ 1,234",2\n': "the cost of log.csv must be a number in every row; row 2 has '€ 1,234': decimals or ",
    HEAD
    + 'a,"1,5",2\nb,2.5,1\n': "the cost of log.csv must be written alike; row 3 has '2.5', others decimals with a c",
    HEAD + "a,$1,2\nb,£2,1\n": "the cost of log.csv must be written alike; row 3 has '£2', others amounts in $",
    HEAD + "a,1,2\n\nb,3,1_0\n": "the reward of log.csv must be a number in every row; row 3 has '1_0'",
    HEAD
    + "a,1,-1e101\n": "the reward of log.csv must be a finite number within ±1e100 in every row; row 2 has -1e+101",
    HEAD + f"{'a' * 201},1,2\n": "the arm of log.csv must be a name of at most 200 printable characters; row 2 has ",
    HEAD + "a,1,2\nb\x07,1,2\n": "the arm of log.csv must be a name of at most 200 printable characters; row 3 has 'b",
    HEAD + "a,1,2\nb,1\n": "log.csv cannot be read: row 3: Expected 3 columns, got 2: b,1",
    HEAD + 'a,1,2\n"b,1,2\nc,1,2\n': 'log.csv cannot be read: row 3: Expected 3 columns, got 1: "b,1,2 c,1,2',
    HEAD.strip(): "log.csv cannot be read: it has a header and no rows, or a quote in it is not closed",
    HEAD: "log.csv has no rows",
    "": "log.csv is empty",
    "\n\n": "log.csv is neither CSV (text in UTF-8; ",
}


@pytest.mark.parametrize("text", BROKEN)
def test_broken_files(here, text):
    Path("log.csv").write_text(text, encoding="utf-8")
    with pytest.raises(BadFile) as refused:
        list(stretches("log.csv", LogColumns(), "advise"))
    assert str(refused.value).startswith(BROKEN[text])


def test_what_is_no_log(here):
    Path("folder").mkdir()
    Path("picture").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    Path("latin.csv").write_bytes((HEAD + "père,1,2\n").encode("latin-1"))
    Path("broken.parquet").write_bytes(b"PAR1 and nothing else")
    Path("wide.csv").write_text(HEAD + "a,1,2\n", encoding="utf-16")
    os.mkfifo("pipe")
    Path("cut.csv.gz").write_bytes(gzip.compress(HEAD.encode() * 1000)[:-20])
    sentences = {
        "folder": "folder is a folder; a log is one CSV, JSON lines or Parquet file",
        "nosuch.csv": "there is no file nosuch.csv",
        "picture": "picture is neither CSV (text in UTF-8; as it is, or packed by gzip, bzip2 or zstd) nor Parquet",
        "latin.csv": "latin.csv is neither CSV ",
        "wide.csv": "wide.csv is neither CSV (text in UTF-8; as it is, or packed by gzip, bzip2 or zstd) nor Parquet",
        "pipe": "pipe is not an ordinary file, which a log must be: it is read more than once",
        "broken.parquet": "broken.parquet cannot be read: Parquet magic bytes not found",
        "cut.csv.gz": "cannot read cut.csv.gz: Truncated compressed stream",
        "x" * 300: f"cannot read {'x' * 300}: File name too long",
    }
    for name, sentence in sentences.items():
        with pytest.raises(BadFile) as refused:
            list(stretches(name, LogColumns(), "advise"))
        assert str(refused.value).startswith(sentence)
    with pytest.raises(BadParameter, match=r"^arm, cost and reward of \[log\] must be three different columns"):
        list(stretches(made(3), LogColumns("arm", "reward", "Reward"), "[log]"))


def test_columns_of_unusual_kinds():
    """Unsigned codes, as other writers have them; names that are numbers, and none; cells of mixed kinds."""
    coded = pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.uint32()), pa.array(["a", "b"]))
    for arms in (coded, pa.array([2.5, float("nan"), 1.0])):
        [rows] = stretches(pa.table({"arm": arms, "cost": [1, 2, 3], "reward": [1, 2, 3]}), LogColumns(), "advise")
        assert (rows.costs.tolist(), rows.left_out.tolist()) == ([1.0, 3.0], [2])
    mixed = pd.DataFrame({"arm": ["a", pd.NA, "b"], "cost": [10**30, 2, "3"], "reward": [1, 2, 3]})
    [rows] = stretches(mixed, LogColumns(), "advise")
    assert (rows.names, rows.costs.tolist(), rows.left_out.tolist()) == (["a", "b"], [1e30, 3.0], [2])


def test_a_comma_in_the_header_does_not_make_it_comma_separated(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text('"notes, a, b, c";arm;cost;reward\nx;a;1;2\n')
    [rows] = stretches(path, LogColumns(), "advise")
    assert rows.costs.tolist() == [1.0]


def test_json_lines(here):
    """A key that is missing is an empty cell, kinds may be mixed, and what is not an object is named with its line."""
    Path("log.jsonl").write_text('{"arm": "a", "cost": 1, "reward": true}\n\n{"arm": "b", "cost": "2.5"}\n')
    [rows] = stretches("log.jsonl", LogColumns(), "advise")
    assert (rows.names, rows.costs.tolist(), rows.rewards.tolist()) == (["a", "b"], [1], [1])
    assert rows.left_out.tolist() == [2]
    for text, sentence in {
        '{"arm": "a"}\n[1]\n': "log.jsonl cannot be read: line 2 is not one JSON object: ",
        '{"arm": "a", "cost": 1}\n': "log.jsonl has no column 'reward'; it has arm, cost: name the one for the reward",
        '{"arm": {"x": 1}, "cost": 1, "reward": 1}\n': "the arm of log.jsonl must be names; the column is of the kind",
    }.items():
        Path("log.jsonl").write_text(text)
        with pytest.raises(BadFile) as refused:
            list(stretches("log.jsonl", LogColumns(), "advise"))
        assert str(refused.value).startswith(sentence)


def test_times_and_instances(here):
    """Further columns: dates as seconds, whatever kind of column has them; a row without a time is left out."""
    days = ["2026-01-02", "2026-01-01T12:00:00+02:00", None]
    frame = pd.DataFrame({"arm": ["a", "b", "a"], "cost": 1, "reward": 1, "Day": days, "task": ["x", "x", "y"]})
    frame.to_csv("log.csv", index=False)
    stamps = frame.assign(Day=pd.to_datetime(frame["Day"], format="ISO8601", utc=True))
    stamps.to_parquet("log.parquet")
    for source in ("log.csv", "log.parquet", frame, stamps):
        [rows] = stretches(source, LogColumns(), "advise", MoreColumns("day", "task"))
        assert rows.times is not None
        assert rows.times.tolist() == [1767312000.0, 1767261600.0]
        assert rows.marks["instance"][0] == rows.marks["instance"][1]
        assert rows.left_out.tolist() == [3 + (source == "log.csv" if isinstance(source, str) else 0)]
    [rows] = stretches("log.csv", LogColumns(), "advise", MoreColumns(others=True))
    assert (sorted(rows.marks), rows.times) == (["other Day", "other task"], None)
    with pytest.raises(BadParameter, match=r"^time of advise must be a column other than those of the arm, the cost"):
        list(stretches(frame, LogColumns(), "advise", MoreColumns("cost")))
    with pytest.raises(BadFile, match=r"^log.csv has no column 'when'; it has .*: name the one for the time$"):
        list(stretches("log.csv", LogColumns(), "advise", MoreColumns("when")))
