"""LinearRation, slow and obvious: the whole choice, from lists of requests and samples. Shares no code with outlay.

Regressions are solved anew from all samples, with numpy's linear algebra; the price is found by trying every one of a
grid. What a rule of small steps must remember (what it guessed, the line an arm was given last) is remembered here.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Moves = list[tuple[float, Array, Array]]  # weight, request less its mean before, gains of reward and cost

COMMON, OWN = 1.0, 1.0
LAST = 128
GRID = [0.0, *(math.exp(i / 32) for i in range(-400, 401))]


class Sample(NamedTuple):
    """What one pull was for, and what it brought."""

    request: Array
    cost: float
    reward: float


class Slow:
    """All that is known after some samples."""

    def __init__(self, arms: int, features: int, costs: list[float] | None) -> None:
        self.told = costs
        self.samples: list[list[Sample]] = [[] for _ in range(arms)]
        self.moves: list[Moves] = [[] for _ in range(arms)]
        self.all_moves: Moves = []
        self.requests: list[Array] = []
        self.guesses: list[tuple[Array, Array]] = []
        self.errors: list[float] = []
        self.paid, self.foreseen = 0.0, 0.0
        self.common = np.zeros((2, features))
        self.own = [np.zeros((2, features)) for _ in range(arms)]
        self.lines = [(np.zeros(2), np.zeros((2, features))) for _ in range(arms)]
        for arm in range(arms) if costs else []:
            self.draw(arm)

    def mean(self, arm: int) -> Array:
        """Reward and cost of an arm, a told cost instead of its own."""
        mine = self.samples[arm]
        reward, cost = (float(np.mean([each[i] for each in mine])) if mine else 0.0 for i in (2, 1))
        return np.array([reward, self.told[arm] if self.told else cost])

    def units(self, arm: int) -> Array:
        cost = self.mean(arm)[1]
        return np.array([[1.0], [cost if cost > 0 else 1.0]])

    def trust(self) -> Array:
        square = sum((guess**2 for guess, _ in self.guesses), np.zeros(2))
        right = sum((guess * came for guess, came in self.guesses), np.zeros(2))
        return np.array([min(1.0, max(0.0, 2 * a / b)) if b > 0 else 0.0 for a, b in zip(right, square, strict=True)])

    def learn(self, arm: int, request: Array, cost: float, reward: float) -> None:
        before = list(self.samples[arm])
        self.samples[arm].append(Sample(request, cost, reward))
        if before:
            level, slopes = self.lines[arm]
            self.paid += cost
            self.foreseen += max(level[1] + slopes[1] @ request, min(each.cost for each in before))
            weight = len(before) / (len(before) + 1)
            away = request - np.mean([each.request for each in before], axis=0)
            gains = np.array([reward - np.mean([s.reward for s in before]), cost - np.mean([s.cost for s in before])])
            shares = gains / self.units(arm)[:, 0]
            came, guess = shares - self.common @ away, self.own[arm] @ away
            self.errors.append(weight * (came[0] - self.trust()[0] * guess[0]) ** 2)
            self.guesses.append((guess, came))
            self.moves[arm].append((weight, away, gains))
            self.all_moves.append((weight, away, shares))
            self.common = ridge(self.all_moves, np.zeros_like(self.common), COMMON)
        for each in {arm, sum(map(len, self.samples)) % len(self.samples)}:
            towards = self.common * self.units(each)
            self.own[each] = (ridge(self.moves[each], towards, OWN) - towards) / self.units(each)
            self.draw(each)

    def draw(self, arm: int) -> None:
        slopes = (self.common + self.trust()[:, None] * self.own[arm]) * self.units(arm)
        centres = [mean_of([s.request for s in self.samples[arm]], slopes[0])] * 2
        if self.told:
            centres[1] = mean_of(self.requests, slopes[0])
        level = self.mean(arm) - np.array([slopes[i] @ centres[i] for i in range(2)])
        self.lines[arm] = level, slopes

    def expected(self, arm: int, request: Array) -> tuple[float, float]:
        level, slopes = self.lines[arm]
        reward, cost = level + slopes @ request
        return reward, max(cost, min((each.cost for each in self.samples[arm]), default=0.0))

    def choose(
        self, budget: float, requests: float, alpha: float, bound: float, rng: np.random.Generator
    ) -> int | None:
        """None where rounding, or a draw, could have decided otherwise than here."""
        everything = [each for mine in self.samples for each in mine]
        arms, n, spent = range(len(self.samples)), len(everything), math.fsum(each.cost for each in everything)
        if not self.told:
            for arm in arms:
                if not self.samples[arm]:
                    return arm
        largest = max([bound, *(each.reward for each in everything)], default=0.0)
        if not largest > 0:
            return min(arms, key=lambda arm: (len(self.samples[arm]) + 1) * self.mean(arm)[1])
        left = (budget - spent) / max(1.0, requests - n) if requests < math.inf else 0.0
        if budget == math.inf:
            left = math.inf
        left /= max(1.0, self.paid / self.foreseen) if self.foreseen > 0 else 1.0
        variance = np.var([each.reward for each in everything]) if everything else 0.0
        spread = math.sqrt((variance + sum(self.errors)) / (1 + len(self.errors)))

        def worth(arm: int, request: Array) -> tuple[float, float]:
            reward, cost = self.expected(arm, request)
            pulls = len(self.samples[arm])
            return min(largest, reward + alpha * spread / math.sqrt(pulls)) if pulls else largest, cost

        def wide(arm: int) -> float:
            centre = np.mean([each.request for each in self.samples[arm]], axis=0)
            matrix = OWN * np.eye(len(centre)) + sum(w * np.outer(z, z) for w, z, _ in self.moves[arm])
            z = self.requests[-1] - centre
            q = 1 / len(self.samples[arm]) + z @ np.linalg.solve(matrix, z)
            return float(min(largest, self.expected(arm, self.requests[-1])[0] + alpha * spread * math.sqrt(q)))

        table = np.array([[worth(arm, request) for arm in arms] for request in self.requests[-LAST:]])
        u, x = table[..., 0], table[..., 1]
        u[-1] = [wide(arm) if self.samples[arm] else largest for arm in arms]

        def look(price: float) -> tuple[float, float, int, float]:
            score = u - price * x
            best = score.argmax(axis=1)
            rows = np.arange(len(best))
            first, second = np.sort(score[-1])[::-1][:2]
            return float(x[rows, best].mean()), float(score[rows, best].mean()), int(best[-1]), first - second

        for i, price in enumerate(GRID):
            cost, gain, arm, clear = look(price)
            if cost <= left or gain <= 0:
                below = look(GRID[i - 1]) if i else (cost, gain, arm, clear)
                if min(clear, below[3], abs(cost - left), abs(below[0] - left), abs(gain)) < 1e-9:
                    return None
                fits = below[2] != arm and x[-1, below[2]] <= budget - spent and cost <= left
                if fits and rng.random() * (below[0] - cost) < left - cost:
                    return below[2]
                return arm
        raise AssertionError("no price was enough")


def mean_of(requests: list[Array], like: Array) -> Array:
    return np.mean(requests, axis=0) if requests else np.zeros_like(like)


def ridge(moves: Moves, towards: Array, penalty: float) -> Array:
    """The slopes of reward and cost: least Σ weight·(gain − slope·away)² + penalty·|slope − towards|²."""
    features = towards.shape[1]
    matrix = penalty * np.eye(features) + sum((w * np.outer(z, z) for w, z, _ in moves), np.zeros((features,) * 2))
    sums = penalty * towards + sum((w * np.outer(y, z) for w, z, y in moves), np.zeros_like(towards))
    return np.asarray(np.linalg.solve(matrix, sums.T).T, np.float64)
