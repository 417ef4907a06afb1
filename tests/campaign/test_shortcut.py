"""Choices by certificate in a campaign against the comparison of every arm, whatever is done between two choices."""

from typing import Any

import numpy as np
import pytest

from outlay import policies
from outlay.campaign.ledger.learner import ORDER, EventRandom, InFlight, Learner, SomeArms, SomeOpenedArms
from outlay.formulas.argmax import best_by_excess, best_by_score, best_of_opened, log_of

BUDGET = 60.0
MADE: dict[str, Any] = {
    "Frugal": policies.Frugal(),
    "KLRate": policies.KLRate("one"),
    "Thrifty": policies.Thrifty(),
    "Thrifty, not told": policies.Thrifty(horizon="unknown"),
}


def opened(pulls: dict[int, int]) -> dict[int, InFlight]:
    """So many open pulls of each arm; every third has paid ones in their place."""
    return {arm: InFlight(0, count) if arm % 3 == 2 else InFlight(count, 0) for arm, count in pulls.items()}


def by_comparing_all(learner: Learner, open_arms: list[int], under_way: dict[int, int]) -> int:
    """The arm that the policy names, every arm looked at."""
    memory, pulls = learner._with(opened(under_way))
    if hasattr(learner.policy, "score"):
        scored = SomeArms(memory, open_arms)
        return open_arms[best_by_score(learner.policy, scored, pulls[open_arms], log_of(int(pulls.sum())))]
    opening = hasattr(learner.policy, "excess_of_new_arm")
    view: Any = memory
    if len(open_arms) < len(pulls):
        view = (SomeOpenedArms if opening else SomeArms)(memory, open_arms)
    return open_arms[(best_of_opened if opening else best_by_excess)(learner.policy, view, pulls[open_arms])]


class Story:
    """A learner to which anything may happen; costs and rewards are rounded in some, so that rates are equal."""

    def __init__(self, policy: Any, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        arms = int(self.rng.integers(1, 25))
        self.learner = Learner(policy, arms, BUDGET)
        self.learner.shuffle(EventRandom(seed, ORDER))
        self.rounded, self.free = self.rng.random() < 0.3, self.rng.random() < 0.3
        self.means = self.rng.uniform(0.5, 1.5, (40, 2))
        self.samples: list[list[Any]] = [[] for _ in range(40)]
        self.under_way: dict[int, int] = {}
        self.closed: set[int] = set()
        self.stuck = self.rng.random() < 0.4  # first pulls under way stay there: what is expected of them changes
        for arm in range(arms // 2 if self.stuck else 0):
            self.learn(arm)

    def outcome(self, arm: int) -> tuple[float, float]:
        cost, reward = self.means[arm] + 0.3 * self.rng.standard_normal(2)
        cost = cost if self.free else max(cost, 0.01)
        return (round(cost), round(reward)) if self.rounded else (float(cost), float(reward))

    def some_arm(self) -> int:
        return int(self.rng.integers(len(self.learner.pulls)))

    def learn(self, arm: int) -> None:
        outcome = self.outcome(arm)
        self.samples[arm].append(outcome)
        self.learner.observe(arm, *outcome, EventRandom(0, 1))

    def happens(self, n: int) -> None:
        """Anything, mostly that a pull under way is told."""
        what, arm = self.rng.random(), self.some_arm()
        if what < 0.6 and self.under_way:
            arm = int(self.rng.choice(list(self.under_way)))
            if self.samples[arm] or not self.stuck:
                self.land(arm)
                self.learn(arm)
        elif what < 0.65 and (self.samples[arm] or not self.stuck):
            self.learn(arm)
        elif what < 0.72 and self.samples[arm]:
            place, new = int(self.rng.integers(len(self.samples[arm]))), self.outcome(arm)
            self.learner.revise(arm, place, self.samples[arm][place], new)
            self.samples[arm][place] = new
        elif what < 0.77 and self.under_way:
            self.land(int(self.rng.choice(list(self.under_way))))
        elif what < 0.80 and len(self.closed) < len(self.learner.pulls) - 1:
            self.closed ^= {arm}
        elif what < 0.81 and len(self.learner.pulls) < len(self.means):
            self.learner.widen(EventRandom(0, n))
        elif what < 0.82:
            self.learner.set_limits(float(self.rng.uniform(1.0, 3 * BUDGET)))
        elif what < 0.83:
            self.samples[arm].append(self.outcome(arm))
            self.learner.observe_all([(arm, *self.samples[arm][-1])], EventRandom(0, n))

    def land(self, arm: int) -> None:
        self.under_way[arm] -= 1
        self.under_way = {each: count for each, count in self.under_way.items() if count}

    def chooses(self) -> tuple[int, int]:
        """The choice, and what it should be; its pull is then under way."""
        arms = [arm for arm in range(len(self.learner.pulls)) if arm not in self.closed] or [0]
        named = arms if self.closed else range(len(arms))
        expected = by_comparing_all(self.learner, arms, self.under_way)
        arm = self.learner.choose(named, opened(self.under_way), 0.0, EventRandom(0, 1))
        self.under_way = self.under_way | {arm: self.under_way.get(arm, 0) + 1}
        return arm, expected


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("stories", [3, pytest.param(1000, marks=pytest.mark.soak)])
def test_choices_are_those_of_the_full_comparison(name: str, stories: int) -> None:
    for seed in range(stories):
        story = Story(MADE[name], seed)
        for n in range(150):
            for _ in range(int(story.rng.integers(4))):
                story.happens(n)
            arm, expected = story.chooses()
            assert arm == expected, f"story {seed}, choice {n}"
