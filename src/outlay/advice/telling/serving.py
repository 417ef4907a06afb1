"""A budget for a number of requests, in words and in rows of tables."""

import math

from outlay.advice.evidence.comparison import TIMES
from outlay.advice.evidence.hull import MAYBE, NEVER, SURE, Mix
from outlay.advice.records import Findings
from outlay.advice.serving import Serving
from outlay.text import counted, listed, measured, number, span

ARMS = ("arm", "mean cost", "mean reward", "in samples", "on the hull")
MIXES = ("budget", "brings", "interval", "mix")
PLAYED = ("policy", "earns ± stderr", "of best mix", "spends", "serves")
FAR = 0.8  # of the largest mean reward: below it the cheapest arm is far from the best one


def sentences(advice: Findings, serving: Serving) -> list[str]:
    """What to do with so many requests, what that brings, and what more or less money would."""
    mix, unit = serving.mix, advice.cost_name
    each = f"{number(mix.budget)} of {unit} for {counted(serving.requests, 'request')}"
    start = "At equal times: with" if serving.at_equal_times else "With"
    said = [f"{start} {each}, {number(mix.budget / serving.requests)} for each, {_mix(mix, serving)}."]
    brings = f"That brings about {number(mix.reward.value)} of {advice.reward_name} on average"
    said.append(
        f"{brings} (between {number(mix.reward.low)} and {number(mix.reward.high)}, as far as the rows can tell)."
    )
    if advice.terms.basis == TIMES and not serving.at_equal_times:
        said.append(
            "Arms were used at different times, and not all of them at any one time: time may explain the hull."
        )
    more, extra = serving.more_brings, f"Another {number(serving.more)} of {unit}"
    said.append(f"{extra} would bring {number(more.value)} more (between {number(more.low)} and {number(more.high)}).")
    less, _, twice = serving.mixes
    said.append(f"With half the budget, {_short(less, serving)}; with twice the budget, {_short(twice, serving)}.")
    said.append(_on_hull(serving))
    if serving.rehearsal:
        said.append(_rehearsed(serving))
    left = counted(len(serving.remaining), "arm")
    return [*said, f"Run Ration() on {left}, those that are or may be on the hull: {advice.reason}."]


def question(advice: Findings) -> list[str]:
    """The question to ask where money alone speaks for the cheapest arm, though others earn far more per pull."""
    priced = [arm for arm in advice.arms if arm.rate is not None]
    most = max(priced, key=lambda arm: arm.belief.mean_reward)
    cheapest = min(priced, key=lambda arm: arm.belief.mean_cost)
    best = advice.best
    if best != cheapest or not best.belief.mean_reward < FAR * most.belief.mean_reward:
        return []
    times = number(most.belief.mean_reward / best.belief.mean_reward, 2) if best.belief.mean_reward > 0.0 else "far"
    earns = f"{best.name} is also the cheapest arm, and {most.name} earns {times} times as much per pull"
    return [f"{earns}. Do you have a number of requests to serve? Say so (--requests N), and the answer may be a mix."]


def arm_rows(serving: Serving) -> list[tuple[str, ...]]:
    """One row per arm that may be on the hull, from cheap to dear; then how many are not."""
    shown = [arm for arm in serving.arms if arm.on_hull != NEVER]
    rows: list[tuple[str, ...]] = [
        (arm.name, number(arm.cost), number(arm.reward), f"{arm.share:.0%}", arm.on_hull) for arm in shown
    ]
    if rest := len(serving.arms) - len(shown):
        rows.append((counted(rest, "more arm"), "", "", "", NEVER))
    return rows


def mix_rows(serving: Serving) -> list[tuple[str, ...]]:
    """What half the budget, the budget and twice it bring, and with which arms."""
    return [
        (number(mix.budget), number(mix.reward.value), span(mix.reward.low, mix.reward.high), _shares(mix, serving))
        for mix in serving.mixes
    ]


def played_rows(serving: Serving) -> list[tuple[str, ...]]:
    """One row per policy of the rehearsal."""
    return [
        (
            one.label,
            measured(one.reward, one.stderr),
            f"{one.share:.1%}" if math.isfinite(one.share) else "–",
            number(one.spent),
            number(one.served),
        )
        for one in serving.rehearsal
    ]


def caption(serving: Serving) -> str:
    """What the table of the rehearsal shows."""
    requests = counted(serving.rehearsed_requests, "request")
    return f"Rehearsal on the log's rows, {requests}, from scratch, the arms that may be on the hull"


def _parts(mix: Mix, serving: Serving) -> list[tuple[str | None, float]]:
    """The arms of a mix, the dearer first, with their shares of the requests; None for requests that are not served."""
    ends = ((mix.high, mix.share), (mix.low, 1.0 - mix.share))
    return [
        (None if arm is None else serving.names[arm], share)
        for arm, share in ends
        if share > 0.0 and not (arm is None and mix.high is None)
    ]


def _shares(mix: Mix, serving: Serving) -> str:
    return (
        ", ".join(f"{_percent(share)} {name or 'not served'}" for name, share in _parts(mix, serving)) or "no arm pays"
    )


def _short(mix: Mix, serving: Serving) -> str:
    return f"about {number(mix.reward.value)} ({_shares(mix, serving)})"


def _mix(mix: Mix, serving: Serving) -> str:
    """What to do with the requests."""
    parts = _parts(mix, serving)
    if not parts:
        return "no arm is worth its cost"
    name, share = parts[0]
    if len(parts) == 1:
        spare = mix.high is None and "; money is left over"
        return f"give every request to {name}{spare or ''}"
    other = parts[1][0]
    if other is None:
        return f"serve {_percent(share)} of the requests, with {name}: the money does not reach for the others"
    return f"give {_percent(share)} of the requests to {name} and the others to {other}"


def _on_hull(serving: Serving) -> str:
    """Which arms can be part of the best mix for some budget."""
    groups = {said: [arm.name for arm in serving.arms if arm.on_hull == said] for said in (SURE, MAYBE, NEVER)}
    found = [f"{said}, {listed(names)}" for said, names in groups.items() if names and said != NEVER]
    if groups[NEVER]:
        found.append(f"never, {counted(len(groups[NEVER]), 'arm')}")
    return f"Part of the best mix for some budget: {'; '.join(found)} (bootstrap, 95%)."


def _rehearsed(serving: Serving) -> str:
    first, *others = serving.rehearsal
    rest = [f"{one.label} {number(one.reward)}" for one in others]
    share = f", {first.share:.1%} of what the best mix brings" * math.isfinite(first.share)
    scale = f" with {serving.rehearsed_requests:,} requests" * (serving.rehearsed_requests < serving.requests)
    beside = f"; {listed(rest)}" if rest else ""
    earned = measured(first.reward, first.stderr)
    return f"Rehearsed from scratch{scale}, {first.label} earned {earned}{share}{beside}."


def _percent(share: float) -> str:
    return f"{share:.0%}" if 0.01 <= share <= 0.99 or share == 1.0 else f"{share:.1%}"
