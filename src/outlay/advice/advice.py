"""advise(): from a log and a budget to what to run, and what to watch out for."""

from pathlib import Path

from outlay.advice import rehearsal as rehearsals
from outlay.advice.cautions import cautions
from outlay.advice.choice import Known, chosen, contenders
from outlay.advice.evidence.instances import aligned
from outlay.advice.evidence.rates import FREE, OUT
from outlay.advice.evidence.tally import TIME, Tallies, tally
from outlay.advice.judging import Judged, judge
from outlay.advice.records import Caution
from outlay.advice.shown import Advice
from outlay.advice.telling.code import campaign_code
from outlay.checks import real, whole
from outlay.engine.progress import progress
from outlay.errors import BadFile, BadParameter
from outlay.extras import require
from outlay.logs import Columns, More, Source, name_of, stretches
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
    time: str | None = None,
    instance: str | None = None,
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
        log: the path of a CSV, JSON lines or Parquet file (the first two may be packed, as by gzip), a pandas frame or
            an Arrow table: one row per pull.
        budget: what is to be spent, in the unit of the costs.
        arm: the column that names the arm.
        cost: the column with the costs.
        reward: the column with the rewards.
        time: the column that says when a row was logged, in numbers or ISO dates; else rows count as in order of time,
            unless they are sorted by arm.
        instance: the column that says what the arm was tried on (a task, a question), where all arms were tried on the
            same; one whose every value occurs once with nearly every arm is found by itself.
        cost_bound: the largest possible |cost|, if known; otherwise the largest seen is used.
        reward_bound: the same for rewards.
        guarantee: whether to recommend a policy with a proof rather than the one that earns most.
        confidence: that the intervals of all arms hold together (Bonferroni), and that the best arm is not ruled out.
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
        rows = stretches(log, Columns(arm, cost, reward), "advise", More(time, instance, others=True))
        tallies = tally(rows, where, seed, report)
    if not any(found.belief(0).mean_cost > 0.0 for found in tallies.arms.values()):
        raise BadFile(f"no arm of {where} has a mean cost above 0: a budget would never be spent")
    judged = judge(tallies, confidence, seed)
    arms = judged.arms
    if instance is not None and judged.instances is None and len(judged.priced) > 1:
        raise BadFile(f"too few instances in the column {instance!r} of {where} have rows of every arm: leave it out")
    known = Known.of(arms, *bounds)
    rest = [found for found in arms if found.verdict not in (OUT, FREE)]
    played, notes = None, []
    priced = _priced(judged, tallies)
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
    minded = notes + cautions(arms, judged.terms, tallies, budget, *bounds)
    return Advice(
        where, cost, reward, tallies.rows, tallies.left_out, budget, confidence, arms, judged.terms, minded, played,
        campaign, policy, reason, code,
    )  # fmt: skip


def _priced(judged: Judged, tallies: Tallies) -> dict[str, Floats]:
    """The rows that are drawn from, of the arms that can be played: those with a mean cost above 0.

    Where every arm has each instance once, row i of every arm is about instance i. A draw takes one random number, and
    run i has the same ones for every policy: so all policies meet the same instances, and what is common stays common.
    """
    if judged.instances is not None and judged.instances.once:
        rows = aligned(judged.priced, judged.instances)
    else:
        rows = {name: tallies.arms[name].sample.rows()[:TIME] for name in judged.priced}
    return {name: kept for name, kept in rows.items() if kept[0].mean() > 0.0}


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
