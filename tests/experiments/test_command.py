"""`outlay compare experiment.toml`: what it prints, its exit codes; completion; the example of the docs."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import outlay
from outlay.cli import commands
from outlay.experiments import load, play, run
from outlay.experiments.play import Pace

from .conftest import SWEPT

PAGE = Path(__file__).parents[2] / "docs" / "experiments.md"


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(commands, ["compare", *arguments], prog_name="outlay")


def test_quiet_and_json(write, simulated, undrawn):
    write(SWEPT)
    done = ask("experiment.toml", "--out", "out", "--quiet")
    assert (done.exit_code, done.output) == (0, "")
    done = ask("experiment.toml", "--out", "out", "--json")
    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert (told["title"], told["folder"], told["played"], told["reused"]) == ("two arms", "out", 0, 4)
    assert told["rows"][1]["values"] == {"correlation": -0.5}
    assert told["rows"][1]["policy"] == "stubborn"
    assert [row["mean"] for row in told["rows"]] == [row.mean for row in run(load("experiment.toml"), "out").rows]
    assert all(Path(path).exists() for path in told["files"])
    write(SWEPT.replace("runs = 4", "runs = 1"))
    assert json.loads(ask("experiment.toml", "--json").stdout)["rows"][0]["stderr"] is None


def test_a_dry_run_writes_nothing(write, monkeypatch):
    write(SWEPT)
    monkeypatch.setattr("outlay.experiments.play.measure", lambda *_: Pace(0.0, 1.0))
    done = ask("experiment.toml", "--out", "out", "--dry-run")
    assert done.exit_code == 0, done.output
    assert [re.split(r" {2,}", line.strip()) for line in done.stdout.splitlines()[4:6]] == [
        ["RoundRobin", "2", "2", "400", "7 min"],
        ["stubborn", "2", "2", "400", "7 min"],
    ]
    drawing = "drawing takes a few seconds for each of the 2 reports"
    assert f"4 of 4 cells to play: 13 min or so of playing; {drawing}\n" in done.stdout
    told = json.loads(ask("experiment.toml", "--dry-run", "--json").stdout)
    assert told["seconds"] == 800.0
    assert [share["missing"] for share in told["policies"]] == [2, 2]
    assert ask("experiment.toml", "--dry-run", "--quiet").output == ""
    assert sorted(path.name for path in Path().iterdir()) == ["experiment.toml"]


def test_a_bad_file_is_asked_wrongly(write):
    write(SWEPT.replace("runs = 4", "runs = 0"))
    done = ask("experiment.toml")
    assert done.exit_code == 2
    assert done.output == "outlay: experiment.toml: runs of [experiment] must be a whole number ≥ 1; got 0\n"
    write(SWEPT)
    done = ask("experiment.toml", "--budget", "9")
    assert done.exit_code == 2
    assert "--budget is set by the experiment file, not by an option" in done.stderr
    for dry in ([], ["--dry-run"]):
        done = ask("experiment.toml", "--workers", "0", *dry)
        assert done.exit_code == 2
        assert done.output == "outlay: --workers must be a whole number ≥ 1; got 0\n"
    assert not Path("outlay-report").exists()


def test_failed_is_1_and_interrupted_130(write, simulated, monkeypatch):
    write(SWEPT)
    write("in the way", "out")
    for dry in ([], ["--dry-run"]):
        done = ask("experiment.toml", "--out", "out", *dry)
        assert (done.exit_code, done.stderr) == (1, "outlay: cannot write out: it is a file\n")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(play, "simulate", interrupted)
    done = ask("experiment.toml", "--out", "there")
    assert done.exit_code == 130
    assert done.stderr == "outlay: interrupted; finished cells are kept, and the same command resumes from there\n"
    assert not Path("there").exists()
    write(SWEPT.replace("runs = 4", "runs = 10000000000000"))
    for dry in ([], ["--dry-run"]):
        done = ask("experiment.toml", "--out", "there", *dry)
        assert done.exit_code == 2
        assert done.stderr.startswith("outlay: runs of [experiment] in experiment.toml must be small enough: these ")
    assert not Path("there").exists()


def completed(words: str) -> list[str]:
    """What Tab offers in bash after these words."""
    env = {"_OUTLAY_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    return CliRunner().invoke(commands, env=env, prog_name="outlay").stdout.splitlines()


def test_completion(write):
    assert completed("outlay com") == ["plain,compare"]
    Path("nearby").mkdir()
    Path("near.toml").touch()
    Path("near.csv").touch()
    assert completed("outlay compare near") == ["plain,near-tie", "plain,near.toml", "plain,nearby/"]
    Path("nearby/mine.toml").touch()
    assert completed("outlay compare nearby/") == ["plain,nearby/mine.toml"]
    assert completed("outlay compare nowhere/") == [""]
    assert completed("outlay compare --policy frug") == ["plain,Frugal"]
    assert "plain,--dry-run" in completed("outlay compare --")


@pytest.mark.soak  # ten cells of runs of 10⁴ pulls
def test_the_example_of_the_docs_prints_what_they_say(write, reports):
    page = PAGE.read_text(encoding="utf-8")
    example, table = (re.search(rf"^```{kind}\n(.*?)^```", page, re.S | re.M)[1] for kind in ("toml", "text"))  # type: ignore[index]
    write(example)
    done = ask("experiment.toml", "--out", "results", "--workers", "2")
    assert done.exit_code == 0, done.output
    assert Path("results/sweep.txt").read_text(encoding="utf-8") == table
    assert outlay.load("results/correlation=0.5/result.parquet").labels == ["UCB-B1", "Thrifty"]
