"""Forgetful: `Thrifty` where arms that were given up may become better; what it knows fades as money is spent."""

import numpy as np

from outlay.beliefs.fading import FadingMoments
from outlay.formulas.argmax import Now, best_of_opened
from outlay.parameters import Parameters, derived, number
from outlay.policies.thrifty import Thrifty


class Forgetful(Parameters):
    """Choose as `Thrifty` does, from samples that count e times less once W money was spent since, W = 16·√(L·X̄).

    L is about how much is spent between two changes of one arm, X̄ the mean cost of a pull. So nothing is known for
    ever: an arm that was given up is tried again once the evidence against it has faded. Where an arm in use changes,
    that is noticed as by `Thrifty`, and sooner than it fades.

    It costs where nothing changes, and more the smaller L is: a policy to choose when something is known to change, and
    when arms that are out of use are among it. Every pull changes what is known of all arms, so that each has to be
    looked at: it is for tens of arms, not for thousands.

    Args:
        changes_every: L, in money: about how much is spent between two changes of one arm.
        slope: of the evidence that is asked for, as for `Thrifty`.
        budget: what may be spent in all; whoever plays it fills it in.

    >>> Forgetful(changes_every=1000)
    Forgetful(changes_every=1000.0, slope=0.33, budget=None)

    Reference: docs/drift.md.
    """

    changes_every: float = number(above=0)
    slope: float = number(default=0.33, above=0, at_most=1)
    budget: float | None = number(default=None, above=0)

    thrifty: Thrifty = derived(lambda given: Thrifty(given.slope, budget=given.budget))

    def memory(self, arms: int) -> FadingMoments:
        """Moments that fade, beside those that notice changes."""
        return FadingMoments.empty(arms, self.changes_every)

    def choose(self, memory: FadingMoments, now: Now, rng: np.random.Generator) -> int:
        """The arm that `Thrifty` names from what has not faded."""
        if now.pulls == 0:
            memory.shuffle(rng)
        return best_of_opened(self.thrifty, memory, memory.pulls)
