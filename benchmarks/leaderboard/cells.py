"""One policy in one cell (a problem at a budget): its regret over runs, the tail of that, and two ratios."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.leaderboard.play import Played
from benchmarks.leaderboard.problems import Entry
from benchmarks.leaderboard.store import Floats
from outlay.report.numbers.curves import floor_of

LONG = 3.0  # a run is long if its regret exceeds the policy's own median this many times over


class Row(NamedTuple):
    """One policy in one cell."""

    problem: str
    group: str
    budget: float  # in mean costs
    policy: str
    told: str
    mean: float
    stderr: float
    median: float
    q90: float
    worst: float
    long: float  # the share of long runs
    bound: float | None  # mean ÷ (sharp lower bound · ln B), where there is one
    ratio: float  # mean ÷ that of the best policy in the cell not told true moments; nan if there is none
    ratio_stderr: float
    best: bool  # whether it is that policy, or equal to it

    @property
    def unaided(self) -> bool:
        """Whether the policy is told no true moments."""
        return unaided(self.told)


def unaided(told: str) -> bool:
    """Whether a policy that is told this can be run by people who do not know the truth."""
    return told != "moments"


def rows_of(played: Sequence[Played], budgets: Sequence[float], told: Mapping[str, str]) -> list[Row]:
    """Every policy in every cell; `told` is what each is told."""
    by_problem: dict[str, list[Played]] = {}
    for each in played:
        by_problem.setdefault(each.entry.name, []).append(each)
    rows = []
    for group in by_problem.values():
        entry, floor = group[0].entry, floor_of(group[0].entry.problem)
        for j, budget in enumerate(budgets):
            regrets = {each.label: each.kept.regret[:, j] for each in group}
            rows += cell(entry, budget, regrets, floor.at(budget * entry.mean_cost), told)
    return rows


def cell(
    entry: Entry, budget: float, regrets: Mapping[str, Floats], bound: float | None, told: Mapping[str, str]
) -> list[Row]:
    """The rows of one cell, in the order of the policies; `bound` is the sharp lower bound on regret there."""
    rivals = [label for label in regrets if unaided(told[label])]
    best = min((regrets[label] for label in rivals), key=lambda regret: float(regret.mean()), default=None)
    rows = []
    for label, regret in regrets.items():
        mean, median = float(regret.mean()), float(np.median(regret))
        ratio, error = (math.nan, math.nan) if best is None else ratio_of(regret, best)
        rows.append(
            Row(
                problem=entry.name,
                group=entry.group,
                budget=budget,
                policy=label,
                told=told[label],
                mean=mean,
                stderr=standard_error(regret),
                median=median,
                q90=float(np.quantile(regret, 0.9)),
                worst=float(regret.max()),
                long=float((regret > LONG * median).mean()),
                bound=None if bound is None else mean / bound,
                ratio=ratio,
                ratio_stderr=error,
                best=label in rivals and ratio == 1.0,
            )
        )
    return rows


def ratio_of(regret: Floats, other: Floats) -> tuple[float, float]:
    """The ratio of two mean regrets with its standard error, to first order; run i of both drew from one stream."""
    mean, against = float(regret.mean()), float(other.mean())
    if mean <= 0.0 or against <= 0.0:
        return (1.0 if mean == against else math.inf if mean > against else 0.0), 0.0
    return mean / against, mean / against * standard_error(regret / mean - other / against)


def standard_error(values: Floats) -> float:
    """Of the mean; nan for a single run, which says nothing about its scatter."""
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
