"""Playing: what is there is never played again, whatever ended the last run, and the files are the same bytes."""

import signal
from dataclasses import replace
from pathlib import Path

import pytest

import outlay
from outlay import policies
from outlay.errors import BadFile, OutlayError
from outlay.experiments import estimate, load, points_of, results, run
from outlay.experiments import plan as store

from .conftest import PLAIN, SWEPT


def bytes_of(folder: str) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def test_two_runs_give_the_same_bytes_and_the_second_plays_nothing(write, simulated):
    experiment = load(write(SWEPT))
    first = run(experiment, "a")
    assert (first.played, first.reused, first.result) == (4, 0, None)
    kept = bytes_of("a")
    second = run(experiment, "a")
    assert (second.played, second.reused) == (0, 4)
    assert simulated == ["RoundRobin", "stubborn"] * 2
    assert second.rows == first.rows
    run(experiment, "b")
    assert bytes_of("a") == bytes_of("b") == kept
    assert {Path(name).suffix for name in kept if name.startswith("sweep.")} == {
        *(".html", ".txt", ".md", ".csv", ".tex", ".png", ".pdf", ".svg")
    }
    assert set(map(str, first.files)) == {f"a/{name}" for name in kept if not name.startswith("cells/")}


def test_a_policy_more_is_played_alone(write, simulated):
    run(load(write(PLAIN)), "out")
    simulated.clear()
    outcome = run(load(write(PLAIN + '[[policies]]\nname = "Greedy"\n')), "out")
    assert simulated == ["Greedy"]
    assert (outcome.played, outcome.reused) == (1, 2)
    assert outcome.result is not None
    assert outcome.result.labels == ["RoundRobin", "stubborn", "Greedy"]
    assert outlay.load("out/result.parquet") == outcome.result
    relabelled = run(load(write(PLAIN.replace("stubborn", "mule"))), "out")
    assert simulated == ["Greedy"]
    assert relabelled.result is not None
    assert relabelled.result.labels == ["RoundRobin", "mule"]


def test_a_report_is_drawn_anew_when_its_result_changes(write, simulated, reports, undrawn):
    run(load(write(SWEPT)), "out")
    assert reports == ["correlation=-0.5", "correlation=0.5"]
    reports.clear()
    run(load(write(SWEPT.replace("0.5]", "0.5, 0.9]"))), "out")
    assert reports == ["correlation=0.9"]
    Path("out/correlation=0.5/report.html").unlink()
    Path("out/correlation=-0.5/result.parquet").write_bytes(b"half")
    run(load(write(SWEPT)), "out")
    assert sorted(reports[1:]) == ["correlation=-0.5", "correlation=0.5"]
    reports.clear()
    run(load(write(SWEPT.replace("stubborn", "mule"))), "out")
    assert len(reports) == 2


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "runs = 4",
            "runs = 10000000000000",
            r"runs of \[experiment\] in experiment.toml must be small enough: these ",
        ),
        ("seed = 3", 'seed = 3\nbackend = "cuda"', r"^RoundRobin at correlation = −0.5: backend='cuda' needs "),
    ],
)
def test_what_is_refused_leaves_nothing(write, monkeypatch, old, new, sentence):
    def no_gpu() -> None:
        raise OutlayError("backend='cuda' needs an NVIDIA GPU")

    monkeypatch.setattr("outlay.engine.gpu.backend.toolkit", no_gpu)
    with pytest.raises(OutlayError, match=sentence):
        run(load(write(SWEPT.replace(old, new))), "a/b")
    assert [path.name for path in Path().iterdir()] == ["experiment.toml"]


@pytest.mark.parametrize("taken", ["sweep.csv", "correlation=0.5/report.html"])
def test_places_that_are_taken_are_found_before_the_work(write, simulated, taken):
    (Path("out") / taken).mkdir(parents=True)
    for work in (run, estimate):
        with pytest.raises(BadFile, match=rf"^cannot write out/{taken}: it is a folder$"):
            work(load(write(SWEPT)), "out")
    write("in the way", "out/correlation=-0.5")
    with pytest.raises(BadFile, match=r"^cannot write out/correlation=-0.5: it is a file$"):
        run(load(write(SWEPT)), "out")
    assert simulated == []


