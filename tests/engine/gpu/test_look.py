"""Looks at the others and leaders in hand, in the interpreter: every choice is that of the full comparison."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from outlay.engine.gpu import hand as hands
from outlay.engine.gpu import look as looks
from outlay.formulas.certificate import LEADER, forget_certificate
from outlay.formulas.choose import best_by_excess, best_of_opened
from outlay.policies.protocol import memory_of, way_of
from tests.engine.gpu.examples import of_hand
from tests.engine.tape import Tape, recorded, spread
from tests.engine.test_certificate import frugal, kl_rate, thrifty

RECORDED = recorded()


@pytest.mark.parametrize("runs", [15, pytest.param(500, marks=pytest.mark.soak)])
@pytest.mark.parametrize("make", [kl_rate, frugal, thrifty])
def test_choices_are_those_of_the_full_comparison(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[np.random.Generator], Any], runs: int
) -> None:
    """Random runs: 1 to 60 arms of all laws, scales from 1e-15 to 1e15, shifts that make costs or rewards ≤ 0."""
    way = way_of(type(make(np.random.default_rng(0)))).name
    full = best_of_opened if way == "opening" else best_by_excess
    monkeypatch.setattr(looks, "begin", looks.BEGIN_WITH[way])
    monkeypatch.setattr(hands, "of_hand", of_hand)
    if way != "opening":
        monkeypatch.setattr(looks, "excess_of_fresh", looks.none_is_fresh)
        for name in ("pick_up_usual", "put_down_usual", "as_usual"):
            monkeypatch.setattr(hands, name, hands.nothing_usual)
    certain = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        arms = int(spread(rng, 1, 61))
        policy, world = make(rng), Tape(RECORDED, rng.integers(len(RECORDED), size=arms))
        memory, pulls, known = memory_of(policy, arms), np.zeros(arms, np.int64), looks.blank_certificate(arms)
        scales = 10.0 ** rng.choice([-15, 0, 0, 0, 3, 15], 2)
        shifts = scales * rng.choice([0.0, 0.0, 0.0, -1.0, 1.0], 2)
        if getattr(policy, "budget", None):
            policy = policy._replace(budget=policy.budget * scales[0])
        forget_certificate(known)
        hand = hands.Hand(np.zeros((2, 8)), np.zeros(3), np.zeros(2), np.zeros((2, hands.SIDES)))
        arm, sure, held = 0, False, False
        for n in range(int(spread(rng, 30, 600))):
            if not sure:
                arm = looked(policy, memory, pulls, known, n, rng)
                held = arm == known.marks[LEADER] and hands.at_rest(known)
                held = held and hands.pick_up_lead(memory, hand, arm, known)
            certain += sure
            assert arm == full(policy, memory, pulls), (seed, n)
            cost, reward = np.array(world.pull(arm, rng)) * scales + shifts
            if held:
                sure = hands.lead_on(memory, hand, arm, float(cost), float(reward))
                hands.put_down_lead(memory, hand, arm)
            else:
                memory.observe(arm, float(cost), float(reward))
                sure = False
            pulls[arm] += 1
    assert certain > 0


def looked(policy: Any, memory: Any, pulls: Any, known: Any, n: int, rng: Any) -> int:
    """The arm to pull, by a look with no more steps than it may have."""
    look = looks.Look(looks.BEGIN, 0, 0, 0.0, 0.0, 0.0)
    for _ in range(20 * len(pulls) + 1):
        look = looks.step(policy, memory, pulls, known, look, n, rng)
        if look.stage == looks.DECIDED:
            return look.arm
    pytest.fail("no end")
