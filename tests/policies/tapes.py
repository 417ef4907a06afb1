"""KL-rate and Frugal with their slow twins, kinds of outcomes to feed them, and runs of policies with `excess`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.policies import slow_kl_rate as slow

from outlay.beliefs import SequentialMoments
from outlay.formulas.argmax import best_by_excess, best_of_opened
from outlay.policies import Frugal, KLRate

Array = NDArray[np.float64]
Tape = Callable[[np.random.Generator, int], tuple[float, float]]

EVERY: list[tuple[Any, slow.Excess]] = [
    *(
        (KLRate(schedule, evidence, bound), slow.kl_rate(schedule, evidence, bound))
        for schedule in ("plus", "half", "one")
        for evidence in ("closed", "sample")
        for bound in (None, 1.5)
    ),
    (KLRate("one", "exact", 1.5), slow.kl_rate("one", "exact", 1.5)),
    *((Frugal(*given), slow.frugal(*given)) for given in ((0.3, 7.0, None), (0.3, 7.0, 1.5), (0.2, 0.5, None))),
]
ALL = [policy for policy, _ in EVERY]


def gaussian(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    z, w = rng.normal(size=2)
    return 1 + 0.2 * arm + 0.3 * z, 1 - 0.2 * arm + 0.5 * (0.8 * z + 0.6 * w)


def coins(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    cost = rng.random() < 0.5
    return float(cost), float(rng.random() < 0.6 - 0.1 * arm + 0.2 * cost)


def lattice(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return float(rng.integers(1, 3)), float(rng.integers(0, 3)) / 2 - 0.25 * (arm == 1)


def refunds(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return 0.4 - 0.2 * arm + rng.normal(), 0.5 + 0.5 * rng.normal()


def losses(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return rng.exponential(), -0.5 - 0.1 * arm - rng.random()


def nothing(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return rng.exponential(1 + arm), 0.0


def rarely(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return 1.0 + arm, float(rng.random() < 0.03)


def constants(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return (1.0, 2.0, 3.0, 2.0)[arm], (1.0, 1.0, 3.0, 1.0)[arm]


def heavy(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return rng.pareto(1.3), 0.3 * rng.pareto(2.1 + 0.3 * arm)


def on_a_line(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    cost = rng.exponential()
    return cost, (1 - 0.1 * arm) * cost + 0.01 * arm


def free(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return (0.0, rng.exponential(), 0.0, -0.5)[arm], rng.random()


def scales(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    scale, z, w = (1.0, 1e3, 1e-3, 1e6)[arm], *rng.normal(size=2)
    return scale * (1 + 0.3 * z), scale * (1 - 0.1 * arm + 0.5 * w)


TAPES = [gaussian, coins, lattice, refunds, losses, nothing, rarely, constants, heavy, on_a_line, free]
EVERY_DAY = (gaussian, lattice, refunds, nothing, heavy, free)
each_tape = pytest.mark.parametrize(  # the slow twins take a second for each
    "tape", [pytest.param(t, marks=() if t in EVERY_DAY else pytest.mark.soak, id=t.__name__) for t in TAPES]
)


Law = Callable[[int, int], tuple[float, float]]  # of an arm and k: its k-th sample


class Run:
    """A run of a policy with `excess`, in the interpreter."""

    def __init__(self, policy: Any, law: Law, arms: int, end: int, order: list[int] | None = None) -> None:
        self.memory, self.pulls, self.chosen = policy.memory(arms), np.zeros(arms, np.int64), list[int]()
        if order is not None:
            self.memory.order[:] = order
            self.memory.place[order] = np.arange(arms)
        for _ in range(end):
            arm = best(policy, self.memory, self.pulls)
            self.memory.observe(arm, *law(arm, int(self.pulls[arm])))
            self.pulls[arm] += 1
            self.chosen.append(arm)


def best(policy: Any, memory: Any, pulls: Any) -> int:
    full = best_of_opened if isinstance(memory, SequentialMoments) else best_by_excess
    return full(policy, memory, pulls)


def taped(tape: Tape, seed: int, arms: int = 4) -> list[slow.Pairs]:
    rng = np.random.default_rng(seed)
    return [[tape(rng, arm % 4) for _ in range(150)] for arm in range(arms)]


def scaled(samples: list[slow.Pairs], cost: float, reward: float) -> Law:
    return lambda arm, k: (cost * samples[arm][k][0], reward * samples[arm][k][1])


def compared(policy: Any, tape: Tape, arms: int, seed: int, steps: list[int], twin: Any) -> tuple[int, int]:
    """Play a run, compare it with the twin at some steps, and count how many: where rounding decides nothing, and all.

    More arms than a tape has are of its laws in turn.
    """
    rng, memory, pulls = np.random.default_rng(seed), policy.memory(arms), np.zeros(arms, np.int64)
    samples: list[slow.Pairs] = [[] for _ in range(arms)]
    spent, clear, of, order = 0.0, 0, 0, list[int]()
    if isinstance(memory, SequentialMoments):
        memory.shuffle(rng)
        order = memory.order.tolist()
    for n in range(steps[-1] + 1):
        arm = best(policy, memory, pulls)
        if n in steps:
            expected = twin(samples, order)
            of, clear = of + 1, clear + expected.clear
            if expected.clear:
                assert arm == expected.arm, (policy, n)
                assert_excess(policy, memory, expected, (policy, n))
        cost, reward = tape(rng, arm % 4)
        memory.observe(arm, cost, reward)
        samples[arm].append((cost, reward))
        pulls[arm] += 1
        spent += cost
        if spent > getattr(policy, "known_budget", np.inf):
            break
    return clear, of


def assert_excess(policy: Any, memory: Any, expected: Any, where: tuple[Any, ...]) -> None:
    if expected.leader < 0:
        return
    lead = memory.lead(expected.leader)
    if isinstance(memory, SequentialMoments) and memory.unopened() < len(memory.order):
        assert policy.excess_of_new_arm(lead, lead) == pytest.approx(expected.fresh, rel=1e-9, abs=1e-9), where
    for arm, value in expected.excess.items():
        found = policy.excess(memory.belief(arm), lead, lead)
        if value > 0 and getattr(policy, "evidence", "closed") != "closed":
            assert found > 0, where  # the search stops at the first value that is enough
        else:
            assert found == pytest.approx(value, rel=1e-9, abs=1e-9), (*where, arm)
