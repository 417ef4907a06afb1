"""Mistakes in code of the user's: each is told in one sentence, with class, method and line, before it is compiled."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import outlay
from outlay.arms import Constant, catalogue
from outlay.errors import BadCode, BadParameter
from outlay.policies import Thrifty
from tests.usercode import wrong

NUMBER = "must return a number; it returned"
ARM = "must return an arm, a whole number from 0 to 2; it returned"
PAIR = "must return a pair of finite numbers, as in `return cost, reward`; it returned"
POLICIES = [
    (wrong.ReturnsText(), "ReturnsText.score", f"{NUMBER} 'high'"),
    (wrong.ReturnsNothing(), "ReturnsNothing.score", f"{NUMBER} None: does a `return` lack?"),
    (
        wrong.Misspells(),
        "Misspells.score",
        "failed with AttributeError: 'Belief' object has no attribute 'mean_cots' (did you mean mean_cost?)",
    ),
    (wrong.TakesTooFew(), "TakesTooFew.score", "must take (self, belief, log_n); it takes (self, belief: "),
    (wrong.ChoosesHalf(), "ChoosesHalf.choose", f"{ARM} 0.0"),
    (wrong.PhaseOfText(), "PhaseOfText.phase", "must return a whole number; it returned 'late'"),
    (wrong.AsksHelper(), "helper", "failed with AttributeError: 'float' object has no attribute 'nothing'"),
]
LAWS = [
    (wrong.DrawsOne(), "DrawsOne.draw", f"{PAIR} 1.0"),
    (wrong.DrawsNan(), "DrawsNan.draw", f"{PAIR} (1.0, nan)"),
    (wrong.DrawsWithoutGenerator(), "DrawsWithoutGenerator.draw", "must take (self, rng); it takes (self)"),
    (wrong.MomentsDivide(), "MomentsDivide.moments", "failed with ZeroDivisionError: "),
]


def marked(name: str) -> str:
    """The function with the line of its mistake, or its first one."""
    part: Any = wrong
    for each in name.split("."):
        part = getattr(part, each)
    lines, first = inspect.getsourcelines(part)
    line = next((first + i for i, text in enumerate(lines) if text.rstrip().endswith("# here")), first)
    return f"{name} (wrong.py, line {line})"


def refusal(play: Callable[[], object]) -> str:
    with pytest.raises(BadCode) as caught:
        play()
    return str(caught.value)


@pytest.mark.parametrize(("policy", "name", "said"), POLICIES, ids=[name for _, name, _ in POLICIES])
def test_a_wrong_policy_is_told_where_it_is_wrong(policy: Any, name: str, said: str) -> None:
    told = refusal(lambda: outlay.simulate(catalogue.load("G"), policy, [10.0], runs=1))
    assert told.startswith(f"{marked(name)} {said}")
    assert "\n" not in told


@pytest.mark.parametrize(("policy", "name", "said"), POLICIES[:3], ids=[name for _, name, _ in POLICIES[:3]])
def test_a_campaign_says_the_same(policy: Any, name: str, said: str) -> None:
    told = refusal(lambda: outlay.Campaign(["a", "b"], 10.0, policy=policy))
    assert told.startswith(f"{marked(name)} {said}")


@pytest.mark.parametrize(("law", "name", "said"), LAWS, ids=[name for _, name, _ in LAWS])
def test_a_wrong_law_is_told_where_it_is_wrong(law: Any, name: str, said: str) -> None:
    assert refusal(lambda: outlay.Problem([Constant(1.0, 1.0), law])).startswith(f"{marked(name)} {said}")


def simulated(policies: Any) -> object:
    return outlay.simulate(catalogue.load("G"), policies, [10.0])


def spent(policy: Any) -> object:
    return outlay.Campaign(["a", "b"], 10.0, policy=policy)


@pytest.mark.parametrize(
    ("make", "given", "sentence"),
    [
        (simulated, wrong.Misspells, "did you mean Misspells()?"),
        (simulated, [Thrifty], "did you mean Thrifty()?"),
        (simulated, "thrifty", "did you mean Thrifty(…)?"),
        (spent, Thrifty, "did you mean Thrifty()?"),
        (outlay.Problem, [wrong.Fair, wrong.Fair()], "did you mean Fair()?"),
        (outlay.Problem, [Constant, wrong.Fair()], "did you mean Constant(…)?"),
    ],
)
def test_a_class_or_a_name_is_not_an_object(make: Callable[[Any], object], given: Any, sentence: str) -> None:
    with pytest.raises(BadParameter, match=re.escape(sentence)):
        make(given)


def test_a_class_that_is_no_namedtuple_is_told_what_it_lacks() -> None:
    class Plain:
        def score(self, belief: Any, log_n: float) -> float:
            return 1.0

    with pytest.raises(BadParameter, match=r"did you mean `class Plain\(NamedTuple\)`\?"):
        outlay.simulate(catalogue.load("G"), Plain(), [10.0])


class Infinite(NamedTuple):
    """Divides by 0 before the first pull, as machine code may: then it is infinite."""

    width: float = 1.0

    def score(self, belief: Any, log_n: float) -> float:
        return float(self.width / belief.pulls)


class Late(NamedTuple):
    """Fails at the tenth pull."""

    width: float = 1.0

    def score(self, belief: Any, log_n: float) -> float:
        if belief.pulls == 9:
            raise RuntimeError("nine are enough")
        return -float(belief.arm)


def test_arithmetic_that_python_refuses_is_left_to_the_run() -> None:
    assert outlay.Campaign(["a", "b"], 10.0, policy=Infinite()).policy == Infinite()


@pytest.mark.interpreted
def test_a_mistake_that_shows_late_is_told_where_it_is() -> None:
    told = refusal(lambda: outlay.simulate(catalogue.load("G"), Late(), [100.0], runs=1))
    line = 2 + next(i for i, text in enumerate(Path(__file__).read_text().splitlines()) if "pulls == 9:" in text)
    expected = f"Late.score (test_wrong.py, line {line}) failed with RuntimeError: nine are enough"
    assert told == f"a run of Late failed: {expected}"


class Scoer(NamedTuple):
    width: float = 1.0

    def scoer(self, belief: Any, log_n: float) -> float:
        return self.width


def test_a_misspelt_method_is_named() -> None:
    with pytest.raises(BadParameter, match=r"and choose \(did you mean score, not scoer\?\); got Scoer"):
        outlay.simulate(catalogue.load("G"), Scoer(), [10.0], runs=1)  # type: ignore[arg-type]
