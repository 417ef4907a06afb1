"""Where arms changed, against a twin that keeps every sample: what is forgotten, when, and what is known afterwards."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from outlay.beliefs import HullMoments, SequentialMoments, changes
from outlay.beliefs.fading import FadingMoments
from outlay.formulas.argmax import best_of_opened
from outlay.formulas.lazy_leader import LeaderBounds, forget_leader_bounds, lazy_best_of_opened
from outlay.policies import Thrifty


class Remembered:
    """One arm: its samples since the last change, and the sizes of the buckets that they are in, the oldest first."""

    def __init__(self, fine: int) -> None:
        self.fine = fine
        self.samples: list[tuple[float, float]] = []
        self.buckets: list[int] = []
        self.forgotten = 0

    def observe(self, cost: float, reward: float) -> None:
        self.samples.append((cost, reward))
        step = 8
        while len(self.samples) >= 2 * step * self.fine:
            step *= 2
        if len(self.samples) % step:
            return
        marks = np.cumsum(self.buckets, dtype=int).tolist()
        evidence = [max(change(np.array(self.samples)[:, side], mark) for side in (0, 1)) for mark in marks]
        if evidence and max(evidence) > 5.0 + math.log(len(self.samples)):
            first = evidence.index(max(evidence))
            self.forgotten += marks[first]
            self.samples, self.buckets = self.samples[marks[first] :], self.buckets[first + 1 :]
        self.buckets.append(len(self.samples) - sum(self.buckets))
        if self.buckets[-1] < step and len(self.buckets) > 1:
            self.buckets[-2:] = [sum(self.buckets[-2:])]
        size = step
        while self.buckets.count(size) > 2:
            oldest = self.buckets.index(size)
            self.buckets[oldest : oldest + 2] = [2 * size]
            size *= 2


def change(values: NDArray[np.float64], mark: int) -> float:
    """The evidence that the mean changed at a mark."""
    parts = values[:mark], values[mark:]
    spreads = [max(part.var(), values.var()) for part in parts]
    if values.var() == 0.0:
        return 0.0
    weights = [len(part) / spread for part, spread in zip(parts, spreads, strict=True)]
    middle = sum(weight * part.mean() for weight, part in zip(weights, parts, strict=True)) / sum(weights)
    pairs = zip(parts, spreads, strict=True)
    return sum(0.5 * len(part) * math.log(1.0 + (part.mean() - middle) ** 2 / spread) for part, spread in pairs)


def drawn(kind: str, n: int, rng: np.random.Generator) -> tuple[float, float]:
    """Sample number n of an arm whose reward falls, whose price falls, which does both, or which stays as it is."""
    late = n % 400 >= 250
    reward = float(rng.random() < (0.2 if late and kind in ("reward", "both") else 0.8))
    cost = rng.lognormal(-1.0 if late and kind in ("cost", "both") else 0.0, 0.5)
    return (1.0, reward) if kind == "free of chance" else (cost, reward)


@pytest.mark.parametrize("fine", [changes.FINE, 4])
@pytest.mark.parametrize("kind", ["reward", "cost", "both", "neither", "free of chance"])
def test_what_is_remembered_against_every_sample(kind: str, fine: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a step that is doubled soon as well."""
    monkeypatch.setattr(changes, "FINE", fine)
    rng = np.random.default_rng(1)
    memory, twin = SequentialMoments.empty(2, watched=True), Remembered(fine)
    memory.observe(0, 1.0, 1.0)
    for n in range(1500):
        sample = drawn(kind, n, rng)
        memory.observe(1, *sample)
        twin.observe(*sample)
        belief, mine = memory.belief(1), np.array(twin.samples)
        assert (belief.pulls, memory.past.forgotten[1]) == (len(mine), twin.forgotten)
        found = belief.mean_cost, belief.mean_reward, belief.var_cost, belief.var_reward, belief.cov
        moments = *mine.mean(0), *mine.var(0), np.mean(np.prod(mine - mine.mean(0), axis=1))
        assert found == pytest.approx(moments, rel=1e-9, abs=1e-9)
    assert (twin.forgotten > 0) == (kind in ("reward", "cost", "both"))
    assert memory.lead(1).spent == pytest.approx(memory.stats[-1, 0] * (memory.stats[-1, 1] + memory.stats[-1, 3]))
    assert memory.stats[-1, 0] == 1501.0, "all pulls together forget nothing: what was spent is spent"
    assert memory.usual.sum() == pytest.approx(sum(sum(memory.belief(k)[2:4]) for k in (0, 1)))


