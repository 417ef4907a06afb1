"""Advice in words: sentences, tables, Python code, JSON."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from outlay.advice.cautions import FEW, doubts
from outlay.advice.comparison import MANY, PAIRS, TIMES
from outlay.advice.contexts import FITTED, Contexts
from outlay.advice.findings import Advice, ArmAdvice, ComparisonTerms
from outlay.advice.rehearsal import FEWEST_RUNS, Rehearsal
from outlay.advice.requests import MAYBE, NEVER, SURE, Mix, Serving
from outlay.advice.summary import FREE, OPEN, OUT, RANKED, UNRANKED
from outlay.parameters import is_record, signature_of
from outlay.policies import RoundRobin
from outlay.policies.protocol import Policy, as_data, is_policy
from outlay.tables import Table
from outlay.text import ANY, capital, counted, listed, measured, number, percent, span

if TYPE_CHECKING:
    from rich.console import RenderableType

FAR = 0.8  # of the largest mean reward: below it the cheapest arm is far from the best one
MOST_ROWS = 24
_NARROW = 60  # columns, below which cautions have one column
_FEW = 4
_SMALL = 0.1
_LOOP = (
    "while (pull := campaign.ask()) is not None:",
    "    # use pull.arm, and say what it cost and earned",
    "    campaign.tell(pull, cost=..., reward=...)",
)
_WIDEST = 79  # columns of code


def answer(advice: Advice) -> list[str]:
    """The best arm and what it would bring, which arms are out, what to run and what that would bring; or the mix.

    Before all that, of which arms too little is known.
    """
    if advice.serving is not None:
        return _unranked(advice) + _with_requests(advice, advice.serving) + _with_contexts(advice, advice.contexts)
    by_rate = [*_best(advice), *_brings(advice), *_others(advice), *_merit(advice.terms), *_run(advice)]
    return _unranked(advice) + by_rate + _question(advice) + _with_contexts(advice, advice.contexts)


def _unranked(advice: Advice) -> list[str]:
    """The arms with too few rows to be ranked, and what more rows would cost."""
    priced = [arm for arm in advice.arms if arm.verdict != FREE]
    few = [arm for arm in priced if arm.rows < RANKED]
    if not few:
        return []
    cost = sum((RANKED - arm.rows) * arm.belief.mean_cost for arm in few)
    pulls = counted(sum(RANKED - arm.rows for arm in few), "more pull")
    money = f"{pulls}, for about {number(cost)} ({percent(cost / advice.budget)} of the budget), would bring"
    if len(few) == len(priced):
        return [f"No arm has {RANKED} rows, so what follows is little more than a guess: {money} all to that."]
    named = listed([f"{arm.name} ({counted(arm.rows, 'row')})" for arm in few], 8)
    each = "it" if len(few) == 1 else "each"
    return [f"Too few rows to be ranked: {named}. {money} {each} to {RANKED} rows; the campaign tries {each}."]


def _best(advice: Advice) -> list[str]:
    """The best arm on equal terms, what it cannot be told apart from, and what else the log seems to say."""
    best, terms = advice.best, advice.terms
    on = {PAIRS: f"on the {terms.instances:,} instances that all arms were tried on, ", TIMES: "at equal times, "}
    start = f"{capital(on.get(terms.basis, ''))}{best.name} has the best rate so far"
    when = " over the whole log" * (terms.basis == TIMES)
    rate = f"{number((best.rate or 0.0) * per(advice))} of {unit(advice)}{when}"
    alike = [arm.name for arm in advice.arms if arm.verdict == OPEN]
    apart = f"; it cannot be told apart from {listed(alike)}" if alike else ""
    said = [f"{start}: {rate}{apart}."]
    if terms.basis == TIMES:
        said.append(_readings(advice))
    if terms.correlation is not None and len(advice.arms) > 1:
        how = "so differences are surer than each rate" if terms.correlation > 0.0 else "so pairs help little"
        along = f"(median correlation {terms.correlation:+.2f})".replace("-", "−")
        said.append(f"Over the same instances its results go with those of the other arms {along}, {how}.")
    return said


def _readings(advice: Advice) -> str:
    """Which answer is which, where arms were used at different times."""
    best, cost = advice.best.name, per(advice)
    rates = {arm.name: arm.rate * cost for arm in _ranked(advice) if arm.rate is not None}
    lately = {arm.name: arm.latest.rate * cost for arm in _ranked(advice) if arm.latest is not None}
    whole = max(rates, key=rates.__getitem__)
    said = f"Over the whole log {'it also' if whole == best else whole} has the highest rate ({number(rates[whole])})"
    if lately:
        late = max(lately, key=lately.__getitem__)
        said += f", in its latest eighth {'it also' if late == best else late} ({number(lately[late])})"
    return f"{said}: arms were used at different times, so neither is a fair comparison."


def _brings(advice: Advice) -> list[str]:
    """Its mean reward and how certain that is, what its latest rate would bring, and how single campaigns vary."""
    best, budget, played, said = advice.best, advice.budget, advice.rehearsal, []
    future = "If the future is like the log" + " as a whole, which changed on the way" * best.course.drifts
    mean = f"{future}, {number(budget)} spent on it alone brings about {number((best.rate or 0.0) * budget)} on average"
    low, high = (end * budget for end in best.interval)
    if high - low < math.inf:
        rows = f"as far as {counted(best.rows, 'row')} can tell"
        less = ", or less if costs larger than those seen come" * best.tail.unsettled
        said.append(f"{mean} (between {number(low)} and {number(high)} {rows}{less}).")
    else:
        said.append(f"{mean}; the log leaves open how far off that is.")
    said += _lately(advice, low, high)
    if played is not None and played.best == best.name and played.runs >= FEWEST_RUNS:
        spent = f" with {number(played.budget)}" * (played.budget < budget)
        ends = number(played.best_low), number(played.best_high)
        if ends[0] != ends[1]:
            spread = f"rehearsed on it alone{spent}, 8 runs in 10 earned between {ends[0]} and {ends[1]}"
            said.append(f"Single campaigns vary around the mean: {spread}.")
    return said


def _lately(advice: Advice, low: float, high: float) -> list[str]:
    """What the latest rate would bring, where the interval does not cover it, or that this is not known."""
    best, lately = advice.best, advice.best.latest
    if lately is None and advice.terms.apart:
        few = "Too few of its rows are in the latest eighth of the log"
        return [f"{few} to say what it would bring at the latest rates."]
    if lately is None or low <= lately.rate * advice.budget <= high:
        return []
    ends = [end * advice.budget for end in lately.interval]
    by_chance = not best.course.drifts or lately.interval.low <= (best.rate or 0.0) <= lately.interval.high
    why = "which chance alone may explain" if by_chance else "which chance does not explain: reckon with this one"
    open_end = "" if math.isinf(ends[1] - ends[0]) else f", between {number(ends[0])} and {number(ends[1])}"
    part = f"At its rate in the latest eighth of the log it would bring {number(lately.rate * advice.budget)}{open_end}"
    return [f"{part}: the interval above does not cover that, {why}."]


def _others(advice: Advice) -> list[str]:
    """The arms that are ruled out or behind, with what confidence."""
    out, terms = [arm.name for arm in advice.arms if arm.verdict == OUT], advice.terms
    how = {PAIRS: f"compared on the same {terms.instances:,} instances", TIMES: "compared at equal times"}
    terms_met = how.get(terms.basis, "compared over the whole log")
    exact = "Bonferroni" if len(advice.arms) > MANY else "corrected for all comparisons with it"
    sure = f"with {advice.confidence:.0%} confidence that the best arm is not among them ({terms_met}; {exact})"
    said = []
    if out:
        said.append(f"Ruled out {sure}: {listed(out, 8)}.")
    elif len(advice.arms) > 1:
        said.append(f"No arm can be ruled out with {advice.confidence:.0%} confidence ({terms_met}; {exact}).")
    behind = doubts(advice.arms)
    for doubt in sorted(set(behind.values())):
        names = listed([name for name, own in behind.items() if own == doubt], 8)
        said.append(f"Behind, if {doubt.condition}, and kept in the campaign in case it is not so: {names}.")
    return said


def _merit(terms: ComparisonTerms) -> list[str]:
    """How good the advice was on parts of the log that it had not seen."""
    merit = terms.merit
    if merit.at_random is None:
        return []
    what = "instances" if terms.basis == PAIRS else "rows"
    close = f"within 5% of the best arm on the other in {merit.at_random:.0%} of {merit.splits} splits"
    said = f"Held out: with half of the {what}, the arm advised was {close}"
    said += f" (on average {merit.shortfall:.1%} below the best)" * bool(merit.shortfall and merit.shortfall >= 0.0005)
    if merit.cuts:
        times = counted(merit.cuts, "time")
        said += f"; with what came before, it was so afterwards at {merit.later} of {times} along the log"
    return [f"{said}."]


def _run(advice: Advice) -> list[str]:
    """What to do with the arms that are left."""
    left = advice.remaining
    if len(left) == 1:
        why = "no other arm is left" if len(advice.arms) > 1 else "the log has no other arm"
        return [f"Spend it all on {left[0]}: {why}."]
    arms = counted(len(left), "arm")
    where = arms if len(left) == len(advice.arms) else f"the {arms} left"
    said = [f"Run {call(advice.policy, brief=True)} on {where}: {advice.reason}."]
    if advice.campaign is not None:
        played = advice.campaign.candidates[0]
        few = any(arm.rows < FEW for arm in advice.arms if arm.name in left)
        truth = ", as if its few rows were the whole truth" * few
        start = f"Rehearsed on the log with {number(advice.campaign.budget)}{truth}, that campaign"
        share = f", {played.share:.1%} of what {advice.campaign.best} alone would" * math.isfinite(played.share)
        said.append(f"{start} earned {measured(played.reward, played.stderr)}{share}.")
    return said


def _question(advice: Advice) -> list[str]:
    """The question to ask where money alone speaks for the cheapest arm, though others earn far more per pull."""
    most = max(_ranked(advice), key=lambda arm: arm.belief.mean_reward)
    cheapest = min(_ranked(advice), key=lambda arm: arm.belief.mean_cost)
    best = advice.best
    if best != cheapest or not best.belief.mean_reward < FAR * most.belief.mean_reward:
        return []
    times = number(most.belief.mean_reward / best.belief.mean_reward, 2) if best.belief.mean_reward > 0.0 else "far"
    earns = f"{best.name} is also the cheapest arm, and {most.name} earns {times} times as much per pull"
    return [f"{earns}. Do you have a number of requests to serve? Say so (--requests N), and the answer may be a mix."]


def _with_requests(advice: Advice, serving: Serving) -> list[str]:
    """What to do with so many requests, what that brings, and what more or less money would."""
    mix, unit = serving.mix, advice.cost_name
    each = f"{number(mix.budget)} of {unit} for {counted(serving.requests, 'request')}"
    start = "At equal times: with" if serving.at_equal_times else "With"
    said = [f"{start} {each}, {number(mix.budget / serving.requests)} for each, {_mix(mix, serving)}."]
    low, high = number(mix.reward.low), number(mix.reward.high)
    brings = f"That brings about {number(mix.reward.value)} of {advice.reward_name} on average"
    said.append(f"{brings} (between {low} and {high}, as far as the rows can tell).")
    if advice.terms.basis == TIMES and not serving.at_equal_times:
        apart = "Arms were used at different times, and not all of them at any one time"
        said.append(f"{apart}: time may explain the hull.")
    more, extra = serving.more_brings, f"Another {number(serving.more)} of {unit}"
    said.append(f"{extra} would bring {number(more.value)} more (between {number(more.low)} and {number(more.high)}).")
    less, _, twice = (f"about {number(one.reward.value)} ({_shares(one, serving)})" for one in serving.mixes)
    said.append(f"With half the budget, {less}; with twice the budget, {twice}.")
    groups = {how: [arm.name for arm in serving.arms if arm.on_hull == how] for how in (SURE, MAYBE, NEVER)}
    found = [f"{how}, {listed(groups[how])}" for how in (SURE, MAYBE) if groups[how]]
    found += [f"never, {counted(len(groups[NEVER]), 'arm')}"] if groups[NEVER] else []
    said.append(f"Part of the best mix for some budget: {'; '.join(found)} (bootstrap, 95%).")
    if serving.rehearsal:
        first, *others = serving.rehearsal
        rest = [f"{one.label} {number(one.reward)}" for one in others]
        share = f", {first.share:.1%} of what the best mix brings" * math.isfinite(first.share)
        scale = f" with {serving.rehearsed_requests:,} requests" * (serving.rehearsed_requests < serving.requests)
        earned = f"{first.label} earned {measured(first.reward, first.stderr)}{share}"
        said.append(f"Rehearsed from scratch{scale}, {earned}{f'; {listed(rest)}' if rest else ''}.")
    left, few = counted(len(advice.remaining), "arm"), len(advice.remaining) > len(serving.remaining)
    which = "those that are or may be on the hull" + " and those with too few rows" * few
    return [*said, f"Run Ration() on {left}, {which}: {advice.reason}."]


def _with_contexts(advice: Advice, found: Contexts | None) -> list[str]:
    """Whether contexts would pay, at the same cost; and on what that rests."""
    if found is None:
        return []
    named = f"contexts ({listed(found.columns, 8)})"
    if found.gain is None:
        rows = f"{f'only {found.apart}' if found.apart else 'none'} of {counted(found.valued, 'request')}"
        return [f"No gain from {named} is visible: the rule with them names another arm for {rows}."]
    share, sure, gain = found.share, f"{found.confidence:.0%}", found.gain
    if share is not None:
        much = f"{_change(share.value)} of {advice.reward_name} at the same cost"
        much += f" ({sure}: {_change(share.low)} to {_change(share.high)})"
    else:
        per_what = "request" if found.each is not None else f"unit of {advice.cost_name}"
        much = f"{number(gain.value)} of {advice.reward_name} per {per_what} at the same cost"
        much += f" ({sure}: {number(gain.low)} to {number(gain.high)})"
    if gain.low > 0.0:
        said = f"{capital(named)} would pay: {much}. A campaign is told of them by its `context`."
    elif gain.high < 0.0:
        said = f"{capital(named)} would not pay: a rule learnt from so few rows loses by them, {much}."
    else:
        said = f"No gain from {named} is visible: {much}."
    if found.basis == FITTED:
        rest = "The chances of the arms were estimated from these columns"
        said += f" {rest}: if anything else about a request had a say in its arm, this is off (--chance COLUMN)."
    return [said]


def _change(share: float) -> str:
    """A gain in percent with its sign, to one decimal."""
    return f"{round(100.0 * share, 1) + 0.0:+.1f}%".replace("-", "−")


def contexts_table(advice: Advice, found: Contexts) -> Table:
    """The rule without contexts, the one with them, and the gain."""
    rows = []
    for label, rule in (("without", found.without), ("with", found.using)):
        rest = max(0.0, 1.0 - sum(part for _, part in rule.shares))
        shares = [*rule.shares[:_FEW], *([("not served", rest)] if rest >= 0.005 else [])]
        arms = ", ".join(f"{_percent(part)} {name}" for name, part in shares)
        more = len(rule.shares) - _FEW
        value = number(rule.value.value), span(rule.value.low, rule.value.high)
        rows.append((label, *value, number(rule.cost), arms + f" and {more} more" * (more > 0)))
    if found.gain is not None:
        share = "" if found.share is None else f"{_change(found.share.value)} of what is earned without"
        rows.append(("gain", number(found.gain.value), span(found.gain.low, found.gain.high), "", share))
    per_what = "request" if found.each is not None else f"unit of {advice.cost_name}"
    read = counted(found.requests, "request")
    return Table(
        ("contexts", "earns", "interval", "costs", "arms"),
        rows,
        f"Would {listed(found.columns, 8)} pay? The best rules without and with them, on requests new to them",
        drop_first=("costs", "arms", "interval"),
        texts=("contexts", "arms"),
        notes={
            "earns": f"earns: {advice.reward_name} per {per_what}, by the doubly robust estimate",
            "interval": f"interval: {found.confidence:.0%}",
            "costs": f"costs: {advice.cost_name} per request",
            "rules": f"rules: learnt on the first eighths of {read} in random order, valued on the next; {found.basis}",
        },
    )


def _parts(mix: Mix, serving: Serving) -> list[tuple[str | None, float]]:
    """The arms of a mix, the dearer first, with their shares of the requests; None for requests that are not served."""
    ends = ((mix.high, mix.share), (mix.low, 1.0 - mix.share))
    return [
        (None if arm is None else serving.names[arm], share)
        for arm, share in ends
        if share > 0.0 and not (arm is None and mix.high is None)
    ]


def _shares(mix: Mix, serving: Serving) -> str:
    parts = [f"{_percent(share)} {name or 'not served'}" for name, share in _parts(mix, serving)]
    return ", ".join(parts) or "no arm pays"


def _mix(mix: Mix, serving: Serving) -> str:
    parts = _parts(mix, serving)
    if not parts:
        return "no arm is worth its cost"
    name, share = parts[0]
    if len(parts) == 1:
        return f"give every request to {name}" + "; money is left over" * (mix.high is None)
    if (other := parts[1][0]) is None:
        return f"serve {_percent(share)} of the requests, with {name}: the money does not reach for the others"
    return f"give {_percent(share)} of the requests to {name} and the others to {other}"


def _percent(share: float) -> str:
    return f"{share:.0%}" if 0.01 <= share <= 0.99 or share == 1.0 else f"{share:.1%}"


def _ranked(advice: Advice) -> list[ArmAdvice]:
    return [arm for arm in advice.arms if arm.verdict not in (FREE, UNRANKED)]


def per(advice: Advice) -> float:
    """For how much cost all rates are given: 1, 1000 or 1,000,000, so that the largest is not below 0.1."""
    largest = max((abs(arm.rate) for arm in _ranked(advice) if arm.rate), default=1.0)
    return next((cost for cost in (1.0, 1e3) if not math.isfinite(largest) or largest * cost >= _SMALL), 1e6)


def unit(advice: Advice) -> str:
    """The unit of rates, in words."""
    cost = per(advice)
    much = "unit" if cost == 1.0 else f"{cost:,.0f}"
    return f"{advice.reward_name} per {much} of {advice.cost_name}"


def advice_tables(advice: Advice, width: int) -> "RenderableType":
    """Everything but the code, for `rich.print` on a terminal of `width` characters per line."""
    from rich.console import Group
    from rich.table import Table as Grid
    from rich.text import Text

    parts: list[RenderableType] = []
    if (found := advice.serving) is not None:  # who is ruled out by rate may be part of the mix
        parts += [Text(heading(advice), "bold"), Text(), hull_table(found), mixes_table(found)]
        parts += [served_table(found)] if found.rehearsal else []
    else:
        parts.append(arms_table(advice))
    if advice.rehearsal is not None:
        parts.append(policies_table(advice.rehearsal))
    if advice.contexts is not None:
        parts.append(contexts_table(advice, advice.contexts))
    parts.append(Text("What to watch out for", "bold"))
    if width < _NARROW:
        parts += [Text.assemble((caution.kind, "bold"), f": {caution.sentence}") for caution in advice.cautions]
        return Group(*parts)
    cautions = Grid.grid(padding=(0, 2))
    cautions.add_column(no_wrap=True)
    cautions.add_column(overflow="fold")
    for caution in advice.cautions:
        cautions.add_row(*map(Text, caution))
    return Group(*parts, cautions)


def heading(advice: Advice) -> str:
    """What was read; the log by its name, without the folders it is in."""
    found = f"{counted(advice.rows, 'row')}, {counted(len(advice.arms), 'arm')}"
    if advice.terms.instance is not None:
        found += f", all on the same {counted(advice.terms.instances, 'instance')} (column {advice.terms.instance})"
    spend = f"a budget of {number(advice.budget)}"
    if advice.serving is not None:
        spend += f" for {counted(advice.serving.requests, 'request')}"
    spend += f", counted in {advice.cost_name}"
    return f"{Path(advice.log).name}: {found}; {spend}"


def arms_table(advice: Advice) -> Table:
    """One row of text per arm, the best rate first; of many arms, only the first."""
    headings = ("arm", "rows", "mean cost", "mean reward", "rate", "interval", "corr.", "tail", "verdict")
    places = {FREE: 2, UNRANKED: 1}
    ranked = sorted(advice.arms, key=lambda arm: (places.get(arm.verdict, 0), -(arm.rate or 0.0), arm.name))
    cost, rows = per(advice), list[tuple[str, ...]]()
    for arm in ranked[:MOST_ROWS]:
        bounds = "–" if arm.rate is None else span(*(end * cost for end in arm.interval))
        means = number(arm.belief.mean_cost), number(arm.belief.mean_reward)
        rate = number(None if arm.rate is None else arm.rate * cost)
        correlation = "–" if arm.correlation is None else f"{round(arm.correlation, 2) + 0.0:+.2f}".replace("-", "−")
        tail = number(arm.tail.alpha, 2)
        rows.append((arm.name, f"{arm.rows:,}", *means, rate, bounds, correlation, tail, arm.verdict))
    if len(ranked) > MOST_ROWS:
        rows.append((counted(len(ranked) - MOST_ROWS, "more arm"), *[""] * (len(headings) - 1)))
    interval = f"interval: of the rate, {advice.confidence:.0%} for all arms together"
    if any(arm.rate is not None and span(*arm.interval) == ANY for arm in advice.arms):
        interval += f" ({ANY}: too few rows, or costs that vary too much, to bound it)"
    of, tail = "corr.: of cost and reward", "tail: index of the costs, below 2 the variance looks infinite"
    if any(arm.tail.limit is not None for arm in advice.arms):
        tail += ", or would without the limit"
    return Table(
        headings,
        rows,
        heading(advice),
        drop_first=("corr.", "tail", "mean reward", "mean cost", "rows", "interval"),
        texts=("arm", "verdict"),
        notes={"rate": f"rate: {unit(advice)}", "interval": interval, "corr.": of, "tail": tail},
    )


def policies_table(played: Rehearsal) -> Table:
    """One row of text per candidate, after that of the best arm alone."""
    rows: list[tuple[str, ...]] = [
        (f"{played.best} alone", measured(played.best_reward, played.best_stderr), "100.0%", "–", "–")
    ]
    rows += [
        (
            one.label,
            measured(one.reward, one.stderr),
            "–" if one.share != one.share else f"{one.share:.1%}",
            measured(one.regret, one.regret_stderr),
            number(one.bad_regret),
        )
        for one in played.candidates
    ]
    lost, one_in_ten = "lost: to arms with lower rates, on average", "1 in 10 loses: that much or more"
    notes = {"lost ± stderr": lost, "1 in 10 loses": one_in_ten}
    if turns := [one.label for one in played.candidates if one.in_turn and not isinstance(one.policy, RoundRobin)]:
        were = "was" if len(turns) == 1 else "were"
        notes["policy"] = f"{listed(turns)} {were} still trying every arm in turn at this budget, as RoundRobin does"
    runs = f"{counted(played.runs, 'run')}, seed {played.seed}"
    return Table(
        ("policy", "earns ± stderr", "of best arm", "lost ± stderr", "1 in 10 loses"),
        rows,
        f"Rehearsal on the log's rows with {number(played.budget)}, from scratch, all ranked arms ({runs})",
        drop_first=("1 in 10 loses", "of best arm"),
        notes=notes,
    )


def hull_table(serving: Serving) -> Table:
    """One row per arm that may be on the hull, from cheap to dear; then how many are not."""
    shown = [arm for arm in serving.arms if arm.on_hull != NEVER]
    rows: list[tuple[str, ...]] = [
        (arm.name, number(arm.cost), number(arm.reward), f"{arm.share:.0%}", arm.on_hull) for arm in shown
    ]
    if rest := len(serving.arms) - len(shown):
        rows.append((counted(rest, "more arm"), "", "", "", NEVER))
    return Table(
        ("arm", "mean cost", "mean reward", "in samples", "on the hull"),
        rows,
        "Arms that may be part of the best mix for some budget",
        drop_first=("mean reward", "mean cost", "in samples"),
        texts=("arm", "on the hull"),
        notes={"in samples": "in samples: in which share of bootstrap samples it is on the hull"},
    )


def mixes_table(serving: Serving) -> Table:
    """What half the budget, the budget and twice it bring, and with which arms."""
    rows = [
        (number(mix.budget), number(mix.reward.value), span(mix.reward.low, mix.reward.high), _shares(mix, serving))
        for mix in serving.mixes
    ]
    return Table(
        ("budget", "brings", "interval", "mix"),
        rows,
        f"What {counted(serving.requests, 'request')} bring with half the budget, with it, and with twice it",
        drop_first=("interval",),
        texts=("mix",),
        notes={"interval": "interval: 95%"},
    )


def served_table(serving: Serving) -> Table:
    """One row per policy of the rehearsal."""
    rows = [
        (
            one.label,
            measured(one.reward, one.stderr),
            f"{one.share:.1%}" if math.isfinite(one.share) else "–",
            number(one.spent),
            number(one.served),
        )
        for one in serving.rehearsal
    ]
    requests = counted(serving.rehearsed_requests, "request")
    return Table(
        ("policy", "earns ± stderr", "of best mix", "spends", "serves"),
        rows,
        f"Rehearsal on the log's rows, {requests}, from scratch, the arms that may be on the hull",
        drop_first=("serves", "spends"),
    )


def campaign_code(arms: Sequence[str], budget: float, policy: Policy, requests: int | None) -> str:
    """Lines that spend the budget, after those that import; with requests the policy is Ration by itself."""
    names = [json.dumps(name, ensure_ascii=False) for name in arms]
    if requests is None:
        imports, how = ["import outlay", "from outlay import policies"], f"policy=policies.{call(policy)}"
    else:
        imports, how = ["import outlay"], f"requests={requests}"
    opened = [f"campaign = outlay.Campaign([{', '.join(names)}], budget={budget!r}, {how})"]
    if len(opened[0]) > _WIDEST:
        listed_names = [*(f"{name}," for name in names[:-1]), f"{names[-1]}],"]
        listed_names[0] = f"[{listed_names[0]}"
        arguments = [*_filled(listed_names), f"    budget={budget!r},", *_filled(f"{how},".split(" "))]
        opened = ["campaign = outlay.Campaign(", *arguments, ")"]
    return "\n".join([*imports, "", *opened, *_LOOP])


def _filled(parts: Sequence[str]) -> list[str]:
    """An argument in lines, which are not broken within a part."""
    lines = ["   "]
    for part in parts:
        if len(lines[-1]) + 1 + len(part) > _WIDEST and lines[-1].strip():
            lines.append("       ")
        lines[-1] += f" {part}"
    return lines


def call(policy: Policy, brief: bool = False) -> str:
    """The call that makes a policy, without arguments that have their default; shortened for reading if `brief`."""
    defaults, shown = signature_of(type(policy)), _brief if brief else repr
    arguments = as_data(policy)["parameters"].items()
    given = [f"{name}={shown(value)}" for name, value in arguments if value != defaults[name].default]
    return f"{type(policy).__name__}({', '.join(given)})"


def _brief(value: object) -> str:
    """Numbers to four digits, and only the first few of many."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_brief, value[:_FEW]))}{', …' * (len(value) > _FEW)}]"
    return f"{value:.4g}" if isinstance(value, float) else repr(value)


def data_of(advice: Advice) -> dict[str, object]:
    """Objects, lists, text and numbers; what is infinite or unknown is null."""
    found = {name: _plain(value) for name, value in advice._asdict().items()}
    return found | {"answer": answer(advice), "remaining": advice.remaining}


def _plain(value: object) -> object:
    if is_policy(value):
        return _plain(as_data(value))
    if is_record(value):
        value = value._asdict()  # type: ignore[attr-defined]
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
