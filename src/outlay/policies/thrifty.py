"""Thrifty: the policy to run when nothing is known, for two arms or a hundred thousand; it opens arms one by one."""

from typing import Literal

from outlay.beliefs import Belief, Lead, SequentialMoments
from outlay.formulas.confidence import budget_or_infinity
from outlay.formulas.evidence import excess_in_money, excess_of_unopened
from outlay.parameters import Parameters, choice, derived, integer, number


class Thrifty(Parameters):
    """Pull the arm with the largest rate so far, unless another may be better or a new one is worth opening.

    As with `Frugal`, the evidence E that an arm is worse than the leader is weighed against what is enough, g·l, with
    l = ln(S_L/S) + ¾·ln⁺(X̄/x_L): the leader's spend to the arm's, and how much dearer the arm is. The difference:

    - **Shrinkage.** With m arms opened, r̂ the leader's rate and r̄ the usual rate (the mean of the mean rewards by that
      of the mean costs), an arm of which nothing is known has the evidence E₀ = ln(1 + m/10) against it: of many arms
      few are better than the best so far. That weighs p = 2E₀/(r̂ − r̄)², the arm's own samples weigh q = T·X̄²/v: with
      w = p/(p + q) and `Frugal`'s evidence D per pull, E = (√(w·E₀) + √((1 − w)·T·D))². For Gaussian rates and
      outcomes that is the evidence of the posterior law. An arm that has paid and whose mean cost is not told from 0
      (for costs ≥ 0 one that never cost anything; once a cost below 0 was seen, T·X̄² ≤ min(T, 4)·Var(X)) has E = 0.
    - **Scale.** With φ = X̄/x_L, the arm's price by the leader's, M and the size of a reward like all others count
      min(1, 10·φ) times, and s² counts max(1, φ)^¼ times: an arm that costs a thousandth does not pay what others pay.
    - **Steadiness.** What an arm that pays little may yet pay, u·M², counts (T·h + 1)/(T + 1) times, h being the share
      of its mean square reward that is variance: who pays a little each time hides nothing.
    - **Opening.** Two arms are opened at first, the others one by one, in an order drawn at random for each run. Told
      the budget, it opens while what is left would buy 2(m + 1)·ln(m + 1) pulls at the usual price x̄. Not told, the
      next arm is a challenger with the evidence E₀ against it and l = ln(spent/(2x̄)), at the slope 0.45.
    - **Horizon.** The longer it is, the more a mistake costs: g = slope + 0.04·(ln(B/x̄) − ½·ln⁺(m/10) − 6)⁺, at most
      1, with what was spent so far in place of B where that is not known. And what is left is all that a discovery can
      pay back: told the budget, what is left stands for S_L in l where it is less.

    There is no guarantee of the mean, only the figures in docs/leaderboard.md: where an arm can hide its best reward,
    mean regret can be linear (docs/kl-rate-regret.md). `Frugal` with a `reward_bound` has one. With horizon="unknown"
    no arm is given up for ever if all of them vary. Scaling all costs together with the budget changes no choice, nor
    does scaling all rewards.

    Args:
        slope: of the evidence that is asked for; larger explores more and has fewer runs that go wrong (see `Wary`).
        horizon: "told", so that `simulate`, campaigns and `advise` tell it the budget, and a run is played for each
            budget; or "unknown", which one run serves for all budgets, for curves.
        budget: what may be spent in all; whoever plays it fills it in. While it is None, the horizon counts as unknown.
        changes: "noticed", so that what an arm did before its mean cost or mean reward changed is forgotten
            (docs/drift.md), or "ignored".
        free_pulls: that an arm has which has neither cost nor paid anything, before that counts against it. Where arms
            cost nothing in most pulls and pay only when they cost, several times as many as it takes to see one that
            does; each arm that always fails is then called so often, too. Thirty are made at once, also with 0.

    >>> Thrifty()
    Thrifty(slope=0.33, horizon='told', budget=None, changes='noticed', free_pulls=0)

    Reference: docs/many-arms.md.
    """

    slope: float = number(default=0.33, above=0, at_most=1)
    horizon: Literal["told", "unknown"] = choice("told", "unknown", default="told")
    budget: float | None = number(default=None, above=0)
    changes: Literal["noticed", "ignored"] = choice("noticed", "ignored", default="noticed")
    free_pulls: int = integer(default=0, at_least=0, at_most=1_000_000_000)

    known_budget: float = derived(budget_or_infinity)

    def memory(self, arms: int) -> SequentialMoments:
        """Moments of the arms that are open, and the order in which the others will be."""
        return SequentialMoments.empty(arms, watched=self.changes == "noticed")

    def excess_of_new_arm(self, low: Lead, high: Lead) -> float:
        """The excess of an arm that is not open; where low and high differ, at most that of any lead between."""
        return excess_of_unopened(self.known_budget, low, high)

    def excess(self, belief: Belief, low: Lead, high: Lead) -> float:
        """Evidence against the arm less what is enough; where low and high differ, at most that of any lead between."""
        return excess_in_money(self.known_budget, self.slope, self.free_pulls, belief, low, high)


class Wary(Thrifty):
    """Thrifty that explores more: to be preferred where one bad run costs more than a few good ones save.

    On the problems of docs/leaderboard.md its mean regret is larger, and fewer of its runs are far worse than its
    median one.

    Args:
        slope: of the evidence that is asked for.
        horizon: "told" or "unknown", as for `Thrifty`.
        budget: what may be spent in all; whoever plays it fills it in.
        changes: "noticed" or "ignored", likewise.
        free_pulls: of an arm that has neither cost nor paid anything, likewise.

    >>> Wary()
    Wary(slope=0.7, horizon='told', budget=None, changes='noticed', free_pulls=0)
    """

    slope: float = number(default=0.7, above=0, at_most=1)
