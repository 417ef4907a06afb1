"""A budget for a number of requests: the hull of the arms, the mixes on it, and their rehearsal."""

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np

from outlay import policies
from outlay.advice.comparison import Groups, Strata, drawn, running, strata_of
from outlay.advice.rehearsal import FEWEST_RUNS, MOST_PULLS, MOST_RUNS, WORK, problem_of, stderr
from outlay.advice.summary import PARTS, Floats
from outlay.engine.simulate import simulate
from outlay.formulas.pricing import NOTHING, TIE, prices
from outlay.policies.protocol import Policy
from outlay.theory.fluid_optimum import fluid_at

DRAWS = 1000  # hulls, or as many as a few hundred thousand points make
_POINTS = 200_000
_CURVE = 60  # budgets per request that the figure shows
LEVEL = 0.95  # of intervals, and of what is on the hull for sure
SURE, MAYBE, NEVER = "for sure", "maybe", "never"


class Hull(NamedTuple):
    """The bends of a hull, from the origin on."""

    arms: list[int]  # at the bends after the origin
    costs: Floats
    rewards: Floats

    def value(self, c: Floats) -> Floats:
        """What a request brings at a mean cost of c."""
        found: Floats = np.interp(c, self.costs, self.rewards)
        return found


class ArmPoints(NamedTuple):
    """The arms' points with their hull, and what that might be instead."""

    means: Floats  # [arm, 2]: mean cost and mean reward
    hull: Hull
    drawn: list[Hull]  # of bootstrap samples
    at_equal_times: bool  # whether means are from times at which all arms were used


class HullEstimate(NamedTuple):
    """A number with its interval, 95 %."""

    value: float
    low: float
    high: float


class Mix(NamedTuple):
    """What a budget brings, and how its requests are shared out."""

    budget: float
    reward: HullEstimate  # of all requests together
    price: float  # of money: what one more unit of budget would bring
    low: int | None  # the cheaper arm; None: that share of the requests is not served
    high: int | None  # the dearer one; None where one arm is enough, or none pays
    share: float  # of the requests that go to `high`; the others go to `low`


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


class ServingCurve(NamedTuple):
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
    more_brings: HullEstimate  # what it would bring beside the budget
    curve: ServingCurve
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
    bends = np.concatenate([hull.arms for hull in points.drawn]).astype(np.int64)
    shares, beyond = (np.bincount(bends, minlength=len(names)) / len(points.drawn)).tolist(), (1.0 - LEVEL) / 2.0
    arms = []
    for name, (cost, reward), share in zip(names, points.means.tolist(), shares, strict=True):
        said = SURE if share >= 1.0 - beyond else NEVER if share <= beyond else MAYBE
        arms.append(ArmServing(name, cost, reward, share, said))
    if all(arm.on_hull == NEVER for arm in arms):  # no arm pays: nothing to choose by
        arms = [arm._replace(on_hull=MAYBE) for arm in arms]
    c = budget / requests
    last = max(2.2 * c, 1.1 * float(points.hull.costs[-1]))  # a little beyond twice the budget and the last bend
    last = min(last, 20.0 * c)  # a dear arm far away is no reason to squeeze the rest
    shown = np.union1d(np.linspace(0.0, last, _CURVE), points.hull.costs[points.hull.costs < last]).tolist()
    band = gain(points, 1.0, shown)
    ten = 10.0 ** np.floor(np.log10(budget / 10.0))
    parts = [part for part in (1.0, 2.0, 5.0) if part * ten <= budget / 10.0 * (1 + 1e-12)]
    more = float(round(max(parts) * ten, 12))  # the largest of 1, 2, 5, 10, … that is not above a tenth of the budget
    return Serving(
        requests=requests,
        arms=sorted(arms, key=lambda arm: arm.cost),
        mixes=[mix_of(points, part * budget, requests) for part in (0.5, 1.0, 2.0)],
        names=names,
        more=more,
        more_brings=gain(points, requests, [budget + more], since=budget)[0],
        curve=ServingCurve(shown, [one.value for one in band], [one.low for one in band], [one.high for one in band]),
        at_equal_times=points.at_equal_times,
        rehearsal=[],
        rehearsed_requests=0,
    )


