"""A campaign as text: a bar of the budget, the money left over time, tables of arms, pulls and events."""

import math
from collections.abc import Iterable, Sequence
from datetime import datetime

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from outlay.campaign.answers.history import Entry
from outlay.campaign.answers.pulls import PullStatus
from outlay.campaign.answers.replies import Status
from outlay.campaign.answers.watching import Interval, Point, View
from outlay.markup import aligned
from outlay.words import counted

HEIGHT = 6  # lines of the chart
MOST_ARMS = 12
WIDE = 130  # columns, from which two tables stand side by side
WHISKER = 25  # columns
EIGHTHS = " ▁▂▃▄▅▆▇█"
STYLE = {"open": "green", "paused": "yellow", "draining": "yellow", "closed": "red"}


def picture(view: View, width: int) -> RenderableType:
    """The whole frame, in so many columns."""
    status = view.status
    title = Text.assemble((status.name, "bold"), "  ", (status.phase, STYLE[status.phase]))
    subtitle = Text(f"{status.policy}, {status.mode}", style="dim")
    inner = max(40, width - 4)
    body = Group(_money(status, inner), Text(), *_chart(view.burn, inner))
    frame = Panel(body, title=title, subtitle=subtitle, box=box.ROUNDED, title_align="left", subtitle_align="right")
    under_way, events = _under_way(view.under_way, status), _events(view.last)
    if width < WIDE:
        return Group(frame, _arms(view), under_way, events)
    beside = Table.grid(padding=(0, 4))
    beside.add_row(under_way, events)
    return Group(frame, _arms(view), beside)


def _money(status: Status, width: int) -> Text:
    """What was spent and set aside, as a bar and in figures."""
    whole = max(status.budget, status.spent + status.reserved, 1e-300)
    spent = round(width * max(0.0, status.spent) / whole)
    reserved = min(width - spent, math.ceil(width * status.reserved / whole))
    bar = Text.assemble(("█" * spent, "cyan"), ("▒" * reserved, "yellow"), ("░" * (width - spent - reserved), "dim"))
    share = status.spent / status.budget
    line = (
        f"spent {status.spent:,.6g} of {status.budget:,.6g} ({share:.1%})   set aside {status.reserved:,.6g}   "
        f"left {status.left:,.6g}{_requests(status)}\nreward {status.reward:,.6g} in {counted(status.pulls, 'pull')}, "
        f"{status.in_flight:,} under way, {counted(status.events, 'event')}"
    )
    return Text.assemble(line, "\n", bar)


def _requests(status: Status) -> str:
    """How many requests are left, and what they and the money are worth."""
    said = "" if status.requests is None else f"\nrequests {status.used:,} of {status.requests:,} used"
    if (ahead := status.outlook) is not None:
        said += f"   one more is worth {ahead.worth:.4g}, one unit of money {ahead.price:.4g}"
        between = "" if ahead.reward_low is None else f" ({ahead.reward_low:,.5g} to {ahead.reward_high:,.5g})"
        said += f"\nwith the best mix, reward at the end about {ahead.reward:,.5g}{between}"
    return said


def _chart(burn: Sequence[Point], width: int) -> Iterable[Text]:
    """The money left over time."""
    if len(burn) < 2 or burn[0].at == burn[-1].at:
        yield Text("nothing spent yet", style="dim")
        return
    top = max(point.left for point in burn)
    margin = max(len(f"{top:,.4g}"), 1) + 2
    levels = left_over_time(burn, width - margin)
    full = [round(8 * HEIGHT * max(0.0, level) / top) if top > 0 else 0 for level in levels]
    for row in range(HEIGHT - 1, -1, -1):
        label = f"{top:,.4g}" if row == HEIGHT - 1 else "0" if row == 0 else ""
        cells = "".join(EIGHTHS[min(8, max(0, eighths - 8 * row))] for eighths in full)
        yield Text.assemble((f"{label:>{margin - 2}} ┤", "dim"), (cells, "cyan"))
    start, end = (point.at.astimezone() for point in (burn[0], burn[-1]))
    both = _clock(start, end), _clock(end, start)
    yield Text(f"{'':{margin}}{both[0]}{both[1]:>{width - margin - len(both[0])}}", style="dim")


