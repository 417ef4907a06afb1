"""`outlay advise`: a table, sentences, JSON, a page; one line for what cannot be done."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.campaign_runs import refused
from tests.html_page import harmless

NASTY = '</script><img src=x onerror="alert(1)">&amp; $x_1$ [red]'


@pytest.fixture
def ask(ask):
    rng = np.random.default_rng(0)
    arms = rng.choice(["small", "large", NASTY], size=900)
    rates = pd.Series(arms).map({"small": 0.3, "large": 0.9}).fillna(0.85).to_numpy()
    frame = pd.DataFrame({"arm": arms, "cost": 1 + rng.random(900), "reward": (rng.random(900) < rates).astype(int)})
    frame.to_csv("log.csv", index=False)
    return partial(ask, "advise")


def test_odd_names(ask):
    """Markup, colons, dollars, emoji: as they are, on the terminal and on the page, and nothing on stderr."""
    names = [NASTY, "[red]x[/red]", ":fox: 🦊", "日本語", "W" * 200]
    frame = pd.DataFrame({"arm": names * 3, "cost": 1.0, "reward": [1, 1, 2, 1, 1] * 3})
    frame.to_csv("odd.csv", index=False)
    done = ask("odd.csv", "--budget", "100", "--no-rehearsal", "--out", "out")
    assert (done.exit_code, done.stderr) == (0, "")
    words = "".join(harmless(Path("out/advice.html").read_text(encoding="utf-8")).words)
    for name in names:
        assert name in words
        assert name in done.stdout.replace("\n", "") or len(name) == 200
    assert ":fox: 🦊 has the best rate so far" in done.stdout
    data = json.loads(ask("odd.csv", "--budget", "9", "--no-rehearsal", "--json").stdout)
    assert [arm["name"] for arm in data["arms"]] == sorted(names)


def test_one_line_for_what_cannot_be_done(ask):
    assert refused(ask("nosuch.csv", "--budget", "1"), 1) == "outlay: there is no file nosuch.csv"
    assert refused(ask("", "--budget", "1"), 2).startswith("outlay: LOG must be the path of a file, ")
    assert refused(ask("log.csv", "--budget", "-1"), 2) == "outlay: --budget must be > 0; got -1.0"
    assert "log.csv has no column 'usd'; it has arm, cost, reward: name the one for the cost" in refused(
        ask("log.csv", "--budget", "1", "--cost", "usd"), 1
    )
    Path("calls.csv").write_text("model;usd;reward\na;1,500;1\n")
    line = refused(ask("calls.csv", "--budget", "1"), 1)
    assert line.endswith("name those for the arm and the cost (--arm COLUMN --cost COLUMN)")
    mapped = ["--arm", "model", "--cost", "usd"]
    line = refused(ask("calls.csv", "--budget", "1", *mapped), 1)
    assert line.endswith("row 2 has '1,500': decimals or thousands?")


def test_contexts(ask):
    """Columns are parted by commas; the answer, the table and JSON say whether they would pay."""
    frame = pd.read_csv("log.csv").assign(topic=["a", "b", "c"] * 300, words=np.arange(900), p=1 / 3)
    frame.to_csv("routed.csv", index=False)
    told = ["routed.csv", "--budget", "900", "--no-rehearsal", "--chance", "p"]
    done = ask(*told, "--context", "topic, words")
    assert "Would topic and words pay?" in done.stdout
    assert "No gain from contexts (topic and words) is visible" in " ".join(done.stdout.split())
    data = json.loads(ask(*told, "--context", "topic", "--requests", "500", "--json").stdout)
    assert data["contexts"]["columns"] == ["topic"]
    assert refused(ask(*told, "--context", "mood"), 1).endswith("the one for the context mood (--context COLUMN)")
    assert refused(ask(*told, "--context", ""), 2).startswith("outlay: --context must be a list of different names")
    assert refused(ask(*told), 2) == "outlay: --chance must be None without context; got 'p'"


def test_what_is_refused_leaves_nothing_behind(ask):
    Path("bad.csv").write_text("arm,cost,reward\na,much,1\n")
    Path("kept").mkdir()
    before = sorted(Path().iterdir())
    for out in ("new", "new/er", "kept", "kept/new"):
        assert "row 2 has 'much'" in refused(ask("bad.csv", "--budget", "1", "--out", out), 1)
        assert refused(ask("bad.csv", "--budget", "0", "--out", out), 2)
    assert sorted(Path().iterdir()) == before
    assert not list(Path("kept").iterdir())


def test_requests_times_and_instances(ask):
    """Each option reaches the library, and errors name the option that is wrong."""
    frame = pd.read_csv("log.csv")
    frame.assign(day=np.arange(900) // 3).to_json("log.jsonl", orient="records", lines=True)
    told = ["log.jsonl", "--budget", "90", "--no-rehearsal", "--json"]
    data = json.loads(ask(*told, "--requests", "300", "--time", "day").stdout)
    assert data["serving"]["requests"] == 300
    assert data["terms"]["timed"] is True
    assert data["answer"][0].startswith("With 90 of cost for 300 requests, 0.3 for each, serve ")
    assert refused(ask(*told, "--time", "when"), 1).endswith("name the one for the time (--time COLUMN)")
    assert "too few instances in the column 'day'" in refused(ask(*told, "--instance", "day"), 1)
    assert refused(ask(*told, "--requests", "0"), 2) == "outlay: --requests must be a whole number ≥ 1; got 0"
    text = ask("log.jsonl", "--budget", "90", "--requests", "300", "--no-rehearsal").stdout
    assert "campaign = outlay.Campaign([" in text
    assert "budget=90.0, requests=300)" in text
