"""`outlay advise`: a table, sentences, JSON, a page; one line for what cannot be done."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

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


def test_odd_names(ask):
    """Markup, colons, dollars, emoji: as they are, on the terminal and on the page, and nothing on stderr."""
    names = [NASTY, "[red]x[/red]", ":fox: 🦊", "日本語", "W" * 200]
    frame = pd.DataFrame({"arm": names * 3, "cost": 1.0, "reward": [1, 1, 2, 1, 1] * 3})
    frame.to_csv("odd.csv", index=False)
    done = ask("odd.csv", "--budget", "100", "--no-rehearsal", "--out", "out")
    assert (done.exit_code, done.stderr) == (0, "")
    text = Path("out/advice.html").read_text(encoding="utf-8")
    page = Page(text)
    assert not {"script", "img", "link", "iframe"} & set(page.tags)
    assert not re.search(r"@import|url\((?!#)", text)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert not any(
        (value or "").startswith(("http", "//")) for name, value in page.attributes if name in ("src", "href")
    )
    words = "".join(page.words)
    for name in names:
        assert name in words
        assert name in done.stdout.replace("\n", "") or len(name) == 200
    assert ":fox: 🦊 has the best rate so far" in done.stdout
    data = json.loads(ask("odd.csv", "--budget", "9", "--no-rehearsal", "--json").stdout)
    assert [arm["name"] for arm in data["arms"]] == sorted(names)


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
