"""advise(): from a log and a budget to what to run, and what to watch out for."""

import math
from pathlib import Path

from outlay.advice import rehearsal as rehearsals
from outlay.advice.cautions import cautions
from outlay.advice.choice import Known, chosen, contenders
from outlay.advice.evidence.drift import Course, alarms, change_of
from outlay.advice.evidence.rates import FREE, OUT, Interval, rate_interval, verdicts
from outlay.advice.evidence.tails import Tail, tail_of
from outlay.advice.evidence.tally import Tallies, Tally, tally
from outlay.advice.records import Advice, ArmAdvice, Caution
from outlay.advice.telling.code import campaign_code
from outlay.beliefs import Belief
from outlay.checks import real, whole
from outlay.engine.progress import progress
from outlay.errors import BadFile, BadParameter
from outlay.extras import require
from outlay.logs import Columns, Source, name_of, stretches
from outlay.numerals import number
from outlay.results.result import Floats
from outlay.words import counted, shortened


def advise(
    log: Source,
    budget: float,
    *,
    arm: str = "arm",
    cost: str = "cost",
    reward: str = "reward",
    cost_bound: float | None = None,
    reward_bound: float | None = None,
    guarantee: bool = False,
    confidence: float = 0.95,
    rehearse: bool = True,
    runs: int | None = None,
    seed: int = 0,
    workers: int | None = None,
) -> Advice:
    """Say which arm is best, which are out, and which policy to run with which parameters.

    The log is read once, in stretches, and may be larger than memory. At most 50 000 rows per arm are kept, drawn at
    random; the rehearsal plays on those.

    Args:
        log: the path of a CSV (also gzipped) or Parquet file, a pandas frame or an Arrow table: one row per pull.
        budget: what is to be spent, in the unit of the costs.
        arm: the column that names the arm.
        cost: the column with the costs.
        reward: the column with the rewards.
        cost_bound: the largest possible |cost|, if known; otherwise the largest seen is used.
        reward_bound: the same for rewards.
        guarantee: whether to recommend a policy with a proof rather than the one that earns most.
        confidence: that the intervals of all arms hold together (Bonferroni).
        rehearse: whether to play the policies.
        runs: per policy; None for as many as fit into a few seconds.
        seed: of the sample and the rehearsal; the same seed gives the same advice.
        workers: threads; None for all cores.

    >>> import pandas as pd
    >>> log = pd.DataFrame({"arm": ["a", "b"] * 300, "cost": [1.0, 2.0] * 300, "reward": [1, 1, 0, 1, 1, 0] * 100})
    >>> found = advise(log, budget=100, rehearse=False)
    >>> found.best.name, found.best.rate, [arm.verdict for arm in found.arms]
    ('a', 0.66..., ['best so far', 'ruled out'])
    """
    budget = real("advise", "budget", budget, above=0)
    bounds = [
        None if bound is None else real("advise", name, bound, above=0)
        for name, bound in (("cost_bound", cost_bound), ("reward_bound", reward_bound))
    ]
    confidence = real("advise", "confidence", confidence, above=0.5, below=1)
    for name, flag in (("guarantee", guarantee), ("rehearse", rehearse)):
        if not isinstance(flag, bool):
            raise BadParameter("advise", name, "True or False", flag)
    seed = whole("advise", "seed", seed, at_least=0)
    runs, workers = (
        None if count is None else whole("advise", name, count, at_least=1)
        for name, count in (("runs", runs), ("workers", workers))
    )
    require("advise", "pyarrow", "scipy", *(["numba"] if rehearse else []))
    where = name_of(log)
    with progress(1.0, None, f"reading {shortened(Path(where).name)}") as report:
        tallies = tally(stretches(log, Columns(arm, cost, reward), "advise"), where, seed, report)
    arms = judged(tallies, confidence)
    if all(found.verdict == FREE for found in arms):
        raise BadFile(f"no arm of {where} has a mean cost above 0: a budget would never be spent")
    known = Known.of(arms, *bounds)
    rest = [found for found in arms if found.verdict not in (OUT, FREE)]
    played, notes = None, []
    priced = _priced(arms, tallies)
    if rehearse and len(priced) > 1:
        players = contenders([found for found in arms if found.name in priced], known)
        problem = rehearsals.problem_of(priced)
        played = rehearsals.rehearse(problem, players, budget, runs=runs, seed=seed, workers=workers)
        notes = _notes(tallies, priced, played, budget)
    policy, reason = chosen(rest, known, played, guarantee)
    campaign = None
    if played is not None and all(found.name in priced for found in rest):
        problem = rehearsals.problem_of({found.name: priced[found.name] for found in rest})
        player = {"the campaign": policy}
        campaign = rehearsals.rehearse(problem, player, budget, runs=played.runs, seed=seed, workers=workers)
    code = campaign_code([found.name for found in rest], budget, policy)
    minded = notes + cautions(arms, tallies, budget, *bounds)
    return Advice(
        where, tallies.rows, tallies.left_out, budget, confidence, arms, minded, played, campaign, policy, reason, code
    )