def test_corrections_reach_the_marks_and_leave_alone_what_is_forgotten() -> None:
    """The same samples, some of them wrong at first: the same changes are noticed after the last was corrected."""
    rng = np.random.default_rng(3)
    samples = [(rng.lognormal(), float(rng.random() < (0.9 if n < 200 else 0.1))) for n in range(300)]
    right, memory = SequentialMoments.empty(1, watched=True), SequentialMoments.empty(1, watched=True)
    for n, sample in enumerate(samples):
        right.observe(0, *sample)
        memory.observe(0, *(sample if n % 7 else (sample[0] + 0.01, sample[1])))
        if n % 7 == 0:
            memory.revise(0, n, (sample[0] + 0.01, sample[1]), sample)
    assert right.past.forgotten[0] == memory.past.forgotten[0] > 100
    assert memory.belief(0) == pytest.approx(right.belief(0), rel=1e-9)
    known = memory.belief(0)
    memory.revise(0, 5, samples[5], (99.0, 99.0))
    assert memory.belief(0) == known


def test_no_more_arms_are_watched_than_there_is_room_for_and_a_new_one_is_where_there_is() -> None:
    many = SequentialMoments.empty(changes.WATCHED + 1, watched=True)
    for arm in range(changes.WATCHED + 1):
        for n in range(40):
            many.observe(arm, 1.0, float(n < 24))
    assert [bool(many.past.forgotten[arm]) for arm in (0, changes.WATCHED - 1, changes.WATCHED)] == [True, True, False]
    for wider in (
        SequentialMoments.empty(1, watched=True).with_new_arm(),
        HullMoments.empty(1, watched=True).with_new_arm().arms,
    ):
        for n in range(40):
            wider.observe(1, 1.0, float(n < 24))
        assert wider.past.forgotten.tolist() == [0, 24]
    ignored = SequentialMoments.empty(1)
    for n in range(40):
        ignored.observe(0, 1.0, float(n < 24))
    assert ignored.belief(0).pulls == 40


def test_where_there_is_no_room_for_a_mark_the_oldest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "MARKS", 5)
    memory = SequentialMoments.empty(1, watched=True)
    for _ in range(1000):
        memory.observe(0, 1.0, 1.0)
    marks = memory.past.sums[0, : memory.past.marks[0], 0].tolist()
    assert len(marks) <= 5
    assert marks[0] > 800
    assert marks[-1] == 1000