def rehearsed(
    serving: Serving,
    rows: Mapping[str, Floats],
    budget: float,
    *,
    runs: int | None,
    seed: int,
    workers: int | None,
) -> Serving:
    """The serving with a rehearsal, of fewer requests where they are too many: Ration beside arms alone and in turn."""
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
            stderr(reward),
            float(reward.mean() / most) if most > 0.0 else float("nan"),
            float(result.cost[index, :, -1].mean()),
            float(result.pulls[index, :, -1].sum(axis=-1).mean()),
        )
        for index, (label, reward) in enumerate(zip(result.policies, result.reward[:, :, -1], strict=True))
    ]
    return serving._replace(rehearsal=played, rehearsed_requests=requests)


def points_of(groups: Sequence[Groups], bins: int, shared: bool, seed: int) -> ArmPoints:
    """Means of all arms on common weights, and bootstrap samples of them.

    With bins of time: over strata that have rows of every arm, by the bins or else by the eighths of the log; over all
    rows where there are none.
    """
    rng, counts = np.random.default_rng(seed), [len(own.sums) for own in groups]
    common = _common(groups, bins)
    many = max(20, min(DRAWS, _POINTS // len(groups)))
    same = drawn(counts[0], many, rng) if shared else None
    weights = repeat(same) if same is not None else (drawn(count, many, rng) for count in counts)
    draws, means = [], []
    for own, drawn_now in zip(groups, weights, strict=False):
        means.append(_means(common, running(own, bins, np.ones((1, len(own.sums)))))[0])
        found = _means(common, running(own, bins, drawn_now))
        draws.append(np.where(np.isnan(found), means[-1], found))
    points = np.stack(means)
    hulls = [hull_of(one) for one in np.stack(draws, axis=1)]
    return ArmPoints(points, hull_of(points), hulls, bins > 1 and common.lasts[0] - common.firsts[0] < bins)


def hull_of(points: Floats) -> Hull:
    """The hull of arms' points, [arm, 2]."""
    costs, rewards = np.ascontiguousarray(points.T)
    arms, c = list[int](), 0.0
    while (high := prices(costs, rewards, c * (1.0 + TIE)).high) != NOTHING:
        arms.append(high)
        c = float(costs[high])
    return Hull(arms, np.append(0.0, costs[arms]), np.append(0.0, rewards[arms]))


def mix_of(points: ArmPoints, budget: float, requests: float) -> Mix:
    """What a budget brings with the best mix."""
    c = budget / requests
    costs, rewards = np.ascontiguousarray(points.means.T)
    best = fluid_at(costs, rewards, c)
    return Mix(budget, gain(points, requests, [budget])[0], best.price, best.low, best.high, best.share)


def gain(
    points: ArmPoints, requests: float, budgets: Sequence[float], since: float | None = None
) -> list[HullEstimate]:
    """What the best mix brings with each budget, or how much more than with the budget `since`, with intervals."""
    c = np.asarray(budgets) / requests
    less = np.array(0.0 if since is None else since / requests)
    values = np.stack([hull.value(c) - hull.value(less) for hull in (points.hull, *points.drawn)]) * requests
    low, high = np.quantile(values[1:], [0.5 - LEVEL / 2.0, 0.5 + LEVEL / 2.0], axis=0)
    return [HullEstimate(*map(float, one)) for one in zip(values[0], low, high, strict=True)]


def _common(groups: Sequence[Groups], bins: int) -> Strata:
    """Strata that have rows of every arm; all bins together where there are none."""
    whole = Strata(np.zeros(1, np.int64), np.full(1, bins, np.int64), np.ones(1))
    if bins == 1:
        return whole
    rows = np.stack([np.bincount(own.bins, own.sums[:, 0], bins) for own in groups])
    least = rows.min(axis=0).tolist()
    if len((fine := strata_of(least, least)).firsts) >= PARTS:
        return fine
    wide = bins // PARTS
    least = rows.reshape(len(rows), PARTS, wide).sum(axis=2).min(axis=0).tolist()
    parts = strata_of(least, least)
    return Strata(parts.firsts * wide, parts.lasts * wide, parts.weights) if len(parts.firsts) else whole


def _means(strata: Strata, sums: Floats) -> Floats:
    """Mean cost and reward over strata under each draw; nan where a stratum has no row."""
    here = sums[:, strata.lasts] - sums[:, strata.firsts]
    with np.errstate(divide="ignore", invalid="ignore"):
        means = here[..., 1:] / here[..., :1]
    found: Floats = np.einsum("s,dsc->dc", strata.weights / strata.weights.sum(), means)
    return found
