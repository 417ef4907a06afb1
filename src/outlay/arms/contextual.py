"""A problem whose requests differ: a table of requests with their features, and what each arm brings for each of them.

It is a `Problem`, too: its arms are what a pull brings where nobody looks at the features. Policies that do not look
play it as any other.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from outlay.arms.law import Law, LawMoments, Support
from outlay.arms.problem import Problem
from outlay.arms.problem_file import Resolve
from outlay.checks import real, whole
from outlay.errors import BadParameter, NotCovered
from outlay.parameters import Array, array, number

Table = NDArray[np.float64]
HALVINGS = 200


class RequestTable(NamedTuple):
    """The world of a contextual problem: requests are drawn from the table, all equally likely."""

    features: Table  # [request, feature]
    costs: Table  # [request, arm]: means
    rewards: Table  # [request, arm]
    cost_noise: float
    reward_noise: float
    coin: float

    def request(self, rng: Generator) -> int:
        """Draw a request: its row."""
        return int(rng.random() * len(self.features))

    def pull_for(self, request: int, arm: int, rng: Generator) -> tuple[float, float]:
        """Draw what an arm costs and brings for a request."""
        means = self.costs[request, arm], self.rewards[request, arm]
        return about(means[0], means[1], self.cost_noise, self.reward_noise, self.coin, rng)


def about(
    cost: float, reward: float, cost_noise: float, reward_noise: float, coin: float, rng: Generator
) -> tuple[float, float]:
    """A cost and a reward with these means."""
    if cost_noise > 0.0:
        cost *= 1.0 + cost_noise * (2.0 * rng.random() - 1.0)
    if coin > 0.0:
        reward = 1.0 if rng.random() < reward else 0.0
    elif reward_noise > 0.0:
        reward += reward_noise * (2.0 * rng.random() - 1.0)
    return cost, reward


class AnyRequest(Law):
    """What an arm of a `ContextualProblem` brings for a request that nobody looks at; the parameters are its own."""

    costs: Array = array()
    rewards: Array = array()
    cost_noise: float = number(default=0.0, at_least=0, at_most=1)
    reward_noise: float = number(default=0.0, at_least=0)
    coin: float = number(default=0.0, at_least=0, at_most=1)

    def draw(self, rng: Generator) -> tuple[float, float]:
        """One pair (cost, reward): a request, and what it brings."""
        row = int(rng.random() * len(self.costs))
        return about(
            float(self.costs[row]), float(self.rewards[row]), self.cost_noise, self.reward_noise, self.coin, rng
        )

    def moments(self) -> LawMoments:
        """Those over the table, and the noise."""
        x, r = self.costs - self.costs.mean(), self.rewards - self.rewards.mean()
        noise = (self.rewards * (1.0 - self.rewards)).mean() if self.coin else self.reward_noise**2 / 3.0
        return LawMoments(
            float(self.costs.mean()),
            float(self.rewards.mean()),
            float((x * x).mean() + self.cost_noise**2 / 3.0 * (self.costs**2).mean()),
            float((r * r).mean() + noise),
            float((x * r).mean()),
        )

    def support(self) -> Support:
        """The smallest and the largest, and the noise."""
        far = self.cost_noise * np.abs(self.costs)
        low, high = float((self.costs - far).min()), float((self.costs + far).max())
        if self.coin:
            return Support(low, high, 0.0, 1.0)
        return Support(
            low, high, float(self.rewards.min()) - self.reward_noise, float(self.rewards.max()) + self.reward_noise
        )


class ContextualProblem(Problem):
    """Arms whose cost and reward depend on the request, which carries features: a table of requests, drawn at random.

    Args:
        features: [request, feature]: what policies are told before they choose.
        costs: [request, arm]: what each arm costs for each request, on average.
        rewards: [request, arm]: what it brings, on average.
        cost_noise: costs are evenly distributed within this share of their mean, from 0 to 1.
        reward_noise: rewards are evenly distributed within so much of their mean.
        coin: whether rewards are 0 or 1, their means being probabilities.
        names: one name per arm; "arm 0", "arm 1", … if not given.

    >>> features = np.linspace(-1, 1, 5)[:, None]
    >>> rewards = np.hstack([0.5 + 0.0 * features, 0.6 + 0.4 * features])
    >>> problem = ContextualProblem(features, np.tile([0.1, 1.0], (5, 1)), rewards, coin=True)
    >>> problem.mean_rewards.round(3)
    array([0.5, 0.6])
    >>> round(problem.attainable(budget=37, requests=100), 3), round(problem.price(budget=37, requests=100), 3)
    (63.0, 0.333)
    """

    table: RequestTable

    def __init__(
        self,
        features: ArrayLike,
        costs: ArrayLike,
        rewards: ArrayLike,
        *,
        cost_noise: float = 0.0,
        reward_noise: float = 0.0,
        coin: bool = False,
        names: Sequence[str] | None = None,
    ) -> None:
        given, x = _table("features", features), _table("costs", costs)
        r = _table("rewards", rewards)
        if len(x) != len(given):
            raise BadParameter("ContextualProblem", "costs", f"{len(given)} rows, as many as features", len(x))
        if r.shape != x.shape:
            raise BadParameter("ContextualProblem", "rewards", f"of shape {x.shape}, as costs", r.shape)
        if not isinstance(coin, (bool, np.bool_)):
            raise BadParameter("ContextualProblem", "coin", "True or False", coin)
        if coin and not ((r >= 0.0) & (r <= 1.0)).all():
            allowed = "probabilities, from 0 to 1, where coin is True"
            raise BadParameter("ContextualProblem", "rewards", allowed, float(r[(r < 0) | (r > 1)][0]))
        noise = (
            real("ContextualProblem", "cost_noise", cost_noise, at_least=0, at_most=1),
            real("ContextualProblem", "reward_noise", reward_noise, at_least=0),
            float(coin),
        )
        super().__init__([AnyRequest(x[:, k], r[:, k], *noise) for k in range(x.shape[1])], names)
        vars(self).update(table=RequestTable(given, x, r, *noise))

    @classmethod
    def drawn(
        cls,
        features: Callable[[Generator, int], ArrayLike],
        costs: Callable[[Table], ArrayLike],
        rewards: Callable[[Table], ArrayLike],
        *,
        requests: int = 10_000,
        seed: int = 0,
        **others: Any,
    ) -> Self:
        """A table drawn from a law of features, with means that are functions of them.

        >>> problem = ContextualProblem.drawn(
        ...     lambda rng, requests: rng.standard_normal((requests, 2)),
        ...     costs=lambda x: np.tile([0.1, 1.0], (len(x), 1)),
        ...     rewards=lambda x: np.stack([0.0 * x[:, 0], np.tanh(x[:, 1])], axis=1),
        ... )
        >>> problem.table.features.shape, len(problem)
        ((10000, 2), 2)
        """
        count = whole("ContextualProblem.drawn", "requests", requests, at_least=1)
        rng = np.random.default_rng(whole("ContextualProblem.drawn", "seed", seed, at_least=0))
        table = _table("features", features(rng, count))
        return cls(table, costs(table), rewards(table), **others)

    @property
    def world(self) -> RequestTable:
        """What the simulator draws from: the table."""
        return self.table

    def price(self, budget: float, requests: float) -> float:
        """The price of money λ at which a rule that knows all means spends the budget on so many requests.

        It serves each request by the arm with the largest mean reward less λ·(mean cost). λ is also no larger than the
        best rate: there requests are worth nothing, and money alone is scarce.
        """
        each = _limit("budget", budget) / _limit("requests", requests)
        low, high = 0.0, 1.0
        if self._enough(0.0, each):
            return 0.0
        while not self._enough(high, each):
            low, high = high, 2.0 * high
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self._enough(middle, each) else (middle, high)
        return high

    def attainable(self, budget: float, requests: float) -> float:
        """The most that so many requests can bring on average: by the best rule that knows all means.

        It is the least, over λ ≥ 0, of λ·B + N·(what a request is worth at λ, at least 0): no rule that looks at the
        request itself brings more.
        """
        price = self.price(budget, requests)
        spent = price * budget if price > 0.0 else 0.0
        if requests == math.inf:
            return spent
        return spent + requests * max(0.0, float(self._worth(price).max(axis=1).mean()))

    def _means(self) -> tuple[object, ...]:
        return tuple(part.tobytes() if isinstance(part, np.ndarray) else part for part in self.table)

    def _worth(self, price: float) -> Table:
        return self.table.rewards - price * self.table.costs

    def _enough(self, price: float, each: float) -> bool:
        worth = self._worth(price)
        arms = worth.argmax(axis=1)[:, None]
        cost = float(np.take_along_axis(self.table.costs, arms, axis=1).mean())
        return cost <= each or float(np.take_along_axis(worth, arms, axis=1).mean()) <= 0.0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ContextualProblem) or self.names != other.names:
            return False
        return self._means() == other._means()

    def __hash__(self) -> int:
        return hash(self._means())

    def __repr__(self) -> str:
        requests, features = self.table.features.shape
        return f"<ContextualProblem: {requests:,} requests with {features} features, {len(self)} arms>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (*self.table, self.names)

    def to_toml(self) -> NoReturn:
        """Not for tables of requests."""
        raise NotCovered("a ContextualProblem is not written to files: keep the table that it was made of")

    @classmethod
    def _resolved(cls, text: str, resolve: Resolve) -> NoReturn:  # noqa: ARG003 (as a Problem has it)
        raise NotCovered("a ContextualProblem is not read from files: make it of its table")


def _made(
    features: Table, costs: Table, rewards: Table, cost_noise: float, reward_noise: float, coin: float,
    names: tuple[str, ...],
) -> ContextualProblem:  # fmt: skip
    noise: dict[str, Any] = {"cost_noise": cost_noise, "reward_noise": reward_noise, "coin": bool(coin)}
    return ContextualProblem(features, costs, rewards, **noise, names=names)


def _limit(name: str, value: float) -> float:
    """A number above 0, or ∞."""
    return math.inf if value == math.inf else real("ContextualProblem", name, value, above=0)


def _table(name: str, values: ArrayLike) -> Table:
    """A matrix of finite numbers, which nobody can change."""
    allowed = "a table of finite numbers: a row for each request"
    try:
        given = np.asarray(values)
    except ValueError:
        raise BadParameter("ContextualProblem", name, allowed, values) from None
    if given.ndim != 2 or given.size == 0 or given.dtype.kind not in "iufb":
        raise BadParameter("ContextualProblem", name, allowed, values)
    table = np.array(given, dtype=np.float64, order="C")
    if not np.isfinite(table).all():
        raise BadParameter("ContextualProblem", name, allowed, float(table[~np.isfinite(table)][0]))
    table.setflags(write=False)
    return table
