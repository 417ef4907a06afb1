"""Compiled choices in campaigns: those of the interpreter, from any moment on; and what happens without them."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from outlay import Campaign, policies
from outlay.beliefs import Moments, Opened, Pooled
from outlay.beliefs.sums import ROOM
from outlay.campaign.ledger.choosing import quick
from outlay.campaign.ledger.choosing.learner import Learner
from outlay.campaign.ledger.choosing.stream import Stream
from outlay.compiler import ahead
from outlay.compiler.records import shape
from outlay.formulas.choices.imagined import PICKERS, name_arm
from outlay.policies import baselines as b
from outlay.policies.protocol import Restores, memory_of, way_of
from tests.campaign.test_shortcut import MADE, Story
from tests.campaign.test_simulator import CANDIDATES

SERVED = [  # for any number of arms: what is told of each, as of two, is for two
    policy
    for policy in [*CANDIDATES, policies.FiellerKnown(0.04, 0.09, 0.01)]
    if policy != () and way_of(type(policy)).name in PICKERS and isinstance(memory_of(policy, 2), Restores)
    if all(np.size(value) <= 1 for value in policy)
]
EVERY_DAY = [*MADE.values(), policies.KLRate("one", "sample"), policies.UCBB1(0.01, 0.01, 0.0), b.OmegaUCB()]


def at_hand(learner: Learner, entry: Any) -> None:
    """Let compiled code, or what stands in for it, be there from now on; or no longer, if it is None."""
    coming, made = ahead.Coming(), learner._quick
    coming.entry, made._coming, made._made_for = entry, coming, shape((made._picker, learner.memory))


def ordered(policy: Any, monkeypatch: pytest.MonkeyPatch) -> ahead.Coming:
    """What a campaign with this policy sends for."""
    monkeypatch.setattr(quick, "WORTH", 0.0)
    monkeypatch.delenv("OUTLAY_COMPILE_AHEAD", raising=False)
    learner = Learner(policy, 3, 50.0)
    learner.choose(range(3), {}, 0.0, Stream(0, 1))
    assert learner._quick._coming is not None
    learner._quick.wait()
    return learner._quick._coming


def bits(learner: Learner) -> list[bytes]:
    return [array.tobytes() for array in (*learner.memory, learner.pulls, learner.totals)]


def told(policy: Any, entry: Any, stories: int) -> int:
    """How many choices `entry` made in some stories, all of which are those of comparing every arm."""
    calls = []

    def counted(*given: Any) -> int:
        calls.append(1)
        return int(entry(*given))

    for seed in range(stories):
        story, switch = Story(policy, seed), np.random.default_rng(seed)
        for n in range(100):
            if switch.random() < 0.1:
                at_hand(story.learner, counted if switch.random() < 0.8 else None)
            for _ in range(int(story.rng.integers(4))):
                story.happens(n)
            if seed % 4:  # in the others, arms that are closed for a while leave the choice to the interpreter
                story.closed.clear()
            before = bits(story.learner)
            arm, expected = story.chooses()
            assert arm == expected, f"story {seed}, choice {n}"
            assert bits(story.learner) == before, f"story {seed}, choice {n}: something imagined was left behind"
    return len(calls)


def assert_samples_are_taken_in(policy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By compiled code as by the interpreter, bit for bit."""
    monkeypatch.setattr(quick, "WORTH", 0.0)
    one, other, rng = Learner(policy, 3, 50.0), Learner(policy, 3, 50.0), np.random.default_rng(2)
    one.choose(range(3), {}, 0.0, Stream(0, 1))
    assert one._quick._learning is not None
    one._quick.wait()
    assert one._quick._learning.failure is None
    assert one._quick.find(one.policy, one.memory, 3)
    for n in range(300):
        arm, cost, reward = int(rng.integers(3)), float(rng.normal(1.0, 0.7)), round(float(rng.normal(1.0, 0.5)), 1)
        one.observe(arm, cost, reward, Stream(0, n))
        other.observe(arm, cost, reward, Stream(0, n))
        assert bits(one) == bits(other)
        if n == 150:
            one.widen(Stream(0, n))
            other.widen(Stream(0, n))
            assert not one._quick.learn(one.memory, 0, 1.0, 1.0)  # no choice has looked at this memory
            one.choose(range(4), {1: 2}, 0.0, Stream(0, 1))


@pytest.mark.parametrize("policy", EVERY_DAY, ids=repr)
def test_the_function_that_is_compiled_chooses_as_campaigns_always_did(policy: Any) -> None:
    assert told(policy, name_arm, stories=4) > 50


@pytest.mark.soak
@pytest.mark.parametrize("policy", SERVED, ids=repr)
def test_the_same_of_every_policy_that_is_served(policy: Any) -> None:
    assert told(policy, name_arm, stories=300) > 5000