def left_over_time(burn: Sequence[Point], columns: int) -> list[float]:
    """What was left at the end of each of so many equal stretches of time.

    >>> at = [datetime(2030, 1, 1, 12, minute) for minute in (0, 5, 10)]
    >>> left_over_time([Point(at[0], 9.0), Point(at[1], 5.0), Point(at[2], 1.0)], 4)
    [9.0, 5.0, 5.0, 1.0]
    """
    start, span = burn[0].at, burn[-1].at - burn[0].at
    found, point = [], 0
    for column in range(1, columns + 1):
        end = start + span * column / columns
        while point + 1 < len(burn) and burn[point + 1].at <= end:
            point += 1
        found.append(burn[point].left)
    found[-1] = burn[-1].left
    return found


def _arms(view: View) -> Table:
    """The arms, the best rates first."""
    pairs = sorted(zip(view.status.arms, view.intervals, strict=True), key=lambda pair: -(pair[0].rate or -math.inf))
    shown, ends = pairs[:MOST_ARMS], [end for _, interval in pairs[:MOST_ARMS] for end in interval]
    finite = [end for end in [*ends, *(arm.rate or 0.0 for arm, _ in shown)] if math.isfinite(end)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    table = _table("arm", "pulls", "under way", "spent", "reward", "rate", "95 %", f"{low:.3g} … {high:.3g}")
    spent, reward = (aligned([getattr(arm, name) for arm, _ in shown], 6) for name in ("spent", "reward"))
    for (arm, interval), *sums in zip(shown, spent, reward, strict=True):
        rate = "–" if arm.rate is None else f"{arm.rate:.4g}"
        known = math.isfinite(interval.low) and math.isfinite(interval.high)
        between = f"{interval.low:.3g} to {interval.high:.3g}" if known else "–"
        style = "" if arm.enabled else "dim"
        cells = (arm.name, f"{arm.pulls:,}", f"{arm.in_flight:,}", *sums, rate, between)
        table.add_row(*map(Text, cells), Text(whisker(interval, arm.rate, low, high)), style=style)
    if len(pairs) > MOST_ARMS:
        table.add_row(Text(f"… and {counted(len(pairs) - MOST_ARMS, 'more arm')}", style="dim"))
    return table


def whisker(interval: Interval, rate: float | None, low: float, high: float) -> str:
    """An interval and its rate on a line from `low` to `high`.

    >>> whisker(Interval(0.0, 0.5), 0.25, 0.0, 1.0)
    '├─────●─────┤            '
    """
    if rate is None or not high > low:
        return ""
    ends = [max(low, min(high, end)) for end in (interval.low, rate, interval.high)]
    first, dot, last = (round((WHISKER - 1) * (end - low) / (high - low)) for end in ends)
    line = [" "] * first + ["─"] * (last - first + 1) + [" "] * (WHISKER - 1 - last)
    line[first], line[last] = "├" if interval.low >= low else "╌", "┤" if interval.high <= high else "╌"
    line[dot] = "●"
    return "".join(line)


def _under_way(pulls: Sequence[PullStatus], status: Status) -> RenderableType:
    if not pulls:
        return Text("\n nothing under way", style="dim")
    table = _table("under way", "arm", "set aside", "since", "expires", "tags")
    for pull in pulls:
        times = (_clock(at.astimezone()) if at else "never" for at in (pull.asked, pull.expires))
        cells = (str(pull.decision), pull.arm, f"{pull.reserved:,.6g}", *times, ", ".join(pull.tags))
        table.add_row(*map(Text, cells))
    if status.in_flight > len(pulls):
        table.add_row(Text(f"… and {status.in_flight - len(pulls):,} more", style="dim"))
    return table


def _events(entries: Sequence[Entry]) -> Table:
    table = _table("event", "at", "kind", "decision", "arm", "cost", "reward")
    for entry in reversed(entries):
        numbers = ("" if value is None else f"{value:,.6g}" for value in (entry.cost, entry.reward))
        decision = "" if entry.decision is None else str(entry.decision)
        cells = (str(entry.seq), _clock(entry.at.astimezone()), entry.kind, decision, entry.arm or "", *numbers)
        table.add_row(*map(Text, cells))
    return table


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    right = {"pulls", "under way", "spent", "reward", "rate", "set aside", "cost", "event"}
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="right" if heading in right and number else "left", no_wrap=True)
    return table


def _clock(at: datetime, beside: datetime | None = None) -> str:
    """The time of day, with the date where it is not that of the other."""
    return f"{at:%Y-%m-%d %H:%M:%S}" if beside is not None and at.date() != beside.date() else f"{at:%H:%M:%S}"