@pytest.mark.parametrize("seed", range(3))
def test_lazy_choices_are_those_of_a_look_at_every_arm(seed: int) -> None:
    """While arms change under way, and what was known of them is forgotten."""
    rng: Any = np.random.default_rng(seed)
    policy, arms = Thrifty(budget=4000.0), 6
    memory, pulls, known = policy.memory(arms), np.zeros(arms, np.int64), LeaderBounds.start(arms)
    memory.shuffle(rng)
    forget_leader_bounds(known)
    for n in range(2500):
        arm = lazy_best_of_opened(policy, memory, pulls, known)
        assert arm == best_of_opened(policy, memory, pulls)
        level = 0.9 - 0.15 * ((arm + n // 500) % arms)
        memory.observe(arm, rng.lognormal(0.0, 0.3), float(rng.random() < level))
        pulls[arm] += 1
    assert memory.past.forgotten.sum() > 0


def test_what_fades_against_every_sample_and_its_weight() -> None:
    """Weights are products of e^(−x/W), W by the mean cost at the time; after a change the new samples count 1."""
    rng = np.random.default_rng(5)
    memory, samples, weights = FadingMoments.empty(3, 50.0), [[], [], []], [[], [], []]  # type: ignore[var-annotated]
    paid: list[float] = []
    for n in range(700):
        arm = int(rng.integers(2)) if n < 650 else 2
        cost, reward = drawn("reward" if arm else "neither", n, rng)
        cost *= 0.0 if n % 9 == 0 else 1.0
        before = memory.forgotten(arm)
        memory.observe(arm, cost, reward)
        paid.append(cost)
        left = math.exp(-cost / (16.0 * math.sqrt(50.0 * np.mean(paid)))) if cost > 0 else 1.0
        weights = [[weight * left for weight in each] for each in weights]
        samples[arm].append((cost, reward))
        weights[arm].append(1.0)
        if memory.forgotten(arm) > before:
            samples[arm] = samples[arm][memory.forgotten(arm) - before :]
            weights[arm] = [1.0] * len(samples[arm])
        for k in (0, 1):
            if samples[k]:
                belief, mine, weight = memory.belief(k), np.array(samples[k]), np.array(weights[k])
                mean = weight @ mine / weight.sum()
                squares = weight @ (mine - mean) ** 2 / weight.sum()
                cov = weight @ np.prod(mine - mean, axis=1) / weight.sum()
                expected = weight.sum(), *mean, *squares, cov
                assert belief[1:] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert memory.forgotten(1) > 0
    assert memory.lead(0).spent == pytest.approx(sum(paid))
    assert memory.lead(0).usual_price == pytest.approx(np.mean([memory.belief(k).mean_cost for k in range(3)]))
    wider = memory.with_new_arm()
    wider.insert_at_random(rng)
    assert (wider.unopened(), wider.belief(3).pulls, wider.belief(1)) == (3, 0.0, memory.belief(1))
    assert memory.full() is False


def test_a_corrected_sample_has_the_weight_it_has_by_now() -> None:
    """The first and the last sample of an arm are replaced as if they had been so from the start; others nearly."""
    rng = np.random.default_rng(8)
    samples = [(int(rng.integers(2)), rng.exponential(), rng.normal()) for _ in range(300)]
    mine = [n for n, (arm, _, _) in enumerate(samples) if arm == 0]
    new = 1.5, 2.5

    def told(change: int | None) -> FadingMoments:
        memory = FadingMoments.empty(2, 50.0)
        for n, (arm, cost, reward) in enumerate(samples):
            memory.observe(arm, cost, *((new[1],) if n == change else (reward,)))
        return memory

    for place, off in ((0, 1e-9), (len(mine) - 1, 1e-9), (len(mine) // 2, 0.02)):
        memory, (_, cost, reward) = told(None), samples[mine[place]]
        memory.revise(0, place, (cost, reward), (cost, new[1]))
        assert memory.belief(0)[1:] == pytest.approx(told(mine[place]).belief(0)[1:], rel=off, abs=off)
        assert memory.belief(1) == told(mine[place]).belief(1)
        assert memory.lead(0).spread == pytest.approx(told(mine[place]).lead(0).spread, rel=off)


@pytest.mark.parametrize(
    "history", [(500, 800, 1), (100, 300, 1), (50, 300, 5), (3, 300, 50), (200, 160, 200), (1, 9, 1)]
)
def test_all_samples_corrected_alike_move_the_mean_alike(history: tuple[int, int, int]) -> None:
    """However unevenly an arm was pulled: early, not while another was, and late."""
    memory, rng, early = FadingMoments.empty(2, 100.0), np.random.default_rng(0), history[0]
    samples = [(1.0, float(rng.random() < 0.5)) for _ in range(early + history[2])]
    for n, (cost, reward) in enumerate(samples):
        if n == early:
            for _ in range(history[1]):
                memory.observe(1, 1.0, 0.5)
        memory.observe(0, cost, reward)
    before = memory.belief(0)
    for n, (cost, reward) in enumerate(samples):
        memory.revise(0, n, (cost, reward), (cost, reward + 1.0))
    after = memory.belief(0)
    assert after.mean_reward == pytest.approx(before.mean_reward + 1.0, rel=1e-9)
    assert 0.5 * before.var_reward - 1e-9 <= after.var_reward <= 1.5 * before.var_reward + 1e-9


def test_what_has_faded_to_nothing_is_corrected_without_a_word() -> None:
    memory = FadingMoments.empty(1, 1e-9)
    for _ in range(5):
        memory.observe(0, 1.0, 0.5)
    before = memory.belief(0)
    for n in range(4):
        memory.revise(0, n, (1.0, 0.5), (1.0, 9.0))
    assert memory.belief(0) == pytest.approx(before, abs=1e-6)
    memory.revise(0, 4, (1.0, 0.5), (1.0, 0.75))
    assert memory.belief(0).mean_reward == pytest.approx(0.75)


def test_what_is_expected_fades_and_is_no_sign_of_a_change() -> None:
    memory, same = FadingMoments.empty(2, 50.0), FadingMoments.empty(2, 50.0)
    for _ in range(40):
        for each in (memory, same):
            each.observe(0, 1.0, 1.0)
            each.observe(1, 1.0, 0.5)
    memory.add_expected(0, 30, 1.0, 0.0)
    assert (memory.forgotten(0), memory.pulls.tolist()) == (0, [70, 40])
    for _ in range(30):
        same.observe(0, 1.0, 0.0)
    assert same.forgotten(0) > 0
    assert memory.belief(1) == same.belief(1)
    assert 0.4 < memory.belief(0).mean_reward < 0.6
