"""What to watch out for in a log, in sentences: what looks odd, and what no log can tell."""

from collections.abc import Iterator, Sequence

from outlay.advice.doubts import doubts
from outlay.advice.evidence.drift import FALSE_ALARM, Change, alarms
from outlay.advice.evidence.rates import FREE, OUT
from outlay.advice.evidence.tally import Tallies
from outlay.advice.evidence.timing import FALSE_ALARM as TIMING_ALARM
from outlay.advice.records import ArmAdvice, Caution, Terms
from outlay.text import capital, counted, listed, number

FEW = 200  # rows of an arm, below which neither tail nor interval means much
FEW_PULLS = 30  # of the dearest arm, below which the last pull of a run weighs too much

SELECTION = (
    "A log does not say why a row used its arm. If the choice depended on the request (hard ones to the strong arm) or"
    " on earlier results, means and intervals are off, and no test on this file can show it; only rows whose arm was"
    " chosen at random are safe"
)


def cautions(
    arms: Sequence[ArmAdvice],
    terms: Terms,
    tallies: Tallies,
    budget: float,
    cost_bound: float | None,
    reward_bound: float | None,
) -> list[Caution]:
    """All cautions, the most telling first; the last one, about selection, is always there."""
    found = [*_times(arms, terms), *_budget(arms, budget), *_rows(arms, tallies), *_costs(arms), *_tails(arms)]
    found += [*_drift(arms, terms.timed)]
    found += [*_bounds(arms, "cost", cost_bound), *_bounds(arms, "reward", reward_bound)]
    return [*found, Caution("selection", SELECTION)]


def _times(arms: Sequence[ArmAdvice], terms: Terms) -> Iterator[Caution]:
    """Arms that were used at different times, and what cannot be compared for it."""
    named = f" {terms.dated}, which was found by itself" * (terms.dated is not None)
    when = f"by the column of times{named}" if terms.timed else "if the file is in order of time"
    if terms.apart:
        found = f"Arms were used at different times ({when}; chance of a false alarm {TIMING_ALARM:.0%})"
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
    if len(arms) == 1:
        yield Caution("one arm", f"The log has one arm, {arms[0].name}: there is nothing to choose between")
    if few := [arm for arm in arms if arm.rows < FEW]:
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
    for some, looks in (
        ([arm for arm in heavy if arm.tail.limit is None], "The variance of costs looks infinite"),
        ([arm for arm in heavy if arm.tail.limit is not None], limited),
    ):
        if not some:
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
    raised = alarms([change for change, _ in tested])
    if found := sorted(test for test, alarm in zip(tested, raised, strict=True) if alarm):
        said = "; ".join(_moved(change, what) for change, what in found[:3])
        more = f"; {len(found) - 3} more" * (len(found) > 3)
        why = "if the file is in order of time this is drift, else its order hides something that matters"
        if timed:
            why = "rates drift"
        if any(doubt.drift for doubt in doubts(arms).values()):
            why += "; an arm that was not below another in every eighth of the log, and clearly in the last, is called"
            why += " behind, not ruled out"
            why += "; where the future mixes such rows as the log does, shuffle the file and ask again" * (not timed)
        level = f"{counted(len(tested), 'test')}, chance of any false alarm {FALSE_ALARM:.0%}"
        yield Caution("drift", f"Rows are not in random order ({said}{more}): {why} ({level})")


def _moved(change: Change, what: str) -> str:
    return f"{what} from {number(change.before)} to {number(change.after)} about {change.at:.0%} into its rows"


def _bounds(arms: Sequence[ArmAdvice], what: str, bound: float | None) -> Iterator[Caution]:
    if bound is None:
        return
    ranges = {arm.name: arm.costs if what == "cost" else arm.rewards for arm in arms}
    if beyond := [name for name, (low, high) in ranges.items() if max(abs(low), abs(high)) > bound]:
        most = max(max(abs(low), abs(high)) for low, high in ranges.values())
        done = f"the largest seen, {number(most)}, takes its place"
        yield Caution("bounds", f"{listed(beyond)} had a {what} beyond the {what} bound {number(bound)}: {done}")
