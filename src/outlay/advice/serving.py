"""A number of requests beside the budget: which arms to mix, what that brings, what more money would, a rehearsal."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from outlay import policies
from outlay.advice.evidence.groups import Groups
from outlay.advice.evidence.hull import (
    NEVER,
    Estimate,
    Mix,
    Points,
    gain,
    mix_of,
    points_of,
    said_of,
    standing,
)
from outlay.advice.rehearsal import FEWEST_RUNS, MOST_PULLS, MOST_RUNS, WORK, problem_of
from outlay.engine.simulate import simulate
from outlay.policies.protocol import Policy
from outlay.results import Floats

_CURVE = 60  # budgets per request that the figure shows


class ArmServing(NamedTuple):
    """An arm as a point."""

    name: str
    cost: float  # mean
    reward: float
    share: float  # of bootstrap samples in which it is at a bend of the hull
    on_hull: str  # for sure, maybe, never


class Played(NamedTuple):
    """A policy, or an arm alone, in the rehearsal."""

    label: str
    reward: float  # mean
    stderr: float
    share: float  # of what the best mix brings on average
    spent: float  # mean
    served: float  # requests, mean


class Curve(NamedTuple):
    """What a request brings against what there is to spend on it."""

    budgets: list[float]  # per request
    rewards: list[float]
    low: list[float]
    high: list[float]


class Serving(NamedTuple):
    """What the requests bring, and with which arms."""

    requests: int
    arms: list[ArmServing]  # from cheap to dear
    mixes: list[Mix]  # with half the budget, the budget, and twice it
    names: list[str]  # of the arms that mixes refer to
    more: float  # an amount of money
    more_brings: Estimate  # what it would bring beside the budget
    curve: Curve
    at_equal_times: bool
    rehearsal: list[Played]  # empty where it was not wanted
    rehearsed_requests: int  # fewer than `requests` where that many would take too long

    @property
    def mix(self) -> Mix:
        """The mix for the budget."""
        return self.mixes[1]

    @property
    def remaining(self) -> list[str]:
        """The arms worth a campaign: those that are or may be on the hull."""
        return [arm.name for arm in self.arms if arm.on_hull != NEVER]


def serve(
    names: list[str], groups: Sequence[Groups], bins: int, shared: bool, budget: float, requests: int, seed: int
) -> Serving:
    """The hull of arms, by their groups of rows, and what it says about a budget for so many requests."""
    points = points_of(groups, bins, shared, seed)
    shares = standing(points)
    arms = [
        ArmServing(name, float(cost), float(reward), share, said_of(share))
        for name, (cost, reward), share in zip(names, points.means, shares, strict=True)
    ]
    if all(arm.on_hull == NEVER for arm in arms):  # no arm pays: nothing to choose by
        arms = [arm._replace(on_hull=said_of(0.5)) for arm in arms]
    more = round_amount(budget / 10.0)
    return Serving(
        requests=requests,
        arms=sorted(arms, key=lambda arm: arm.cost),
        mixes=[mix_of(points, part * budget, requests) for part in (0.5, 1.0, 2.0)],
        names=names,
        more=more,
        more_brings=gain(points, requests, [budget + more], since=budget)[0],
        curve=_curve(points, budget / requests),
        at_equal_times=points.at_equal_times,
        rehearsal=[],
        rehearsed_requests=0,
    )


def round_amount(value: float) -> float:
    """The largest of 1, 2, 5, 10, 20, … that is not above the value.

    >>> round_amount(73.0), round_amount(0.23)
    (50.0, 0.2)
    """
    ten = 10.0 ** np.floor(np.log10(value))
    return float(round(max(part for part in (1.0, 2.0, 5.0) if part * ten <= value * (1 + 1e-12)) * ten, 12))


def rehearsed(
    serving: Serving, rows: Mapping[str, Floats], budget: float, *, runs: int | None, seed: int, workers: int | None
) -> Serving:
    """The serving with a rehearsal: Ration, which starts from nothing, beside arms alone and each in turn.

    With more requests than half a million, money and requests are both scaled down.
    """
    names = [name for name in serving.remaining if name in rows]
    requests = min(serving.requests, MOST_PULLS)
    money = budget * requests / serving.requests
    count = runs or int(np.clip(WORK / requests, FEWEST_RUNS, MOST_RUNS))
    problem = problem_of({name: rows[name] for name in names})
    mix = serving.mix
    used = [serving.names[arm] for arm in (mix.low, mix.high) if arm is not None]
    players: dict[str, Policy] = {"Ration": policies.Ration()}
    players |= {f"{name} alone": policies.Fixed(names.index(name)) for name in used if name in names}
    if len(names) > 1:
        players["RoundRobin"] = policies.RoundRobin()
    result = simulate(problem, players, [money], requests=requests, runs=count, seed=seed, workers=workers)
    most = mix.reward.value * requests / serving.requests
    played = [
        Played(
            label,
            float(reward.mean()),
            float(reward.std(ddof=1) / np.sqrt(len(reward))) if len(reward) > 1 else float("nan"),
            float(reward.mean() / most) if most > 0.0 else float("nan"),
            float(result.cost[index, :, -1].mean()),
            float(result.pulls[index, :, -1].sum(axis=-1).mean()),
        )
        for index, (label, reward) in enumerate(zip(result.policies, result.reward[:, :, -1], strict=True))
    ]
    return serving._replace(rehearsal=played, rehearsed_requests=requests)


def _curve(points: Points, c: float) -> Curve:
    """The hull from 0 to a little beyond its last bend and twice the budget, with a band."""
    last = max(2.2 * c, 1.1 * float(points.hull.costs[-1]))
    last = min(last, 20.0 * c)  # a dear arm far away is no reason to squeeze the rest
    bends = points.hull.costs[points.hull.costs < last]
    budgets = np.union1d(np.linspace(0.0, last, _CURVE), bends)
    found = gain(points, 1.0, budgets.tolist())
    return Curve(budgets.tolist(), *([getattr(one, part) for one in found] for part in ("value", "low", "high")))
