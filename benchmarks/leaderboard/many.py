"""Problems with hundreds of arms and few pulls for each: every run is on a problem of its own.

One such problem says little, since it matters most how good its best arm happens to be, and where it stands. So run i
draws a problem, from the seed, i and the name of the family, and then plays it; every policy plays the same problems
with the same random numbers. What a problem is worth differs from draw to draw: regret is in per cent of r*·B.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay import Problem
from outlay.arms import Bernoulli, Gaussian

ARMS = (30, 100, 300, 1000)
PER_ARM = (0.5, 1.0, 3.0, 10.0, 30.0, 100.0)  # budgets, in mean costs per arm
FEW, RUNS, RUNS_OF_MORE = 100, 500, 100  # more than FEW arms take longer, and are more alike

Floats = NDArray[np.float64]
Laws = Sequence[Gaussian | Bernoulli]


class Drawn(NamedTuple):
    """A family of problems with a number of arms: what stands on the board where others have one problem."""

    family: str
    arms: int

    @property
    def name(self) -> str:
        """Of this family with this many arms."""
        return f"{self.family}:{self.arms}"

    @property
    def group(self) -> str:
        """All of them are counted together."""
        return "many"

    @property
    def runs(self) -> int:
        """How many problems to draw where nobody asks for another number."""
        return RUNS if self.arms <= FEW else RUNS_OF_MORE

    def draw(self, seed: int, run: int) -> "Draw":
        """The problem of a run."""
        of_problem, of_run = streams(seed, run, self.name)
        laws = FAMILIES[self.family](np.random.default_rng(of_problem), self.arms)
        return Draw(Problem(laws), int(of_run.generate_state(1, np.uint64)[0]))


class Draw(NamedTuple):
    """A problem that was drawn, and the seed to play it with."""

    problem: Problem
    seed: int

    def budgets(self, per_arm: Sequence[float]) -> Floats:
        """In money; given in mean costs per arm."""
        return np.array(per_arm) * float(self.problem.mean_costs.sum())


def streams(seed: int, run: int, name: str) -> list[np.random.SeedSequence]:
    """Where the numbers of a problem come from, and those of playing it."""
    return np.random.SeedSequence([seed, run, *name.encode()]).spawn(2)


def gaussian_arms(rng: np.random.Generator, rates: Floats, noise: float = 0.5) -> Laws:
    """Mean costs uniform on [0.5, 1.5], their standard deviation `noise` times that, rewards' `noise`."""
    costs = rng.uniform(0.5, 1.5, len(rates))
    return [Gaussian(c, c * r, noise * c, noise) for c, r in zip(costs.tolist(), rates.tolist(), strict=True)]


def uniform(rng: np.random.Generator, arms: int) -> Laws:
    """Rates uniform on [0.1, 1]: good arms abound."""
    return gaussian_arms(rng, rng.uniform(0.1, 1.0, arms))


def exponential(rng: np.random.Generator, arms: int) -> Laws:
    """Rates 0.05 + min(Exp(0.25), 2): the more arms are seen, the better the best."""
    return gaussian_arms(rng, 0.05 + np.minimum(rng.exponential(0.25, arms), 2.0))


def pareto(rng: np.random.Generator, arms: int) -> Laws:
    """Rates with a tail of index 2, from 0.1 to 3, and little noise: one pull nearly tells, and great arms are rare."""
    return gaussian_arms(rng, np.minimum(0.1 * (1.0 + rng.pareto(2.0, arms)), 3.0), noise=0.1)


def one_good(rng: np.random.Generator, arms: int) -> Laws:
    """Rates 0.5 but for one of 1, which may stand anywhere."""
    rates = np.full(arms, 0.5)
    rates[rng.integers(arms)] = 1.0
    return gaussian_arms(rng, rates)


def beta(rng: np.random.Generator, arms: int) -> Laws:
    """Coins; mean costs uniform on [0.2, 0.8], rates 0.05 + 0.9·Beta(1, 3): good arms are rare, great ones missing."""
    costs, rates = rng.uniform(0.2, 0.8, arms), 0.05 + 0.9 * rng.beta(1.0, 3.0, arms)
    return [Bernoulli(c, c * r) for c, r in zip(costs.tolist(), rates.tolist(), strict=True)]


FAMILIES: dict[str, Callable[[np.random.Generator, int], Laws]] = {
    "uniform": uniform,
    "exponential": exponential,
    "pareto": pareto,
    "one-good": one_good,
    "beta": beta,
}


def many_arms() -> list[Drawn]:
    """Every family with every number of arms."""
    return [Drawn(family, arms) for family in FAMILIES for arms in ARMS]
