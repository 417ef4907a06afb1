"""advise(): from a log and a budget to what to run, and what to watch out for."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from outlay.advice import rehearsal as rehearsals
from outlay.advice.answer import campaign_code
from outlay.advice.cautions import Judged, Known, cautions, chosen, contenders, judge
from outlay.advice.comparison import PAIRS
from outlay.advice.contexts import KeptRows, contexts_of
from outlay.advice.findings import Advice, Caution
from outlay.advice.rehearsal import Rehearsal
from outlay.advice.requests import Serving, rehearsed, serve
from outlay.advice.summary import FREE, OUT, TIME, UNRANKED, Tallies, tally
from outlay.checks import real, whole
from outlay.errors import BadFile, BadParameter, require
from outlay.logs import LogColumns, MoreColumns, Source, name_of, stretches
from outlay.policies import Ration
from outlay.progress import progress
from outlay.results import Floats
from outlay.text import counted, number, shortened


def advise(
    log: Source,
    budget: float,
    *,
    arm: str = "arm",
    cost: str = "cost",
    reward: str = "reward",
    requests: int | None = None,
    time: str | None = None,
    instance: str | None = None,
    context: Sequence[str] | None = None,
    chance: str | None = None,
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
        requests: how many requests the budget has to serve, one pull each; None for as many as it buys. With it the
            answer is a mix of arms (docs/requests.md), and arms that cost nothing on average are left out.
        time: the column that says when a row was logged, in numbers or ISO dates; one called timestamp, created_at or
            the like, with a date in every row, is found by itself; else rows count as in order of time, unless they are
            sorted by arm.
        instance: the column that says what the arm was tried on (a task, a question), where all arms were tried on the
            same; one whose every value occurs once with nearly every arm is found by itself.
        context: columns with what is known of a request before its arm is chosen, in numbers or names: the advice says
            whether a rule that looks at them would pay (docs/use-your-log.md).
        chance: the column with the chance that the row's arm had of being chosen, where chance decided; else chances
            are estimated from the contexts.
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
    columns = _columns(context, chance)
    confidence = real("advise", "confidence", confidence, above=0.5, below=1)
    for name, flag in (("guarantee", guarantee), ("rehearse", rehearse)):
        if not isinstance(flag, bool):
            raise BadParameter("advise", name, "True or False", flag)
    seed = whole("advise", "seed", seed, at_least=0)
    requests, runs, workers = (
        None if count is None else whole("advise", name, count, at_least=1)
        for name, count in (("requests", requests), ("runs", runs), ("workers", workers))
    )
    if guarantee and requests is not None:
        raise BadParameter("advise", "guarantee", "False with requests: no policy for them has a proof", guarantee)
    require("advise", "pyarrow", "scipy", *(["numba"] if rehearse else []))
    where = name_of(log)
    with progress(1.0, None, f"reading {shortened(Path(where).name)}") as report:
        more = MoreColumns(time, instance, others=True, chance=chance, contexts=columns)
        rows = stretches(log, LogColumns(arm, cost, reward), "advise", more)
        kept = KeptRows(columns, where, instance, seed)
        tallies = tally(kept.noting(rows) if columns else rows, where, seed, report)
    if not any(found.belief(0).mean_cost > 0.0 for found in tallies.arms.values()):
        raise BadFile(f"no arm of {where} has a mean cost above 0: a budget would never be spent")
    with np.errstate(over="ignore", invalid="ignore"):  # squares of rates near 1e300: nothing can be told of them
        judged = judge(tallies, confidence, seed)
    arms = judged.arms
    if instance is not None and judged.ground.instances is None and len(judged.priced) > 1:
        raise BadFile(f"too few instances in the column {instance!r} of {where} have rows of every arm: leave it out")
    known = Known.of(arms, *bounds)
    rows_of = _priced(judged, tallies)
    played = campaign = serving = None
    if requests is None:
        rest = [found for found in arms if found.verdict not in (OUT, FREE)]
        play = partial(rehearsals.rehearse, budget=budget, seed=seed, workers=workers)
        if rehearse and len(rows_of) > 1:
            players = contenders([found for found in arms if found.name in rows_of], known)
            played = play(rehearsals.problem_of(rows_of), players, runs=runs)
        policy, reason = chosen(rest, known, played, guarantee)
        names = [found.name for found in rest]
        if played is not None and all(name in rows_of for name in names):
            problem = rehearsals.problem_of({name: rows_of[name] for name in names})
            campaign = play(problem, {"the campaign": policy}, runs=played.runs)
    else:
        shared = judged.terms.basis == PAIRS
        with np.errstate(over="ignore", invalid="ignore"):
            serving = serve(judged.priced, judged.ground.groups, judged.ground.bins, shared, budget, requests, seed)
        if rehearse:
            serving = rehearsed(serving, rows_of, budget, runs=runs, seed=seed, workers=workers)
        policy = Ration()
        names = serving.remaining + [found.name for found in arms if found.verdict == UNRANKED]
        reason = "it shares the budget out among the requests and learns on the way which arms to mix"
    each = None if requests is None else budget / requests
    named = judged.terms.instance
    weighed = contexts_of(kept, judged.priced, named, each, confidence, seed) if columns else None
    minded = _notes(tallies, rows_of, budget, played, serving)
    return Advice(
        log=where,
        cost_name=cost,
        reward_name=reward,
        rows=tallies.rows,
        left_out=tallies.left_out,
        budget=budget,
        confidence=confidence,
        arms=arms,
        terms=judged.terms,
        cautions=minded + cautions(arms, judged.terms, tallies, budget, *bounds),
        rehearsal=played,
        campaign=campaign,
        policy=policy,
        reason=reason,
        code=campaign_code(names, budget, policy, requests),
        serving=serving,
        contexts=weighed,
    )


def _columns(context: Sequence[str] | None, chance: str | None) -> tuple[str, ...]:
    """The columns of contexts, if there are any to look at."""
    if context is None:
        if chance is not None:
            raise BadParameter("advise", "chance", "None without context", chance)
        return ()
    named = isinstance(context, (list, tuple)) and all(isinstance(name, str) and name.strip() for name in context)
    if not named or not context or len(set(context)) < len(context):
        raise BadParameter("advise", "context", "a list of different names of columns", context)
    return tuple(context)


def _priced(judged: Judged, tallies: Tallies) -> dict[str, Floats]:
    """The rows that are drawn from, of the arms that can be played: those that were compared.

    Where every arm has each instance once, row i of every arm is about instance i, so that all policies meet the same
    instances in run i.
    """
    instances = judged.ground.instances
    if instances is not None and instances.once:
        rows = {name: own[:, 1:].T for name, own in zip(judged.priced, instances.sums, strict=True)}
    else:
        rows = {name: tallies.arms[name].sample.rows()[:TIME] for name in judged.priced}
    return {name: kept for name, kept in rows.items() if kept[0].mean() > 0.0}


def _notes(
    tallies: Tallies, rows_of: dict[str, Floats], budget: float, played: Rehearsal | None, serving: Serving | None
) -> list[Caution]:
    """What was left out of the rehearsal."""
    notes: list[Caution] = []
    if played is None and (serving is None or not serving.rehearsal):
        return notes
    if any(rows.shape[1] < tallies.arms[name].sums.n for name, rows in rows_of.items()):
        most = max(rows.shape[1] for rows in rows_of.values())
        notes.append(Caution("sample", f"The rehearsal draws from at most {most:,} rows per arm, chosen at random"))
    if serving is not None and serving.rehearsed_requests < serving.requests:
        served = f"{serving.rehearsed_requests:,} requests instead of {serving.requests:,}, which would take too long"
        notes.append(Caution("requests", f"The rehearsal serves {served}, with as much money for each"))
    if played is not None and played.budget < budget:
        spends = f"spends {number(played.budget)} instead of {number(budget)}, which would take too long"
        more = "with more, every policy that learns comes closer to the best arm"
        notes.append(Caution("budget", f"The rehearsal {spends}; {more}"))
    if played is not None and played.runs < rehearsals.FEWEST_RUNS:
        notes.append(Caution("runs", f"{counted(played.runs, 'run')} of each policy say little about their order"))
    return notes
