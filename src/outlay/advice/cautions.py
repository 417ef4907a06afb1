"""The verdict on each arm, the choice of a policy, and what to watch out for."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np

from outlay import policies
from outlay.advice import comparison, summary
from outlay.advice.comparison import PAIRS, TIMES, WHOLE, Comparison, Groups, Instances
from outlay.advice.findings import ArmAdvice, Caution, ComparisonTerms, Latest
from outlay.advice.rehearsal import Rehearsal
from outlay.advice.summary import DOUBTFUL, FREE, OUT, PARTS, RANKED, TIME, UNRANKED, Floats, Ints, Tallies, Tally
from outlay.policies import Recommendation
from outlay.policies.protocol import Policy
from outlay.text import capital, counted, listed, measured, number

FEW = 200  # rows of an arm, below which neither tail nor interval means much
FEW_PULLS = 30  # of the dearest arm, below which the last pull of a run weighs too much
FEW_LATELY = 20  # rows in the last eighth, below which an arm has no rate there
CLEARLY = 3.0  # standard errors by which a policy must earn more than the default to be preferred
WORTHWHILE = 0.01  # and by how much of the default's reward
SELECTION = (
    "A log does not say why a row used its arm. If the choice depended on the request (hard ones to the strong arm) or"
    " on earlier results, means and intervals are off, and no test on this file can show it; only rows whose arm was"
    " chosen at random are safe"
)


class Ground(NamedTuple):
    """On what the arms are compared."""

    basis: str  # the whole log, equal times, or the same instances
    groups: list[Groups]  # of each arm that is compared
    bins: int  # of time, that groups are in
    chance: float | None  # of so uneven a use of the arms over time by accident; None where it was not tested
    instances: Instances | None


class Judged(NamedTuple):
    """The arms and the terms, and what they rest on."""

    arms: list[ArmAdvice]
    terms: ComparisonTerms
    priced: list[str]  # the arms with a mean cost above 0 and enough rows, which were compared
    ground: Ground


def judge(tallies: Tallies, confidence: float, seed: int = 0) -> Judged:
    """Look at each arm, then compare those that cost something, of which there must be one, and have enough rows."""
    names, found = list(tallies.arms), list(tallies.arms.values())
    beliefs = [tally.belief(arm) for arm, tally in enumerate(found)]
    kept = [tally.sample.rows() for tally in found]
    samples = [rows[:, np.argsort(rows[TIME], kind="stable")] for rows in kept]  # in the order of time
    parts = _parts(found, samples, PARTS)
    changes = [[summary.change_of(summary.block_means(values)) for values in sample[:TIME]] for sample in samples]
    raised = summary.alarms([change for both in changes for change in both])
    drifts = [cost or reward for cost, reward in zip(raised[::2], raised[1::2], strict=True)]
    courses = [summary.course_of(*given) for given in zip(drifts, [own[:TIME] for own in samples], parts, strict=True)]
    costly = [arm for arm, belief in enumerate(beliefs) if belief.mean_cost > 0.0]
    priced = [arm for arm in costly if beliefs[arm].pulls >= RANKED] or costly
    ground = _ground(tallies, [names[arm] for arm in priced], [samples[arm] for arm in priced], seed)
    ordered = tallies.timed or not (tallies.by_arm or ground.basis == PAIRS)
    if not ordered:  # in the order of instances nothing drifts; in that of arms, time may explain all if any arm does
        some = ground.basis != PAIRS and any(drifts)
        courses = [course._replace(drifts=some) for course in courses]
    each = 1.0 - (1.0 - confidence) / len(found)  # of each interval, for all to hold together (Bonferroni)
    ends = float(min(own.low[1] for own in found)), float(max(own.high[1] for own in found))  # of all rewards
    slack = np.array([summary.slack_of(beliefs[arm], each, *ends) for arm in priced]).T
    compared = comparison.compare(
        ground.groups, ground.basis, bins=ground.bins, slack=slack, confidence=confidence, seed=seed
    )
    tails = [summary.tail_of(tally.largest.rows()[0], tally.sample.rows()[0], tally.sums.n) for tally in found]
    below = {arm: np.flatnonzero(row).tolist() for arm, row in zip(priced, compared.below, strict=True)}
    heavy, ran = [tails[arm].unsettled for arm in priced], [courses[arm] for arm in priced]
    says = dict(zip(priced, summary.verdicts(compared.best, list(below.values()), heavy, ran), strict=True))
    versus = dict(zip(priced, compared.versus, strict=True))
    arms = []
    for arm, (name, tally, belief) in enumerate(zip(names, found, beliefs, strict=True)):
        spread = math.sqrt(belief.var_cost) * math.sqrt(belief.var_reward)
        latest = samples[arm][:TIME, parts[arm] == PARTS - 1]
        arms.append(
            ArmAdvice(
                name=name,
                belief=belief,
                rate=belief.mean_reward / belief.mean_cost if belief.mean_cost > 0.0 else None,
                interval=summary.rate_interval(belief, each, *ends),
                correlation=min(1.0, max(-1.0, belief.cov / spread)) if spread > 0.0 else None,
                tail=tails[arm],
                cost_change=changes[arm][0],
                reward_change=changes[arm][1],
                course=courses[arm],
                latest=_latest(latest, confidence, *ends) if ordered else None,
                versus=versus.get(arm),
                below=[names[priced[k]] for k in below.get(arm, [])],
                verdict=says.get(arm, UNRANKED if arm in costly else FREE),
                costs=summary.Interval(float(tally.low[0]), float(tally.high[0])),
                rewards=summary.Interval(float(tally.low[1]), float(tally.high[1])),
                zero_costs=tally.zero_costs,
                negative_costs=tally.negative_costs,
            )
        )
    by_part = [
        Groups(np.column_stack([np.ones(samples[arm].shape[1]), *samples[arm][:TIME]]), parts[arm]) for arm in priced
    ]
    terms = _terms(tallies, ground, compared, [] if tallies.by_arm else by_part, seed)
    return Judged(arms, terms, [names[arm] for arm in priced], ground)


def _ground(tallies: Tallies, priced: Sequence[str], samples: Sequence[Floats], seed: int) -> Ground:
    """The same instances where there are such; equal times where arms were used at different ones; else all rows."""
    rng = np.random.default_rng(seed)
    found = [tallies.arms[name] for name in priced]
    instances = comparison.instances_of(tallies, priced)
    if instances is not None and (instances.sums[..., 1].sum(axis=1) > 0.0).all():
        return Ground(PAIRS, comparison.merged_groups(instances.sums, rng), 1, None, instances)
    chance = None
    if len(priced) > 1 and not tallies.by_arm:
        chance = summary.apart_chance(_parts(found, samples, PARTS))
    if chance is not None and chance < summary.FALSE_ALARM:
        bins = comparison.bins_for(len(priced))
        most, parts = max(comparison.MOST, comparison.IN_BIN * bins), _parts(found, samples, bins)
        groups = [comparison.groups_of(own[:TIME], part, rng, most) for own, part in zip(samples, parts, strict=True)]
        return Ground(TIMES, groups, bins, chance, None)
    groups = []
    for tally in found:
        rows = tally.sample.rows()
        if rows.shape[1] == tally.sums.n:
            groups.append(comparison.groups_of(rows[:TIME], np.zeros(rows.shape[1], np.int64), rng))
        else:  # of a long log, the groups that rows were dealt out to while it was read
            used = tally.spread[tally.spread[:, 0] > 0.0]
            groups.append(Groups(used, np.zeros(len(used), np.int64)))
    return Ground(WHOLE, groups, 1, chance, None)


def _parts(found: Sequence[Tally], samples: Sequence[Floats], count: int) -> list[Ints]:
    """In which of `count` parts of the time, with as many rows each, the rows of each arm are."""
    weights = [tally.sums.n / sample.shape[1] for tally, sample in zip(found, samples, strict=True)]
    edges = summary.edges_of([sample[TIME] for sample in samples], weights, count)
    return [summary.parts_of(sample[TIME], edges) for sample in samples]


def _latest(pairs: Floats, confidence: float, lowest: float, highest: float) -> Latest | None:
    if pairs.shape[1] < FEW_LATELY or not pairs[0].mean() > 0.0:
        return None
    belief = summary.sums_of(pairs).belief(0, np.zeros(2))
    interval = summary.rate_interval(belief, confidence, lowest, highest)
    return Latest(belief.mean_reward / belief.mean_cost, interval, belief.pulls)


def _terms(
    tallies: Tallies, ground: Ground, compared: Comparison, parts: Sequence[Groups], seed: int
) -> ComparisonTerms:
    shared, instances = ground.basis == PAIRS, ground.instances
    return ComparisonTerms(
        basis=ground.basis,
        apart=ground.basis == TIMES,
        apart_chance=ground.chance,
        timed=tallies.timed,
        dated=tallies.dated,
        by_arm=tallies.by_arm,
        bins=ground.bins,
        never_together=compared.unseen,
        instance=None if instances is None else instances.column,
        instances=0 if instances is None else instances.shared,
        all_instances=0 if instances is None else instances.total,
        correlation=comparison.correlation(ground.groups, compared.best) if shared else None,
        merit=comparison.merit_of(ground.groups, ground.bins, compared.pairs, parts, shared=shared, seed=seed),
    )


class Known(NamedTuple):
    """Bounds for the policies that need them: the user's, or the largest values seen where those are larger."""

    cost_bound: float
    reward_bound: float
    negative_costs: bool

    @classmethod
    def of(cls, arms: Sequence[ArmAdvice], cost_bound: float | None, reward_bound: float | None) -> Self:
        """What a log and the user say together."""
        cost = max(abs(end) for arm in arms for end in arm.costs)
        reward = max(abs(end) for arm in arms for end in arm.rewards)
        negative = any(arm.negative_costs for arm in arms)
        return cls(max(cost, cost_bound or 0.0), max(reward, reward_bound or 0.0), negative)


