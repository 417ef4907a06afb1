"""Play until broke: the inner loop, as plain Python that is also compiled.

A run pulls arms until its spending exceeds the largest budget. Spending need not be monotone (costs may be
negative), so what a budget B sees is its *first* passage N(B) = inf{n : S_n > B}, and the pull that crosses it
counts (the paper, Section 2). Since no policy here looks at B, one run yields every budget.

All state lives in arrays, so that the loop can stop after a slice of pulls and be resumed with nothing lost:
that is how a progress bar moves and Ctrl-C returns at once.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.engine.certificate import lazy_against
from outlay.engine.lazy import Race, forget, lazy_best
from outlay.formulas.choose import Now, best_by_sample, best_by_score, log_of

BATCH = 8  # runs handed to one compiled call: fewer and short runs are bound by the call, more and it compiles slowly

# Columns of Runs.marks.
PULLS, PASSED, STRAY = 0, 1, 2
# Columns of Runs.totals: two sums, each with Kahan's running correction.
SPENT, SPENT_LOW, EARNED, EARNED_LOW = 0, 1, 2, 3


class Runs(NamedTuple):
    """Where each run of a batch stands."""

    pulls: NDArray[np.int64]  # [run, arm]
    totals: NDArray[np.float64]  # [run, 4]: spent and earned so far
    marks: NDArray[np.int64]  # [run, 3]: pulls made, budgets passed, a chosen arm that does not exist (0: none)
    race: Race  # of the run that is being advanced

    @staticmethod
    def start(arms: int) -> "Runs":
        """A batch that has not pulled yet."""
        return Runs(
            np.zeros((BATCH, arms), np.int64), np.zeros((BATCH, 4)), np.zeros((BATCH, 3), np.int64), Race.start(arms)
        )


class Outcome(NamedTuple):
    """What each run had done when it passed each budget."""

    pulls: NDArray[np.int64]  # [run, budget, arm]
    cost: NDArray[np.float64]  # [run, budget]
    reward: NDArray[np.float64]  # [run, budget]

    def blank(self) -> "Outcome":
        """Arrays of zeros, each whole and contiguous, of the same shapes."""
        return Outcome(*(np.zeros(array.shape, array.dtype) for array in self))  # type: ignore[arg-type]

    def part(self, index: Any) -> "Outcome":
        """The same part of each array."""
        return Outcome(self.pulls[index], self.cost[index], self.reward[index])


def decide(policy: Any, memory: Any, pulls: Any, spent: float, n: int, race: Any, rng: Any) -> int:
    """The arm to pull next, by whichever of score, sample, excess and choose the policy has."""
    arm: int = way_to_decide(type(policy))(policy, memory, pulls, spent, n, race, rng)
    return arm


def way_to_decide(policy: Any) -> Any:
    """The function below that serves a class of policies: the interpreter and the compiler agree on it here."""
    if _can(policy, "score"):
        return decide_lazily if _can(policy, "phase") else decide_by_score
    if _can(policy, "excess"):
        return decide_by_excess
    return decide_by_sample if _can(policy, "sample") else decide_by_choose


def _can(policy: Any, method: str) -> bool:
    """Whether a class has a method of this name; a field may have the name, too."""
    return callable(getattr(policy, method, None))


def decide_lazily(policy: Any, memory: Any, pulls: Any, spent: float, n: int, race: Any, rng: Any) -> int:  # noqa: ARG001
    """`decide` for a policy with `score` and `phase`."""
    return lazy_best(policy, memory, pulls, n, race)


def decide_by_score(policy: Any, memory: Any, pulls: Any, spent: float, n: int, race: Any, rng: Any) -> int:  # noqa: ARG001
    """`decide` for a policy with `score` alone."""
    return best_by_score(policy, memory, pulls, log_of(n))


def decide_by_sample(policy: Any, memory: Any, pulls: Any, spent: float, n: int, race: Any, rng: Any) -> int:  # noqa: ARG001
    """`decide` for a policy with `sample`."""
    return best_by_sample(policy, memory, pulls, log_of(n), rng)


def decide_by_excess(policy: Any, memory: Any, pulls: Any, spent: float, n: int, race: Any, rng: Any) -> int:  # noqa: ARG001
    """`decide` for a policy with `excess`."""
    return lazy_against(policy, memory, pulls, race)


def decide_by_choose(policy: Any, memory: Any, pulls: Any, spent: float, n: int, race: Any, rng: Any) -> int:  # noqa: ARG001
    """`decide` for a policy with `choose`."""
    arm: int = policy.choose(memory, Now(n, log_of(n), spent), rng)
    return arm


def advance(
    rng: Any, world: Any, policy: Any, memory: Any, pulls: Any, totals: Any, marks: Any, race: Any, budgets: Any,
    out_pulls: Any, out_cost: Any, out_reward: Any, stop: int,
) -> None:  # fmt: skip
    """Pull one run's arms until every budget is passed, it has made `stop` pulls, or its memory is full."""
    n, passed = marks[PULLS], marks[PASSED]
    spent, spent_low = totals[SPENT], totals[SPENT_LOW]
    earned, earned_low = totals[EARNED], totals[EARNED_LOW]
    forget(race)
    while passed < len(budgets) and n < stop and not memory.full():
        arm = decide(policy, memory, pulls, spent, n, race, rng)
        if arm < 0 or arm >= len(pulls):
            marks[STRAY] = arm  # never 0, which is always an arm
            break
        cost, reward = world.pull(arm, rng)
        memory.observe(arm, cost, reward)
        pulls[arm] += 1
        n += 1
        # Kahan: a billion small costs must still add up to the budget.
        term = cost - spent_low
        total = spent + term
        spent_low = (total - spent) - term
        spent = total
        term = reward - earned_low
        total = earned + term
        earned_low = (total - earned) - term
        earned = total
        while passed < len(budgets) and spent > budgets[passed]:
            for k in range(len(pulls)):
                out_pulls[passed, k] = pulls[k]
            out_cost[passed] = spent
            out_reward[passed] = earned
            passed += 1
    marks[PULLS], marks[PASSED] = n, passed
    totals[SPENT], totals[SPENT_LOW] = spent, spent_low
    totals[EARNED], totals[EARNED_LOW] = earned, earned_low


def play(
    rngs: Any, world: Any, policy: Any, memories: Any, runs: Any, outcome: Any, budgets: Any, limit: int, cap: int
) -> None:
    """Advance a batch of runs by `limit` pulls in all, none of them past `cap` pulls."""
    for i in range(len(outcome.cost)):
        before = runs.marks[i, PULLS]
        if limit > 0 and runs.marks[i, PASSED] < len(budgets):
            advance(
                rngs[i], world, policy, memories[i], runs.pulls[i], runs.totals[i], runs.marks[i], runs.race, budgets,
                outcome.pulls[i], outcome.cost[i], outcome.reward[i], min(before + limit, cap),
            )  # fmt: skip
            limit -= runs.marks[i, PULLS] - before
