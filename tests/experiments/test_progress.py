"""Time: what is left by the pace of each policy, and what a calibration foretells."""

import io
import re
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from outlay.experiments import estimate, load, play, points_of, run
from outlay.experiments.plan import BarState, Progress
from outlay.experiments.play import jobs

from .conftest import SWEPT


def test_each_label_has_its_pace(write):
    lines: list[str] = []
    every = jobs(points_of(load(write(SWEPT))))  # 4 runs of 50 pulls: 200 pulls a cell
    progress = Progress(every, say=lines.append)
    assert progress.left == 0.0
    (quick, first), (slow, second), (_, third), (_, fourth) = every
    progress.done(quick, "correlation = -0.5", first, 1.0)
    assert progress.left == pytest.approx(3.0), "one pace for all, as long as there is one"
    progress.done(slow, "correlation = -0.5", second, 300.0)
    assert progress.left == pytest.approx(301.0)
    progress.done(quick, "correlation = 0.5", third, 3.0)
    assert progress.left == pytest.approx(300.0)
    progress.done(slow, "", fourth, 100.0)
    assert progress.played == 4
    assert lines == [
        "1/4  RoundRobin, correlation = -0.5: 1.0 s, 200 pulls/s, 3 s left",
        "2/4  stubborn, correlation = -0.5: 300.0 s, 0.667 pulls/s, 5 min left",
        "3/4  RoundRobin, correlation = 0.5: 3.0 s, 66.7 pulls/s, 5 min left",
        "4/4  stubborn: 100.0 s, 2 pulls/s",
    ]


def test_the_state_of_a_cell_at_work(write, monkeypatch):
    now, states = [0.0], list[BarState]()
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    every = jobs(points_of(load(write(SWEPT))))  # 200 pulls a cell
    progress = Progress(every, points=2, show=states.append)
    (quick, first), (slow, second), *_ = every
    told = progress.reporter(quick, "correlation = -0.5", first)
    assert states.pop() == ("RoundRobin, correlation = -0.5", 0.0, None, None), "nothing is known yet"
    now[0] = 2.0
    told(0.5)
    assert states.pop() == ("RoundRobin, correlation = -0.5", 0.125, 50.0, 2.0 + 3 * 4.0)
    progress.done(quick, "", first, 4.0)
    told = progress.reporter(slow, "", second)
    assert states.pop() == ("stubborn", 0.25, None, 12.0)
    now[0] = 6.0
    told(0.25)
    *said, left = states.pop()
    assert said == ["stubborn", 0.3125, 12.5]
    assert left == pytest.approx(12.0 + 4.0 + 200 * 8 / 250)
    progress.done(slow, "", second, 16.0)
    with progress.drawing("correlation = -0.5"):
        now[0] += 5.0
    assert states.pop()[:3] == ("drawing, correlation = -0.5", 0.5, None)
    assert progress.left == pytest.approx(4.0 + 16.0 + 5.0), "one more report, as long as the last"


def test_the_bar_says_what_is_done(write, simulated, monkeypatch):
    """On a terminal that keeps all that is written to it; markup in a label is text."""
    screen = io.StringIO()
    terminal = partial(Console, file=screen, force_terminal=True, width=100)
    monkeypatch.setattr("rich.console.Console", lambda **_: terminal())
    outcome = run(load(write(SWEPT.replace("stubborn", "[red]mule"))), "out", print, bar=True)
    assert outcome.played == 4
    shown = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", screen.getvalue())
    assert "drawing, correlation = 0.5" in shown


@pytest.fixture
def clock(monkeypatch):
    """A simulator that takes 10 s to compile each policy, then 0.1 s for itself and a millisecond for each pull."""
    now, known = [0.0], set()

    def simulate(problem, policy, budgets, *, runs, **_):
        if type(policy) not in known:
            known.add(type(policy))
            now[0] += 10.0
        now[0] += 0.1 + 1e-3 * runs * budgets[-1] / float(problem.mean_costs[problem.best])
        return SimpleNamespace(oracle_reward=np.zeros(1))

    monkeypatch.setattr(play, "simulate", simulate)
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    return now


def test_the_estimate_is_scaled_by_pulls(write, clock):
    text = SWEPT.replace("budgets = [20, 50]", "budgets = [2e3, 5e3]").replace("runs = 4", "runs = 600")
    shares = estimate(load(write(text)), "out")
    assert [(share.label, share.cells, share.missing, share.pulls) for share in shares] == [
        ("RoundRobin", 2, 2, 6e6),
        ("stubborn", 2, 2, 6e6),
    ]
    assert [share.seconds for share in shares] == pytest.approx([6e3 + 0.2, 6e3 + 0.2])
    assert clock[0] < 30.0, "it measured for a moment"


def test_what_is_there_takes_no_time(write, simulated, request):
    experiment = load(write(SWEPT))
    run(experiment, "out")
    request.getfixturevalue("clock")  # it takes the simulator's place
    more = SWEPT + '[[sweep]]\nover = "policies.stubborn.arm"\nvalues = [0, 1]\n'
    shares = estimate(load(write(more)), "out")
    assert [(share.label, share.cells, share.missing) for share in shares] == [("RoundRobin", 2, 0), ("stubborn", 4, 2)]
    assert shares[0].seconds == 0.0
    assert shares[1].seconds == pytest.approx(2 * (0.1 + 0.2))