def contenders(arms: Sequence[ArmAdvice], known: Known) -> dict[str, Policy]:
    """The policies to compare, the default first; RoundRobin shows what learning is worth."""
    default = policies.default()
    found: dict[str, Policy] = {type(default).__name__: default}
    if known.reward_bound > 0.0 and not known.negative_costs:
        found[f"Frugal, rewards ≤ {number(known.reward_bound)}"] = policies.Frugal(reward_bound=known.reward_bound)
    found |= {"KLRate": policies.KLRate(), "Fieller": policies.Fieller()}
    beliefs = [arm.belief for arm in arms]
    most = [math.sqrt(belief.var_cost) * math.sqrt(belief.var_reward) for belief in beliefs]
    found["UCBB1"] = policies.UCBB1(
        var_cost=[belief.var_cost for belief in beliefs],
        var_reward=[belief.var_reward for belief in beliefs],
        cov=[max(-top, min(top, belief.cov)) for belief, top in zip(beliefs, most, strict=True)],
        min_cost=min(belief.mean_cost for belief in beliefs) / 2.0,
        cost_bound=known.cost_bound,
        reward_bound=known.reward_bound,
    )
    return found | {"RoundRobin": policies.RoundRobin()}


def chosen(arms: Sequence[ArmAdvice], known: Known, played: Rehearsal | None, guarantee: bool) -> Recommendation:
    """The policy for a campaign with these arms: what `policies.recommend` says, or one that clearly earned more."""
    if guarantee:
        return policies.recommend(
            [arm.belief for arm in arms],
            guarantee=True,
            costs_can_be_negative=known.negative_costs,
            cost_bound=known.cost_bound,
            reward_bound=known.reward_bound or None,
        )
    if len(arms) == 1:
        return Recommendation(policies.default(), f"{arms[0].name} is the only arm left, so any policy will do")
    default = policies.recommend([arm.belief for arm in arms], costs_can_be_negative=known.negative_costs)
    worth = 0.0 if played is None else WORTHWHILE * abs(played.candidates[0].reward)
    candidates = [] if played is None else played.candidates
    better = [one for one in candidates if one.edge > max(CLEARLY * one.edge_stderr, worth)]
    if not better:
        said = "" if played is None else "nothing clearly earned more in the rehearsal, and "
        return Recommendation(default.policy, said + default.reason)
    best = max(better, key=lambda one: one.edge)
    more = f"it earned {measured(best.edge, best.edge_stderr)} more than {type(default.policy).__name__}"
    return Recommendation(contenders(arms, known)[best.label], f"{more} in the rehearsal")


