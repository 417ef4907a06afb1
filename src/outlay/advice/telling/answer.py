"""The answer in a few sentences."""

import math

from outlay.advice.cautions import FEW
from outlay.advice.doubts import doubts
from outlay.advice.evidence.comparison import MANY, PAIRS, TIMES
from outlay.advice.evidence.rates import OPEN, OUT
from outlay.advice.records import ArmAdvice, Findings, Terms
from outlay.advice.rehearsal import FEWEST_RUNS
from outlay.advice.telling import serving
from outlay.advice.telling.code import call
from outlay.advice.telling.units import rate_in_words, scaled
from outlay.text import capital, counted, listed, measured, number


def answer(advice: Findings) -> list[str]:
    """The best arm and what it would bring, which arms are out, what to run and what that would bring; or the mix."""
    if advice.serving is not None:
        return serving.sentences(advice, advice.serving)
    by_rate = [*_best(advice), *_brings(advice), *_others(advice), *_merit(advice.terms), *_run(advice)]
    return by_rate + serving.question(advice)


def _best(advice: Findings) -> list[str]:
    """The best arm on equal terms, what it cannot be told apart from, and what else the log seems to say."""
    best, terms = advice.best, advice.terms
    on = {PAIRS: f"on the {terms.instances:,} instances that all arms were tried on, ", TIMES: "at equal times, "}
    start = f"{capital(on.get(terms.basis, ''))}{best.name} has the best rate so far"
    rate = rate_in_words(advice, best.rate) + " over the whole log" * (terms.basis == TIMES)
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


def _readings(advice: Findings) -> str:
    """Which answer is which, where arms were used at different times."""
    whole = max(advice.arms, key=lambda arm: -math.inf if arm.rate is None else arm.rate)
    said = f"over the whole log {_it(whole, advice)} has the highest rate ({number(scaled(advice, whole.rate))})"
    lately = [arm for arm in advice.arms if arm.latest is not None]
    if lately:
        late = max(lately, key=lambda arm: arm.latest.rate if arm.latest is not None else -math.inf)
        value = None if late.latest is None else late.latest.rate
        said += f", in its latest eighth {_it(late, advice)} ({number(scaled(advice, value))})"
    return f"{capital(said)}: arms were used at different times, so neither is a fair comparison."


def _it(arm: ArmAdvice, advice: Findings) -> str:
    return "it also" if arm == advice.best else arm.name


def _brings(advice: Findings) -> list[str]:
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


def _lately(advice: Findings, low: float, high: float) -> list[str]:
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


def _others(advice: Findings) -> list[str]:
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


def _merit(terms: Terms) -> list[str]:
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


def _run(advice: Findings) -> list[str]:
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
