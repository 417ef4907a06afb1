"""The Bernoulli law: a pull costs 0 or 1 and pays 0 or 1."""

import math

from numpy.random import Generator

from outlay.arms.law import Law, LawMoments, Support
from outlay.arms.pair import reachable
from outlay.parameters import Draft, derived, number


class Bernoulli(Law):
    """Cost and reward are 0 or 1, jointly.

    P(X=1) = p, P(R=1) = q, P(X=1, R=1) = pq + ρ√(p(1−p)q(1−q)), between max(0, p+q−1) and min(p, q).

    Args:
        cost: p, the probability that a pull costs 1.
        reward: q, the probability that a pull pays 1.
        correlation: ρ, within the range that p and q leave (0 where one of them is 0 or 1).

    >>> Bernoulli(cost=0.5, reward=0.5, correlation=0.2).both
    0.3
    >>> Bernoulli(cost=0.5, reward=0.8, correlation=0.75)
    Traceback (most recent call last):
    outlay.errors.BadParameter: correlation of Bernoulli must be between -0.5 and 0.5 for these parameters; got 0.75
    """

    cost: float = number(at_least=0, at_most=1)
    reward: float = number(at_least=0, at_most=1)
    correlation: float = number(default=0.0, at_least=-1, at_most=1)

    both: float = derived()  # P(X = 1, R = 1)

    @classmethod
    def complete(cls, given: Draft) -> None:
        """Find P(X = 1, R = 1), within the range that the two probabilities leave."""
        p, q = given.cost, given.reward
        spread = math.sqrt(p * (1.0 - p)) * math.sqrt(q * (1.0 - q))
        least, most = max(0.0, p + q - 1.0), min(p, q)
        low, high = ((least - p * q) / spread, (most - p * q) / spread) if spread > 0.0 else (0.0, 0.0)
        given.correlation = reachable(cls.__name__, given.correlation, low, high)
        given.both = min(max(p * q + given.correlation * spread, least), most)

    def draw(self, rng: Generator) -> tuple[float, float]:
        """One pair (cost, reward); one uniform."""
        u = rng.random()
        if u < self.cost:
            return 1.0, 1.0 if u < self.both else 0.0
        return 0.0, 1.0 if u < self.cost + (self.reward - self.both) else 0.0

    def moments(self) -> LawMoments:
        """Means p and q, variances p(1−p) and q(1−q)."""
        p, q = self.cost, self.reward
        return LawMoments(p, q, p * (1.0 - p), q * (1.0 - q), self.both - p * q)

    def support(self) -> Support:
        """The unit square."""
        return Support(0.0, 1.0, 0.0, 1.0)