class Doubts(NamedTuple):
    """What may turn out differently from the log."""

    tails: bool  # the arms that beat it may still have costs larger than any so far
    drift: bool  # it was not below those arms all along the file

    @property
    def condition(self) -> str:
        """The condition under which the arm really is behind."""
        tails = ["no cost larger than those seen ever comes"] * self.tails
        return " and ".join(tails + ["the future is like the log as a whole"] * self.drift)


def doubts(arms: Sequence[ArmAdvice]) -> dict[str, Doubts]:
    """The doubts about each arm that is behind, by its name."""
    found = {}
    for arm in arms:
        if arm.verdict == DOUBTFUL:
            above = [other for other in arms if other.name in arm.below]
            tails = all(other.tail.unsettled for other in above)
            drift = not any(arm.course.below(other.course) for other in above)
            found[arm.name] = Doubts(tails or not drift, drift or not tails)  # where neither alone explains it, both do
    return found


def cautions(
    arms: Sequence[ArmAdvice],
    terms: ComparisonTerms,
    tallies: Tallies,
    budget: float,
    cost_bound: float | None,
    reward_bound: float | None,
) -> list[Caution]:
    """All cautions, the most telling first; the last one, about selection, is always there."""
    found = [*_times(arms, terms), *_budget(arms, budget), *_rows(arms, tallies), *_costs(arms), *_tails(arms)]
    found += [*_drift(arms, terms.timed), *_bounds(arms, "cost", cost_bound), *_bounds(arms, "reward", reward_bound)]
    return [*found, Caution("selection", SELECTION)]