@pytest.mark.soak  # each kind of choice is compiled
def test_compiled_choices_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled by another process, as in a campaign; then the next campaign finds it at once."""
    policy = policies.UCBB2(1.0, 1.0)  # Thrifty takes ten times as long to compile, and `make soak` does
    coming = ordered(policy, monkeypatch)
    assert coming.failure is None
    assert coming.entry is not None
    assert told(policy, coming.entry, stories=12) > 300
    assert_samples_are_taken_in(policy, monkeypatch)
    assert ordered(policies.UCBB2(2.0, 1.0), monkeypatch) is coming


@pytest.mark.soak
@pytest.mark.parametrize("policy", SERVED, ids=repr)
def test_compiled_choices_are_the_same_whatever_the_policy(policy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    coming = ordered(policy, monkeypatch)
    assert coming.failure is None
    assert told(policy, coming.entry, stories=300) > 5000
    assert_samples_are_taken_in(policy, monkeypatch)


@pytest.mark.parametrize("make", [Moments.empty, lambda arms: Pooled.empty(arms, keep=4), Opened.empty])
def test_what_was_imagined_can_be_undone(make: Callable[[int], Any]) -> None:
    rng, memory = np.random.default_rng(4), make(6)
    for arm in (3, 3, 5, 3):
        memory.observe(arm, *rng.uniform(0.5, 1.5, 2).tolist())
    for given in (memory, make(6)):
        before, room, imagined = [array.tobytes() for array in given], np.zeros((6, ROOM)), rng.permutation(6).tolist()
        for i, arm in enumerate(imagined):
            given.keep(arm, i + 1, room[i])
            given.imagine(arm, i + 1, *rng.uniform(0.5, 1.5, 2).tolist())
        assert [array.tobytes() for array in given] != before
        for i in range(5, -1, -1):
            given.restore(imagined[i], i + 1, room[i])
        assert [array.tobytes() for array in given] == before


def failing(monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    def fail(*_: Any) -> None:
        raise OSError(reason)

    monkeypatch.setattr(ahead, "_fetched", fail)
    monkeypatch.setattr(ahead, "_coming", {})


def test_what_fails_in_the_background_is_said_once_and_campaigns_go_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failing(monkeypatch, "no room on the device")
    coming = ordered(policies.Thrifty(), monkeypatch)
    assert coming.failure == "OSError: no room on the device"
    with caplog.at_level(logging.WARNING, "outlay.campaign"):
        for _ in range(2):
            campaign = Campaign(["a", "b"], 100.0)
            for _ in range(5):
                pull = campaign.ask()
                assert pull is not None
                campaign.tell(pull, cost=1.0, reward=0.5)
    assert [record.getMessage() for record in caplog.records] == [
        "choices are made by the interpreter, more slowly: OSError: no room on the device"
    ]


def test_what_the_other_process_refuses_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    coming = ahead.order("outlay.campaign.ledger.choosing.compiled:MISSING", (policies.Thrifty(),))
    coming.over.wait()
    assert (
        coming.failure == "AttributeError: module 'outlay.campaign.ledger.choosing.compiled' has no attribute 'MISSING'"
    )
    monkeypatch.setattr(ahead, "_CHILD", "print('AnyError: not today'); raise SystemExit(1)")
    from outlay.compiler.dispatch import CannotCompile

    with pytest.raises(CannotCompile, match="AnyError: not today"):
        ahead._have_compiled(ahead.Coming(), "module:NAME", ())


def test_nothing_is_compiled_that_cannot_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OUTLAY_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(ahead, "_coming", {})
    coming = ordered(policies.Frugal(), monkeypatch)
    assert coming.failure == "CannotCompile: compiled code cannot be kept on disk: see OUTLAY_CACHE_DIR"


@pytest.mark.parametrize(("arms", "choices"), [(3, 29_412), (1000, 331)])
def test_it_is_sent_for_when_the_interpreter_has_taken_as_long(
    arms: int, choices: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By all campaigns of the process with that policy together, each of which then finds it at once."""
    sent: list[str] = []

    def order(versions: str, _: Any) -> ahead.Coming:
        sent.append(versions)
        return ahead.Coming()

    monkeypatch.setattr(quick, "_spent", {})
    monkeypatch.setattr(quick, "order", order)
    monkeypatch.delenv("OUTLAY_COMPILE_AHEAD", raising=False)
    learners = [Learner(policy, 2, 50.0) for policy in (policies.Frugal(), policies.Frugal(), policies.KLRate("one"))]

    def ask(learner: Learner) -> int:
        assert not learner._quick.find(learner.policy, learner.memory, arms)
        return len(sent)

    assert [ask(learners[n % 2]) for n in range(choices)] == [0] * (choices - 1) + [2]
    assert ask(learners[choices % 2]) == 4
    assert [ask(learners[n]) for n in (0, 1, 2)] == [4, 4, 4]


class Mine(policies.Thrifty):
    __slots__ = ()


@pytest.mark.parametrize("policy", [Mine(), b.Greedy(), policies.UCBM1(0.1, 0.1, 0.0), b.BTS()], ids=repr)
def test_other_policies_are_interpreted(policy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "WORTH", 0.0)
    monkeypatch.setattr(quick, "order", None)
    learner = Learner(policy, 3, 50.0)
    assert learner.choose(range(3), {}, 0.0, Stream(0, 1)) in range(3)
    assert not learner._quick._noted


def test_a_short_campaign_does_without_numba(fresh_python: Any) -> None:
    script = """
import sys
from outlay import Campaign
campaign = Campaign(["a", "b", "c"], 100.0)
for _ in range(50):
    pull = campaign.ask()
    campaign.tell(pull, cost=1.0, reward=0.5)
print("numba" in sys.modules)
"""
    assert fresh_python(script, OUTLAY_COMPILE_AHEAD="").stdout == "False\n"
