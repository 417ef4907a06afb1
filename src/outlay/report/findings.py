"""Which policy to use, according to a result: first in numbers, then in sentences for readers new to the subject."""

from typing import NamedTuple

import numpy as np

from outlay.policies import Fixed
from outlay.policies.protocol import Policy, as_data
from outlay.report.numbers.curves import Floats
from outlay.results import Result
from outlay.text import amount, listed, percent

_ERRORS = 1.96  # standard errors from which on a difference is told from 0, at 95 %
_CARRIED = 2.0  # mean ÷ median
_KNOWLEDGE = ("var_cost", "var_reward", "cov", "cost_bound", "reward_bound", "slope_bound", "costs", "cost_moment",
              "reward_moment")  # fmt: skip


class Finding(NamedTuple):
    """The policies that learn, ranked by mean regret at the largest budget."""

    order: list[str]
    tied: list[str]  # those that the runs cannot tell from the first
    regret: Floats  # means, in that order
    median: Floats
    lost: float | None  # regret of the first, as a share of what the best arm alone earned, or of all that can be
    one_in_ten: float  # what a tenth of its runs exceeded
    knowledge: list[str]  # what the first was told about the problem

    @property
    def winner(self) -> str:
        """The policy to use."""
        return self.order[0]

    @property
    def carried(self) -> dict[str, float]:
        """The medians of the policies whose mean is carried by a few runs: it is more than twice the median."""
        numbers = zip(self.order, self.regret, self.median, strict=True)
        return {label: float(median) for label, mean, median in numbers if mean > _CARRIED * median}


def finding(result: Result) -> Finding:
    """Rank the policies of a result.

    A policy that pulls one arm for ever learns nothing, and is ranked only where there is no other policy.
    """
    learns = [not isinstance(policy, Fixed) for policy in result.policies.values()]
    ranked = [index for index, does in enumerate(learns) if does] or list(range(len(learns)))
    runs = result.run_regret()[:, :, -1]
    ranked.sort(key=lambda index: (runs[index].mean(), index))
    best = runs[ranked[0]]
    earned = float(result.oracle_reward[:, -1].mean() if result.requests is None else result.attainable[-1])
    return Finding(
        [result.labels[index] for index in ranked],
        [result.labels[index] for index in ranked[1:] if _alike(best, runs[index])],
        runs[ranked].mean(axis=1),
        np.median(runs[ranked], axis=1),
        float(best.mean()) / earned if earned > 0 else None,
        float(np.quantile(best, 0.9)),
        _knowledge(result.policies[result.labels[ranked[0]]]),
    )


def sentences(found: Finding, result: Result) -> list[str]:
    """The finding in words."""
    if result.requests is None and not np.any(result.gaps):
        return ["All arms are equally good: whatever is pulled, nothing is lost."]
    whole = "the best arm alone earns" if result.requests is None else "can be earned"
    share = f", {percent(found.lost)} of what {whole}" if found.lost is not None else ""
    lost = f"{amount(found.regret[0])} on average{share}"
    if len(found.order) == 1:
        said = [f"{found.winner} lost {lost}."]
    elif found.tied:
        names = listed([found.winner, *found.tied], most=None)
        apart = "one run does not tell" if result.runs == 1 else f"{result.runs} runs do not tell"
        said = [f"{names} lost least, and {apart} them apart: {found.winner} lost {lost}."]
    else:
        _, *others = zip(found.order, map(amount, found.regret), strict=True)
        second = [label for label, lost_too in others if lost_too == others[0][1]]
        follow = f"Next {'is' if len(second) == 1 else 'are'} {listed(second, most=None)} with {others[0][1]}."
        said = [f"Use {found.winner}: it lost least, {lost}. {follow}"]
    if result.runs >= 10:
        said.append(f"One run in ten of {found.winner} lost more than {amount(found.one_in_ten)}.")
        if found.carried:
            medians = [f"{label} (median {amount(median)})" for label, median in found.carried.items()]
            said.append(f"A few long runs carry the mean of {listed(medians, most=None)}.")
    if found.knowledge:
        known = listed(found.knowledge, most=None)
        said.append(f"It was told {known} of the arms; if you do not know them, use policies.default().")
    return said


def _alike(one: Floats, other: Floats) -> bool:
    """Whether the mean difference of runs on the same random numbers could be 0."""
    difference = other - one
    if difference.size == 1:
        return True
    error = float(difference.std(ddof=1)) / np.sqrt(difference.size)
    return bool(difference.mean() <= _ERRORS * error)


def _knowledge(policy: Policy | str) -> list[str]:
    """The names of the facts about the problem that the policy was told."""
    if isinstance(policy, str):
        return []
    given = as_data(policy)["parameters"]
    return [name for name in _KNOWLEDGE if name in given and given[name] is not None and np.any(given[name])]
