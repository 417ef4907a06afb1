"""Which policy to use, by a result: in numbers, and in sentences that a stranger understands."""

from typing import Any, NamedTuple

import numpy as np

from outlay.parameters import is_record
from outlay.policies import Fixed
from outlay.report.numbers.curves import Floats
from outlay.report.numbers.distribution import regret_of_runs
from outlay.report.tables.regret import number, percent
from outlay.results.result import Result

_ERRORS = 1.96  # standard errors of a difference that runs can tell from 0, at 95 %
_CARRIED = 2.0  # mean ÷ median
_KNOWLEDGE = ("var_cost", "var_reward", "cov", "cost_bound", "reward_bound", "slope_bound", "costs", "cost_moment",
              "reward_moment")  # fmt: skip


class Verdict(NamedTuple):
    """The policies that learn, by mean regret at the largest budget."""

    order: list[str]
    tied: list[str]  # those that the runs cannot tell from the first
    regret: Floats  # means, in that order
    median: Floats
    lost: float | None  # of the first, as a part of what the best arm alone earned
    one_in_ten: float  # what a tenth of its runs exceeded
    told: list[str]  # what the first was told about the problem

    @property
    def winner(self) -> str:
        """The one to use."""
        return self.order[0]

    @property
    def carried(self) -> dict[str, float]:
        """The medians of the policies whose mean a few runs carry: it is more than twice the median."""
        numbers = zip(self.order, self.regret, self.median, strict=True)
        return {label: float(median) for label, mean, median in numbers if mean > _CARRIED * median}


def verdict(result: Result) -> Verdict:
    """The ranking; a policy that plays one arm for ever has not learnt, and is ranked only if there is no other."""
    learns = [not isinstance(policy, Fixed) for policy in result.policies.values()]
    places = [place for place, does in enumerate(learns) if does] or list(range(len(learns)))
    runs = regret_of_runs(result)
    places.sort(key=lambda place: (runs[place].mean(), place))
    best = runs[places[0]]
    earned = float(result.oracle_reward[:, -1].mean())
    return Verdict(
        [result.labels[place] for place in places],
        [result.labels[place] for place in places[1:] if _alike(best, runs[place])],
        runs[places].mean(axis=1),
        np.median(runs[places], axis=1),
        float(best.mean()) / earned if earned > 0 else None,
        float(np.quantile(best, 0.9)),
        _told(result.policies[result.labels[places[0]]]),
    )


def sentences(found: Verdict, result: Result) -> list[str]:
    """The verdict in words."""
    if not np.any(result.problem.gaps):
        return ["All arms are equally good: whatever is pulled, nothing is lost."]
    part = f", {percent(found.lost)} of what the best arm alone earns" if found.lost is not None else ""
    lost = f"{number(found.regret[0])} on average{part}"
    if len(found.order) == 1:
        said = [f"{found.winner} lost {lost}."]
    elif found.tied:
        names = listed([found.winner, *found.tied])
        said = [f"{names} lost least, and {_told_by(result.runs)} them apart: {found.winner} lost {lost}."]
    else:
        _, *others = zip(found.order, map(number, found.regret), strict=True)
        second = [label for label, lost_too in others if lost_too == others[0][1]]
        follow = f"Next {'is' if len(second) == 1 else 'are'} {listed(second)} with {others[0][1]}."
        said = [f"Use {found.winner}: it lost least, {lost}. {follow}"]
    if result.runs >= 10:
        said.append(f"One run in ten of {found.winner} lost more than {number(found.one_in_ten)}.")
        if found.carried:
            medians = listed([f"{label} (median {number(median)})" for label, median in found.carried.items()])
            said.append(f"A few long runs carry the mean of {medians}.")
    if found.told:
        said.append(f"It was told {listed(found.told)} of the arms; who does not know them takes policies.default().")
    return said


def _alike(one: Floats, other: Floats) -> bool:
    """Whether the mean difference of runs on the same random numbers could be 0."""
    difference = other - one
    if difference.size == 1:
        return True
    error = float(difference.std(ddof=1)) / np.sqrt(difference.size)
    return bool(difference.mean() <= _ERRORS * error)


def _told_by(runs: int) -> str:
    return "one run does not tell" if runs == 1 else f"{runs} runs do not tell"


def _told(policy: Any) -> list[str]:
    if not is_record(policy):
        return []
    given = policy.arguments() if hasattr(policy, "arguments") else policy._asdict()
    return [name for name in _KNOWLEDGE if name in given and given[name] is not None and np.any(given[name])]


def listed(names: list[str]) -> str:
    """Names as a sentence has them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
