"""One policy in one cell (a problem at a budget): its regret over runs, the tail of that, and two ratios."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.leaderboard.contexts import Contextual
from benchmarks.leaderboard.drift import Changing
from benchmarks.leaderboard.many import Drawn
from benchmarks.leaderboard.play import Played
from benchmarks.leaderboard.problems import AnyEntry, Entry
from benchmarks.leaderboard.requests import Rationed
from benchmarks.leaderboard.store import Floats
from outlay.report.curves import floor_of

LONG = 3.0  # a run is long if its regret exceeds the policy's own median this many times over


class Row(NamedTuple):
    """One policy in one cell."""

    problem: str
    group: str
    budget: float  # in mean costs (drawn: per arm; with requests: of the best-paid arm, for each; else in money)
    policy: str
    told: str
    mean: float  # of the regret; of a drawn problem in per cent of r*·B, with requests of the most, as all that follows
    stderr: float
    median: float
    q90: float
    worst: float
    long: float  # the share of long runs
    bound: float | None  # mean ÷ (sharp lower bound · ln B), where there is one
    ratio: float  # mean ÷ that of the best policy in the cell not told the truth; nan if there is none, or for "means"
    ratio_stderr: float
    best: bool  # whether it is that policy, or equal to it
    arms: int
    family: str = ""  # of which the problem was drawn, if it was
    requests: int = 0  # of which there are so many, if they are limited
    changing: str = ""  # the kind of problem, where arms change
    contexts: str = ""  # kind and features, where requests carry some

    @property
    def unaided(self) -> bool:
        """Whether the policy is told no true moments."""
        return unaided(self.told)


def unaided(told: str) -> bool:
    """Whether a policy that is told this is a measure for others: it knows no truth about the arms."""
    return told not in ("costs", "means", "moments")


def rows_of(played: Sequence[Played], told: Mapping[str, str]) -> list[Row]:
    """Every policy in every cell; `told` is what each is told."""
    by_problem: dict[str, list[Played]] = {}
    for each in played:
        by_problem.setdefault(each.job.entry.name, []).append(each)
    rows = []
    for group in by_problem.values():
        entry, budgets = group[0].job.entry, group[0].job.setting.budgets
        for j, (budget, bound) in enumerate(zip(budgets, bounds_of(entry, budgets), strict=True)):
            regrets = {each.job.label: each.kept.regret[:, j] for each in group}
            rows += cell(entry, budget, regrets, bound, told)
    return rows


def bounds_of(entry: AnyEntry, budgets: Sequence[float]) -> list[float | None]:
    """The sharp lower bound on regret at each budget, for problems that are always the same, without requests."""
    if not isinstance(entry, Entry):
        return [None] * len(budgets)
    floor = floor_of(entry.problem)
    return [floor.at(budget * entry.mean_cost) for budget in budgets]


def cell(
    entry: AnyEntry, budget: float, regrets: Mapping[str, Floats], bound: float | None, told: Mapping[str, str]
) -> list[Row]:
    """The rows of one cell, in the order of the policies; `bound` is the sharp lower bound on regret there."""
    rivals = [label for label in regrets if unaided(told[label])]
    best = min((regrets[label] for label in rivals), key=lambda regret: float(regret.mean()), default=None)
    rows = []
    for label, regret in regrets.items():
        mean, median = float(regret.mean()), float(np.median(regret))
        ratio, error = (math.nan, math.nan) if best is None or told[label] == "means" else ratio_of(regret, best)
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
                arms=entry.arms,
                family=entry.family if isinstance(entry, Drawn) else "",
                requests=entry.requests if isinstance(entry, Rationed) else 0,
                changing=entry.kind if isinstance(entry, Changing) else "",
                contexts=entry.part if isinstance(entry, Contextual) else "",
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