def _times(arms: Sequence[ArmAdvice], terms: ComparisonTerms) -> Iterator[Caution]:
    """Arms that were used at different times, and what cannot be compared for it."""
    named = f" {terms.dated}, which was found by itself" * (terms.dated is not None)
    when = f"by the column of times{named}" if terms.timed else "if the file is in order of time"
    if terms.apart:
        found = f"Arms were used at different times ({when}; chance of a false alarm {summary.FALSE_ALARM:.0%})"
        found += ": what changed over time may look like an arm's doing"
        so = "they are compared at equal times, in short stretches that have rows of both"
        few = [arm.name for arm in arms if arm.versus is not None and arm.versus.rows < arm.rows / 2]
        if few:
            so += f"; most rows of {listed(few)} are from times at which the best arm was hardly used, and do not count"
        if terms.never_together:
            pairs = counted(terms.never_together, "pair")
            so += f"; {pairs} of arms were never used at the same time, and nothing can be said about these"
        yield Caution("times", f"{found}; {so}")
    elif terms.by_arm and len(arms) > 1 and terms.instance is None:
        so = "name a column of times, if there is one, so that arms can be compared at equal times"
        yield Caution("times", f"Rows are sorted by arm, so their order says nothing about when arms were used: {so}")


def _budget(arms: Sequence[ArmAdvice], budget: float) -> Iterator[Caution]:
    """A budget for a few pulls of the dearest arm, or below the cost of one pull of an arm in play."""
    said = []
    dearest = max((arm for arm in arms if arm.verdict != FREE), key=lambda arm: arm.belief.mean_cost)
    if budget < FEW_PULLS * dearest.belief.mean_cost:
        said.append(f"the budget pays for about {number(budget / dearest.belief.mean_cost, 2)} pulls of {dearest.name}")
    wildest = max((arm for arm in arms if arm.verdict not in (OUT, FREE)), key=lambda arm: arm.costs.high)
    if budget < wildest.costs.high:
        said.append(f"one pull of {wildest.name} has cost {number(wildest.costs.high)}, more than the budget")
    if said:
        last = "its last pull is much of what it spends, earns and loses, and more may be lost than earned"
        why = f"since a run ends with the pull that passes the budget, {last}"
        yield Caution("small budget", f"{capital(' and '.join(said))}: {why}")


def _rows(arms: Sequence[ArmAdvice], tallies: Tallies) -> Iterator[Caution]:
    if tallies.left_out:
        share = f"{counted(tallies.left_out, 'row')} of {tallies.rows:,}"
        why = "if they are empty because of what the pull cost or gave, every figure here is off"
        yield Caution("empty cells", f"{share} had an empty cell and were left out: {why}")
    if tallies.money:
        yield Caution("money", f"Cells were read as amounts of money: {listed(list(tallies.money))}")
    if len(arms) == 1:
        yield Caution("one arm", f"The log has one arm, {arms[0].name}: there is nothing to choose between")
    if few := [arm for arm in arms if arm.rows < FEW and arm.verdict != UNRANKED]:
        said = listed([f"{arm.name}: {arm.rows}" for arm in few])
        weak = "too few to see a tail, and their intervals lean on it being light"
        truth = "a rehearsal takes these rows for the whole truth"
        count = f"{len(few)} of {counted(len(arms), 'arm')}"
        yield Caution("few rows", f"{count} with fewer than {FEW} rows ({said}): {weak}; {truth}")
    if all(arm.rewards == (0.0, 0.0) for arm in arms):
        yield Caution("no reward", "No row of the log has a reward other than 0: all arms look alike")