def test_damaged_and_foreign_cells_are_played_again(write, simulated):
    experiment = load(write(PLAIN))
    run(experiment, "out")
    whole = bytes_of("out")
    uniform, fixed = sorted(Path("out/cells").iterdir(), reverse=True)
    fixed.write_bytes(fixed.read_bytes()[:100])
    uniform.write_bytes(b"")
    assert run(experiment, "out").played == 2
    assert bytes_of("out") == whole
    uniform.write_bytes(fixed.read_bytes())
    assert run(experiment, "out").played == 1
    assert bytes_of("out") == whole


@pytest.mark.interpreted
def test_what_fails_says_where_and_keeps_the_rest(write, reports):
    experiment = load(write(SWEPT.replace("seed = 3", "seed = 3\nmax_pulls = 30")))
    with pytest.raises(
        OutlayError, match=r"^RoundRobin at correlation = −0.5: run \d of RoundRobin made max_pulls = 30 pulls"
    ):
        run(experiment, "out")
    assert not Path("out").exists()
    Path("mine").mkdir()
    with pytest.raises(OutlayError):
        run(experiment, "mine/deep/er")
    assert list(Path("mine").iterdir()) == [], "what was there stays, what was made is gone"


@pytest.mark.interpreted
def test_cells_put_together_are_one_simulation(write):
    """Nothing stands in here: the simulator, and the report."""
    experiment = load(write(PLAIN))
    [(_, result)] = results(experiment, "out")
    contenders: dict[str, policies.Policy] = {"RoundRobin": policies.RoundRobin(), "stubborn": policies.Fixed(1)}
    assert result == outlay.simulate(experiment.problem, contenders, [20, 50], runs=4, seed=3)
    assert not Path("out/report.html").exists()
    outcome = run(experiment, "out")
    assert (outcome.played, outcome.reused, outcome.result) == (0, 2, result)
    assert set(map(str, outcome.files)) == {f"out/{name}" for name in bytes_of("out") if not name.startswith("cells/")}
    assert "stubborn" in Path("out/report.html").read_text(encoding="utf-8")


def test_cells_that_disagree_are_not_mixed(write, simulated):
    [point] = points_of(load(write(PLAIN)))
    run(load(write(PLAIN)), "out")
    found = {label: outlay.load(store.path_of(Path("out"), cell)) for label, cell in point.cells.items()}
    changed = found["stubborn"]
    found["stubborn"] = replace(changed, oracle_reward=changed.oracle_reward + 1.0)
    with pytest.raises(OutlayError, match="differ in what the best arm earned"):
        store.combined(point, found)


KILLED = """
import os, signal
import pyarrow.parquet as pq
from outlay.cli import main

write, calls = pq.write_table, []

def write_half(table, file, **options):
    calls.append(table)
    if len(calls) == 2:  # the first cell is done
        write(table, file, **options)
        file.truncate(file.tell() // 2)
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    write(table, file, **options)

pq.write_table = write_half
import sys
sys.argv = ["outlay", "compare", "experiment.toml", "--out", "killed", "--quiet"]
main()
"""


def test_killed_in_the_middle_of_a_file_and_resumed(write, reports, fresh_python):
    """A process of its own, by SIGKILL, half of its second file on the disk: as good as new after the next run."""
    experiment = load(write(SWEPT))
    done = fresh_python(KILLED, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    cells = {path: path.stat().st_mtime_ns for path in Path("killed/cells").iterdir()}
    assert sorted(path.name[0] for path in cells) == [".", "R"]
    resumed = run(experiment, "killed")
    assert (resumed.played, resumed.reused) == (3, 1)
    assert all(path.stat().st_mtime_ns == then for path, then in cells.items())
    run(experiment, "clean")
    left = {name: content for name, content in bytes_of("killed").items() if not name.endswith(".part")}
    assert left == bytes_of("clean")
