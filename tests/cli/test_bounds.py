"""`outlay bounds`: the table on the screen and in the README, the files, and what goes wrong."""

import re
from functools import partial
from pathlib import Path

import pytest
from tests.cli.campaign_runs import refused

from outlay.arms import Bernoulli, Constant, Problem

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture
def ask(ask):
    """Run `outlay bounds` in an empty folder."""
    return partial(ask, "bounds")


def words(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.strip()]


def test_the_table_in_the_readme_is_what_it_begins_with(ask):
    result = ask("G", "--constants", "proved")
    assert result.exit_code == 0, result.output
    blocks = re.findall(r"^```text\n(.*?)^```", README.read_text(encoding="utf-8"), re.S | re.M)
    shown = next(block for block in blocks if block.startswith("Bounds"))
    assert words(result.stdout)[: len(words(shown))] == words(shown)


def test_curves_are_written_on_demand(ask, tmp_path):
    assert ask("H").exit_code == 0
    assert list(tmp_path.iterdir()) == []
    result = ask("H", "--budget", "1e4", "--out", "there/deep")
    assert result.exit_code == 0, result.output
    assert "Bounds on regret at budget 10,000" in result.stdout
    for name, start in (("bounds.png", b"\x89PNG"), ("bounds.svg", b"<?xml"), ("bounds.pdf", b"%PDF")):
        assert (tmp_path / "there" / "deep" / name).read_bytes().startswith(start)
        assert name in result.stdout


def test_with_requests(ask):
    Path("mine.toml").write_text(
        Problem([Bernoulli(0.1, 0.3), Bernoulli(0.4, 0.6), Constant(0.0, 0.0)], ["small", "large", "skip"]).to_toml()
    )
    said = words(ask("mine.toml", "--budget", "250", "--requests", "1000").stdout)
    assert ["a", "request", "brings", "0.45", "at", "most,", "all", "of", "them", "450"] in said
    assert "the mean cost of 'skip' of rates must be a finite number > 0; got 0.0" in refused(ask("mine.toml"), 2)
    assert "requests of request_bounds must be > 1" in refused(ask("G", "--requests", "0"), 2)
    assert "--out draws curves" in ask("G", "--requests", "10", "--out", "x").output


def test_errors_are_one_line(ask):
    assert "must be a TOML file or a name from the catalogue" in refused(ask("nosuch"), 2)
    assert "outlay: --budget must be" in refused(ask("--budget", "-1"), 2)
    assert "outlay: --budget must be" in refused(ask("--budget", "nan"), 2)
    Path("one.toml").write_text(Problem([Constant(1, 1)]).to_toml())
    assert ask("one.toml").exit_code == 0
    Path("file").write_text("in the way")
    for arguments, said in (
        (["one.toml", "--out", "x"], "no bound to draw: all of them are 0"),
        (["--out", "file"], "cannot write file"),
    ):
        result = ask(*arguments)
        (line,) = result.stderr.splitlines()
        assert (result.exit_code, line.startswith("outlay: "), said in line) == (1, True, True)
