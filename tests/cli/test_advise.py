"""`outlay advise`: a table, sentences, JSON, a page; one line for what cannot be done."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from outlay.advice import rehearsal
from outlay.cli import commands

NASTY = '</script><img src=x onerror="alert(1)">&amp; $x_1$ [red]'


@pytest.fixture
def ask(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    arms = rng.choice(["small", "large", NASTY], size=900)
    rates = pd.Series(arms).map({"small": 0.3, "large": 0.9}).fillna(0.85).to_numpy()
    frame = pd.DataFrame({"arm": arms, "cost": 1 + rng.random(900), "reward": (rng.random(900) < rates).astype(int)})
    frame.to_csv("log.csv", index=False)

    def ask(*arguments: str) -> Result:
        return CliRunner().invoke(commands, ["advise", *arguments], prog_name="outlay")

    return ask


@pytest.fixture
def played(monkeypatch):
    """A rehearsal without a simulation."""
    table = [("Thrifty", 90.0, 0.9), ("UCBB1", 50.0, 0.5), ("RoundRobin", 50.0, 0.5)]

    def rehearse(problem, contenders, budget, *, runs, seed, workers):
        found = [
            rehearsal.Candidate(name, contenders.get(name, contenders[next(iter(contenders))]), reward, 1.0, share,
                                100.0 - reward, 0.5, 60.0, reward - 90.0, 0.7, name != "Thrifty")
            for name, reward, share in table
        ]  # fmt: skip
        return rehearsal.Rehearsal(budget, 20, seed, problem.names[problem.best], 100.0, 1.5, 95.0, 105.0, found)

    monkeypatch.setattr(rehearsal, "rehearse", rehearse)


def test_tables_sentences_and_code(ask, played):
    done = ask("log.csv", "--budget", "1e4")
    assert done.exit_code == 0, done.output
    text = done.stdout
    assert text.startswith("log.csv: 900 rows, 3 arms; 10,000 of cost to spend")
    assert re.search(r"large +\d+ +1\.[45]\d* .* best so far", text)
    assert re.search(r"Thrifty +90\.0 ± 1\.0 +90\.0% +10\.00 ± 0\.50 +60", text)
    assert "; UCBB1 was still trying every arm in turn at this budget, as RoundRobin does\n" in text
    assert "8 runs in 10 earned between 95 and 105." in text
    assert "Ruled out with 95% confidence that the best arm is not among them (compared over the whole log; " in text
    assert f"corrected for all comparisons with it): {NASTY} and small." in " ".join(text.split())
    assert re.search(r"selection +A log does not say why", text)
    assert text.rstrip().endswith("# use pull.arm, and say what it cost and earned")
    assert NASTY in text


def test_odd_names(ask):
    """Markup, colons, dollars, emoji: as they are, on the terminal and on the page, and nothing on stderr."""
    names = [NASTY, "[red]x[/red]", ":fox: 🦊", "日本語", "W" * 200]
    frame = pd.DataFrame({"arm": names * 3, "cost": 1.0, "reward": [1, 1, 2, 1, 1] * 3})
    frame.to_csv("odd.csv", index=False)
    done = ask("odd.csv", "--budget", "100", "--no-rehearsal", "--out", "out")
    assert (done.exit_code, done.stderr) == (0, "")
    words = "".join(Page(Path("out/advice.html").read_text(encoding="utf-8")).words)
    for name in names:
        assert name in words
        assert name in done.stdout.replace("\n", "") or len(name) == 200
    assert ":fox: 🦊 has the best rate so far" in done.stdout
    assert [
        arm["name"] for arm in json.loads(ask("odd.csv", "--budget", "9", "--no-rehearsal", "--json").stdout)["arms"]
    ] == sorted(names)


def failed(result: Result, code: int) -> str:
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    [line] = result.stderr.splitlines()
    return line


def test_one_line_for_what_cannot_be_done(ask):
    assert failed(ask("nosuch.csv", "--budget", "1"), 1) == "outlay: there is no file nosuch.csv"
    assert failed(ask(".", "--budget", "1"), 1) == "outlay: . is a folder; a log is one CSV, JSON lines or Parquet file"
    assert failed(ask("", "--budget", "1"), 2).startswith("outlay: LOG must be the path of a file, ")
    assert failed(ask("log.csv", "--budget", "-1"), 2) == "outlay: --budget must be > 0; got -1.0"
    assert "log.csv has no column 'usd'; it has arm, cost, reward: name the one for the cost" in failed(
        ask("log.csv", "--budget", "1", "--cost", "usd"), 1
    )
    Path("calls.csv").write_text("model;usd;reward\na;1,5;1\n")
    line = failed(ask("calls.csv", "--budget", "1"), 1)
    assert line.endswith("name those for the arm and the cost (--arm COLUMN --cost COLUMN)")
    mapped = ["--arm", "model", "--cost", "usd"]
    line = failed(ask("calls.csv", "--budget", "1", *mapped), 1)
    assert line.endswith("row 2 has '1,5': write decimals with a point, and thousands without a comma")
    assert ask("log.csv", "--budget", "ten").exit_code == 2
    assert "Missing option '--budget'" in ask("log.csv").stderr


def test_what_is_refused_leaves_nothing_behind(ask):
    Path("bad.csv").write_text("arm,cost,reward\na,much,1\n")
    Path("kept").mkdir()
    before = sorted(Path().iterdir())
    for out in ("new", "new/er", "kept", "kept/new"):
        assert "row 2 has 'much'" in failed(ask("bad.csv", "--budget", "1", "--out", out), 1)
        assert failed(ask("bad.csv", "--budget", "0", "--out", out), 2)
    assert sorted(Path().iterdir()) == before
    assert not list(Path("kept").iterdir())


def test_a_bad_place_is_found_before_the_work_begins(ask):
    for out in ("log.csv", "log.csv/deep"):
        said = failed(ask("nosuch.csv", "--budget", "1", "--out", out), 1)
        assert said.startswith(f"outlay: cannot write {out}: ")
    assert "it is a file" in failed(ask("nosuch.csv", "--budget", "1", "--out", "log.csv"), 1)
    Path("out/advice.html").mkdir(parents=True)
    assert "out/advice.html: it is a folder" in failed(ask("nosuch.csv", "--budget", "1", "--out", "out"), 1)


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.words.append(data)


def test_the_page(ask, played):
    done = ask("log.csv", "--budget", "1e4", "--out", "deep/er")
    assert done.stdout.rstrip().endswith("wrote deep/er/advice.html")
    text = Path("deep/er/advice.html").read_text(encoding="utf-8")
    page = Page(text)
    words = " ".join(page.words)
    for word in (
        "How to spend 10,000 of cost, by log.csv",
        "large",
        "campaign = outlay.Campaign(",
        "selection",
        "RoundRobin",
        NASTY,
    ):
        assert word in words
    assert page.tags.count("svg") == 4
    assert page.tags.count("table") == 2
    assert "prefers-color-scheme: dark" in text
    assert not {"script", "img", "link", "iframe"} & set(page.tags)
    assert not re.search(r"@import|url\((?!#)", text)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert all(
        not (value or "").startswith(("http", "//")) for name, value in page.attributes if name in ("src", "href")
    )
    ask("log.csv", "--budget", "1e4", "--out", "again")
    assert Path("again/advice.html").read_text(encoding="utf-8") == text


def test_requests_times_and_instances(ask):
    """Each option reaches the library, and errors name the option that is wrong."""
    frame = pd.read_csv("log.csv")
    frame.assign(day=np.arange(900) // 3).to_json("log.jsonl", orient="records", lines=True)
    told = ["log.jsonl", "--budget", "90", "--no-rehearsal", "--json"]
    data = json.loads(ask(*told, "--requests", "300", "--time", "day").stdout)
    assert data["serving"]["requests"] == 300
    assert data["terms"]["timed"] is True
    assert data["answer"][0].startswith("With 90 of cost for 300 requests, 0.3 for each, serve ")
    assert failed(ask(*told, "--time", "when"), 1).endswith("name the one for the time (--time COLUMN)")
    assert "too few instances in the column 'day'" in failed(ask(*told, "--instance", "day"), 1)
    assert failed(ask(*told, "--requests", "0"), 2) == "outlay: --requests must be a whole number ≥ 1; got 0"
    text = ask("log.jsonl", "--budget", "90", "--requests", "300", "--no-rehearsal").stdout
    assert "campaign = outlay.Campaign([" in text
    assert "budget=90.0, requests=300)" in text
