"""What older versions wrote still opens; 0.1.0 wrote it under another name, bursar."""

import json
import shutil
from pathlib import Path

import pytest

import outlay
from outlay import Campaign, experiments
from outlay.campaign import import_ledger
from tests.golden.examples import MIXED, PLAYERS

ASSETS = Path(__file__).parent / "assets"
VERSIONS = sorted(
    (path for path in ASSETS.iterdir() if path.name[0].isdigit()),
    key=lambda path: [int(part) for part in path.name.split(".")],
)
LEDGER = Path(__file__).parent / "campaign" / "assets" / "ledger-0001.db"
PROBLEM = outlay.Problem(list(MIXED.values()), names=list(MIXED))

of_each_version = pytest.mark.parametrize("folder", VERSIONS, ids=[path.name for path in VERSIONS])


def test_there_is_a_folder_of_this_version() -> None:
    assert VERSIONS[-1].name == outlay.__version__


@of_each_version
def test_a_result_of_every_policy_on_every_law(folder: Path) -> None:
    result = outlay.load(folder / "result.parquet")
    assert result.version == folder.name
    assert result.problem == PROBLEM
    assert result.policies == PLAYERS
    assert result.pulls.shape == (len(PLAYERS), 2, 2, len(MIXED))
    assert len(result.regret()) == 2 * len(PLAYERS)


@of_each_version
def test_a_problem(folder: Path) -> None:
    assert outlay.Problem.load(folder / "problem.toml") == PROBLEM


@of_each_version
def test_an_exported_ledger(folder: Path, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/new.db"
    verdict = import_ledger(store, folder / "eventful.ndjson")
    assert verdict.choices_checked
    assert (verdict.problems, verdict.notes) == ((), ()), "also what an older version decided otherwise is only a note"
    with Campaign.open(store, "eventful") as campaign:
        assert campaign.status().events == len((folder / "eventful.ndjson").read_text().splitlines()) - 2


@of_each_version
def test_an_experiment(folder: Path) -> None:
    points = experiments.points_of(experiments.load(folder / "experiment.toml"))
    assert [list(point.cells) for point in points] == [["UCB-B1", "Frugal"]] * 5


@pytest.mark.parametrize("there", [("bursar.db",), ("bursar.db", "outlay.db")])
def test_the_default_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], there: tuple[str, ...]
) -> None:
    """The old default is opened where it is all there is; beside a new one it is left alone."""
    from outlay.cli import commands

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OUTLAY_STORE", raising=False)
    monkeypatch.delenv("BURSAR_STORE", raising=False)
    shutil.copy(LEDGER, there[-1])
    for name in there[:-1]:
        Path(name).write_text("not looked at")
    commands(["campaign", "list"], standalone_mode=False)
    assert {json.loads(line)["name"] for line in capsys.readouterr().out.splitlines()} == {"eventful", "hard", "closed"}