def judged(tallies: Tallies, confidence: float) -> list[ArmAdvice]:
    """What the log says about each arm."""
    found = list(tallies.arms.values())
    beliefs = [tally.belief(i) for i, tally in enumerate(found)]
    lowest, highest = min(float(tally.low[1]) for tally in found), max(float(tally.high[1]) for tally in found)
    each = 1.0 - (1.0 - confidence) / len(found)
    intervals = [rate_interval(belief, each, lowest, highest) for belief in beliefs]
    tails = [_tail(tally) for tally in found]
    changes = [[change_of(sums, tally.blocks.size) for sums in tally.blocks.sums] for tally in found]
    raised = alarms([change for both in changes for change in both])
    courses = [
        Course(cost or reward, tally.blocks.parts(tallies.rows))
        for tally, cost, reward in zip(found, raised[::2], raised[1::2], strict=True)
    ]
    says = verdicts(beliefs, intervals, [tail.unsettled for tail in tails], courses)
    rows = zip(tallies.arms.items(), beliefs, intervals, tails, changes, courses, says, strict=True)
    return [
        ArmAdvice(
            name=name,
            belief=belief,
            rate=belief.mean_reward / belief.mean_cost if belief.mean_cost > 0.0 else None,
            interval=interval,
            correlation=_correlation(belief),
            tail=tail,
            cost_change=change[0],
            reward_change=change[1],
            course=course,
            verdict=verdict,
            costs=Interval(float(tally.low[0]), float(tally.high[0])),
            rewards=Interval(float(tally.low[1]), float(tally.high[1])),
            zero_costs=tally.zero_costs,
            negative_costs=tally.negative_costs,
        )
        for (name, tally), belief, interval, tail, change, course, verdict in rows
    ]


def _priced(arms: list[ArmAdvice], tallies: Tallies) -> dict[str, Floats]:
    """The rows kept of the arms that can be played: those with a mean cost above 0."""
    rows = {arm.name: tallies.arms[arm.name].sample.rows() for arm in arms if arm.verdict != FREE}
    return {name: kept for name, kept in rows.items() if kept[0].mean() > 0.0}


def _tail(tally: Tally) -> Tail:
    return tail_of(tally.largest.rows()[0], tally.sample.rows()[0], tally.sums.n)


def _correlation(belief: Belief) -> float | None:
    spread = math.sqrt(belief.var_cost) * math.sqrt(belief.var_reward)
    return min(1.0, max(-1.0, belief.cov / spread)) if spread > 0.0 else None


def _notes(tallies: Tallies, priced: dict[str, Floats], played: rehearsals.Rehearsal, budget: float) -> list[Caution]:
    """What was left out of the rehearsal."""
    notes = []
    if any(rows.shape[1] < tallies.arms[name].sums.n for name, rows in priced.items()):
        most = max(rows.shape[1] for rows in priced.values())
        notes.append(Caution("sample", f"The rehearsal draws from at most {most:,} rows per arm, chosen at random"))
    if played.budget < budget:
        small = f"The rehearsal spends {number(played.budget)} instead of {number(budget)}, which would take too long"
        notes.append(Caution("budget", f"{small}; with more, every policy that learns comes closer to the best arm"))
    if played.runs < rehearsals.FEWEST_RUNS:
        notes.append(Caution("runs", f"{counted(played.runs, 'run')} of each policy say little about their order"))
    return notes