def _costs(arms: Sequence[ArmAdvice]) -> Iterator[Caution]:
    if free := [arm.name for arm in arms if arm.verdict == FREE]:
        so = "a budget says nothing about such an arm, and it is left out of the rehearsal and of the campaign"
        yield Caution("free", f"The mean cost of {listed(free)} is not above 0: {so}")
    if zero := [arm for arm in arms if arm.zero_costs and arm.verdict != FREE]:
        rows = counted(sum(arm.zero_costs for arm in zero), "row")
        asked = "is that the price, or is the price missing?"
        yield Caution("costs of 0", f"{rows} of {listed([arm.name for arm in zero])} cost 0: {asked}")
    if negative := [arm for arm in arms if arm.negative_costs]:
        rows = counted(sum(arm.negative_costs for arm in negative), "row")
        so = "allowed (refunds), but policies whose proof needs costs ≥ 0 have none then"
        yield Caution("negative costs", f"{rows} of {listed([arm.name for arm in negative])} cost less than 0: {so}")


def _tails(arms: Sequence[ArmAdvice]) -> Iterator[Caution]:
    heavy = [arm for arm in arms if arm.tail.infinite_variance]
    limited = "Costs are spread widely up to a limit, and their variance would be infinite without the limit"
    for bounded, looks in ((False, "The variance of costs looks infinite"), (True, limited)):
        if not (some := [arm for arm in heavy if (arm.tail.limit is not None) == bounded]):
            continue
        said = listed([f"{arm.name}: {number(arm.tail.alpha, 2)}" for arm in some])
        found = f"{looks}, tail index below 2 ({said}): a few pulls carry most of the cost"
        if any(arm.tail.unsettled for arm in some):
            found += ", and intervals are shorter than they should be"
            if any(doubt.tails for doubt in doubts(arms).values()):
                found += "; an arm that only such arms beat is called behind, not ruled out"
        yield Caution("infinite variance", found)
    if cut := [arm for arm in arms if arm.tail.limit is not None]:
        shares = [f"{arm.name}: {number(arm.tail.limit)}, {arm.tail.at_limit / arm.rows:.1%} of rows" for arm in cut]
        found = f"Costs look cut off, as by a timeout ({listed(shares)})"
        yield Caution("cut off", f"{found}: the figures here hold as long as that limit does")


def _drift(arms: Sequence[ArmAdvice], timed: bool) -> Iterator[Caution]:
    tested = [
        (change, f"{what} of {arm.name}")
        for arm in arms
        for what, change in (("cost", arm.cost_change), ("reward", arm.reward_change))
        if change is not None
    ]
    raised = summary.alarms([change for change, _ in tested])
    if found := sorted(test for test, alarm in zip(tested, raised, strict=True) if alarm):
        said = "; ".join(
            f"{what} from {number(change.before)} to {number(change.after)} about {change.at:.0%} into its rows"
            for change, what in found[:3]
        )
        more = f"; {len(found) - 3} more" * (len(found) > 3)
        unordered = "if the file is in order of time this is drift, else its order hides something that matters"
        why = "rates drift" if timed else unordered
        if any(doubt.drift for doubt in doubts(arms).values()):
            why += "; an arm that was not below another in every eighth of the log, and clearly in the last, is called"
            why += " behind, not ruled out"
            why += "; where the future mixes such rows as the log does, shuffle the file and ask again" * (not timed)
        level = f"{counted(len(tested), 'test')}, chance of any false alarm {summary.DRIFT_FALSE_ALARM:.0%}"
        yield Caution("drift", f"Rows are not in random order ({said}{more}): {why} ({level})")


def _bounds(arms: Sequence[ArmAdvice], what: str, bound: float | None) -> Iterator[Caution]:
    if bound is None:
        return
    ranges = {arm.name: arm.costs if what == "cost" else arm.rewards for arm in arms}
    if beyond := [name for name, (low, high) in ranges.items() if max(abs(low), abs(high)) > bound]:
        most = max(max(abs(low), abs(high)) for low, high in ranges.values())
        done = f"the largest seen, {number(most)}, takes its place"
        yield Caution("bounds", f"{listed(beyond)} had a {what} beyond the {what} bound {number(bound)}: {done}")
