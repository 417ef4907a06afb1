"""Reading logs: every kind of file gives the same rows, and what cannot be read is told in one sentence."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from bursar.advice import log as log_module
from bursar.advice.advice import advise
from bursar.advice.log import Columns, stretches
from bursar.advice.tally import tally
from bursar.errors import BadFile, BadParameter


def made(rows: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    arms = rng.choice(["small", "large", "père"], size=rows, p=[0.5, 0.3, 0.2])
    return pd.DataFrame({"id": range(rows), "arm": arms, "cost": rng.normal(2, 1, rows), "reward": rng.random(rows)})


def read(source, columns=None) -> pd.DataFrame:
    parts = [
        pd.DataFrame({"arm": np.array(part.names, object)[part.codes], "cost": part.costs, "reward": part.rewards})
        for part in stretches(source, columns or Columns())
    ]
    return pd.concat(parts, ignore_index=True)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_kind_of_file_gives_the_same_rows(here, monkeypatch):
    monkeypatch.setattr(log_module, "BLOCK", 4096)
    monkeypatch.setattr(log_module, "BATCH", 100)
    frame = made()
    frame.to_csv("log.csv", index=False)
    frame.to_csv("log.txt", index=False, sep=";")
    frame.to_csv("tabs", index=False, sep="\t", encoding="utf-8-sig")
    frame.to_csv("log.csv.gz", index=False)
    frame.to_parquet("log.parquet")
    Path("zipped").write_bytes(gzip.compress(Path("log.csv").read_bytes()))
    frame.assign(arm=frame["arm"].astype("category")).to_parquet("categories")
    wanted = frame[["arm", "cost", "reward"]]
    for name in ("log.csv", "log.txt", "tabs", "log.csv.gz", "zipped", "log.parquet", "categories"):
        pd.testing.assert_frame_equal(read(name), wanted, check_dtype=False, obj=name)
    for table in (frame, pa.Table.from_pandas(frame)):
        pd.testing.assert_frame_equal(read(table), wanted, check_dtype=False)
    assert len(list(stretches("log.csv", Columns()))) > 10


def test_columns_can_be_named_and_are_found_by_name(here):
    made(5).rename(columns={"arm": "model", "cost": " USD"}).to_csv("log.csv", index=False)
    found = read("log.csv", Columns("Model", "usd", "reward"))
    np.testing.assert_array_equal(found["cost"], made(5)["cost"])


def test_other_columns_may_hold_anything(here):
    frame = made(500)
    frame.insert(1, "prompt", ['two\nlines, "quoted"; and\r\nmore'] * 500)
    frame.to_csv("log.csv", index=False)
    pd.testing.assert_frame_equal(read("log.csv"), frame[["arm", "cost", "reward"]], check_dtype=False)


def test_kinds_of_cells():
    frame = pd.DataFrame({"arm": [7, 8, 7], "cost": ["1", " 2.5 ", "NA"], "reward": [1, None, 2]})
    [part] = stretches(frame, Columns())
    assert part.names == ["7", "8"]
    assert part.costs.tolist() == [1.0]
    assert part.left_out == 2
    truths = pd.DataFrame({"arm": ["a"], "cost": [1], "reward": [True]})
    assert next(stretches(truths, Columns())).rewards.tolist() == [1.0]
    nested = pd.DataFrame({"arm": [["a"]], "cost": [1], "reward": [1]})
    with pytest.raises(BadFile, match=r"^the frame cannot be read: "):
        list(stretches(nested, Columns()))
    mixed = pd.DataFrame({"arm": ["a", "b"], "cost": [1, "x"], "reward": [1, 2]})
    with pytest.raises(BadFile, match=r"^the cost of the frame must be a number in every row; row 2 has 'x'$"):
        list(stretches(mixed, Columns()))
    with pytest.raises(BadParameter, match=r"^log of advise must be a path, a pandas frame or an Arrow table; got "):
        list(stretches(pd.Series([1.0]), Columns()))


HEAD = "arm,cost,reward\n"
BROKEN = {
    "arm,price,reward\na,1,2\n": "log.csv has no column 'cost' (--cost); it has arm, price, reward",
    "x\n1\n": "log.csv has no column 'arm' (--arm) and no 'cost' (--cost) and no 'reward' (--reward); it has x",
    "arm,cost,reward,Cost \na,1,2,3\n": None,
    "arm,cost,reward,cost\na,1,2,3\n": "log.csv has 2 columns for the cost, cost, cost; it has arm, cost, reward, cost",
    HEAD + "a,1,2\nb,$3,1\n": "the cost of log.csv must be a number in every row; row 3 has '$3'",
    HEAD + "a,1,2\n\nb,3,1_0\n": "the reward of log.csv must be a number in every row; row 3 has '1_0'",
    HEAD + f"a,{'x' * 99},2\n": f"the cost of log.csv must be a number in every row; row 2 has '{'x' * 39}…'",
    HEAD + "a,inf,2\n": "the cost of log.csv must be a finite number within ±1e100 in every row; row 2 has inf",
    HEAD
    + "a,1,-1e101\n": "the reward of log.csv must be a finite number within ±1e100 in every row; row 2 has -1e+101",
    HEAD + f"{'a' * 201},1,2\n": "the arm of log.csv must be a name of at most 200 printable characters; row 2 has ",
    HEAD + "a,1,2\nb\x07,1,2\n": "the arm of log.csv must be a name of at most 200 printable characters; row 3 has 'b",
    HEAD + "a,1,2\nb,1\n": "log.csv cannot be read: row 3: Expected 3 columns, got 2: b,1",
    HEAD + ",1,2\na,,2\na,1,nan\n": "no row of log.csv has an arm, a cost and a reward",
    HEAD + "a,0,2\nb,-1,1\n": "no arm of log.csv has a mean cost above 0: a budget would never be spent",
    HEAD + "".join(f"{i},1,1\n" for i in range(1001)): "log.csv has more than 1,000 arms: does its column of arms hold",
    HEAD: "log.csv has no rows",
    "": "log.csv is empty",
    "\n\n": "log.csv is neither CSV (text in UTF-8) nor Parquet",
}


@pytest.mark.parametrize("text", BROKEN)
def test_broken_files(here, text):
    Path("log.csv").write_text(text, encoding="utf-8")
    sentence = BROKEN[text]
    if sentence is None:
        assert advise("log.csv", 10, rehearse=False).best.name == "a"
        return
    with pytest.raises(BadFile) as refused:
        advise("log.csv", 10, rehearse=False)
    assert str(refused.value).startswith(sentence)


def test_what_is_no_log(here):
    Path("folder").mkdir()
    Path("picture").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    Path("latin.csv").write_bytes((HEAD + "père,1,2\n").encode("latin-1"))
    Path("broken.parquet").write_bytes(b"PAR1 and nothing else")
    Path("cut.csv.gz").write_bytes(gzip.compress(HEAD.encode() * 1000)[:-20])
    sentences = {
        "folder": "folder is a folder; a log is one CSV or Parquet file",
        "nosuch.csv": "there is no file nosuch.csv",
        "picture": "picture is neither CSV (text in UTF-8) nor Parquet",
        "latin.csv": "latin.csv is neither CSV (text in UTF-8) nor Parquet",
        "broken.parquet": "broken.parquet cannot be read: Parquet magic bytes not found",
        "cut.csv.gz": "cannot read cut.csv.gz: Truncated compressed stream",
        "x" * 300: f"cannot read {'x' * 300}: File name too long",
    }
    for name, sentence in sentences.items():
        with pytest.raises(BadFile) as refused:
            list(stretches(name, Columns()))
        assert str(refused.value).startswith(sentence)
    with pytest.raises(BadParameter, match=r"^arm, cost and reward of advise must be three different columns"):
        list(stretches(made(3), Columns("arm", "reward", "reward")))
    with pytest.raises(BadParameter, match=r"^cost of advise must be the name of a column; got 3$"):
        list(stretches(made(3), Columns("arm", 3, "reward")))  # type: ignore[arg-type]


def test_reading_in_parts_is_the_whole_file(here, monkeypatch):
    """Streamed figures against numpy on everything at once."""
    frame = made(20_000)
    frame.loc[frame.index % 7 == 0, "cost"] = 0.0
    frame.loc[frame.index % 50 == 0, "reward"] = np.nan
    frame.to_csv("log.csv", index=False)
    monkeypatch.setattr(log_module, "BLOCK", 20_000)
    found = tally(stretches("log.csv", Columns()), "log.csv", seed=0)
    assert (found.rows, found.left_out) == (20_000, 400)
    groups = {str(name): rows for name, rows in frame.dropna().groupby("arm")}
    assert list(found.arms) == sorted(groups)
    for name, rows in groups.items():
        arm, pairs = found.arms[name], rows[["cost", "reward"]].to_numpy().T
        belief = arm.belief(0)
        assert belief.pulls == len(rows)
        np.testing.assert_allclose(belief[2:4], pairs.mean(axis=1), rtol=1e-12)
        (var_cost, cov), (_, var_reward) = np.cov(pairs, ddof=0)
        np.testing.assert_allclose(belief[4:], [var_cost, var_reward, cov], rtol=1e-10)
        np.testing.assert_array_equal([arm.low, arm.high], [pairs.min(axis=1), pairs.max(axis=1)])
        assert arm.zero_costs == (rows["cost"] == 0).sum()
        assert arm.negative_costs == (rows["cost"] < 0).sum()
        np.testing.assert_array_equal(arm.largest.rows()[0], np.sort(pairs[0])[::-1][:10_000])
        assert sorted(map(tuple, arm.sample.rows().T)) == sorted(map(tuple, pairs.T))
