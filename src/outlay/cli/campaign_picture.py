"""A campaign drawn in a terminal: its money, requests and arms; watched, its chart, pulls and events too."""

import io
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Column as Side
from rich.table import Table as Grid
from rich.text import Text

from outlay.campaign.ledger.windows import zone_of
from outlay.campaign.monitor import Balance, CampaignView, RateInterval
from outlay.campaign.records import ArmStatus, Entry, PullStatus, Status
from outlay.tables import Table
from outlay.text import aligned, counted, cut, in_currency

MOST_ARMS = 12
LONGEST = 40  # letters of an arm's name in a line
WHISKER = 25  # columns
HEIGHT = 6  # lines of the chart
ENOUGH = 36  # lines, from which the chart is as high as it may be
LEAST = 12  # columns of what is in the frame
WIDE = 130  # columns, from which two tables stand side by side
EIGHTHS = " ▁▂▃▄▅▆▇█"
STYLE = {"open": "green", "closed": "red", **dict.fromkeys(("paused", "waiting", "fallback", "draining"), "yellow")}


def standing(status: Status, width: int) -> RenderableType:
    """All of it, in so many columns."""
    return Group(title(status), *facts(status, width), bar(status, width), Text(), arms(status))


def title(status: Status) -> Text:
    """The campaign's name and phase."""
    ended = f" ({status.ended})" if status.ended and status.ended != status.phase else ""
    archived = ("  archived", "dim") if status.archived else ""
    return Text.assemble((status.name, "bold"), "  ", (f"{status.phase}{ended}", STYLE[status.phase]), archived)


def facts(status: Status, width: int) -> Iterator[Text]:
    """The figures, in lines of this width."""
    for group in _figures(status):
        yield from map(Text, _flowed(group, width))


def _figures(status: Status) -> Iterator[list[str]]:
    """Money, pulls, requests, the window, what is to be expected: each begins a line."""
    share = f" ({status.spent / status.budget:.1%})" if status.budget > 0 else ""
    spent = f"spent {status.spent:,.6g} of {in_currency(f'{status.budget:,.6g}', status.currency)}{share}"
    yield [spent, f"set aside {status.reserved:,.6g}", f"left {status.left:,.6g}"]
    reward = f"reward {status.reward:,.6g} in {counted(status.pulls, 'pull')}"
    late = [f"{status.awaited:,} of the rewards awaited"] * bool(status.awaited)
    late += [f"{status.overdue:,} not in time"] * bool(status.overdue)
    yield [reward, *late, f"{status.in_flight:,} under way", counted(status.events, "event")]
    requests: list[str] = []
    if status.requests is not None:
        left = max(0, status.requests - status.used)
        requests += [f"requests {status.used:,} of {status.requests:,} used", f"{left:,} left"]
    if status.expected is not None:
        requests.append(f"{counted(status.expected, 'more request')} expected" if status.expected else "none expected")
    yield requests
    windows: list[str] = []
    if (window := status.window) is not None:
        end = window.end.astimezone(zone_of("status", window.timezone))
        ends = f"this {window.kind} ends {end:%Y-%m-%d %H:%M %Z}"
        windows += [ends, f"{window.earlier:,.6g} spent in earlier ones"]
    if status.fallback is not None:
        spent = f"{status.outside:,.6g} spent on it outside the budget"
        windows += [f"fallback {cut(status.fallback, LONGEST)}", spent]
    yield windows
    if (ahead := status.outlook) is not None:
        money = f"one more unit of money {ahead.price:.4g}" if ahead.price else "more money nothing: there is enough"
        yield [f"one more request is worth {ahead.worth:.4g}", money]
        parts = [(ahead.low, 1.0 - ahead.share), (ahead.high, ahead.share)]
        mix = [f"{part:.0%} {cut(arm, LONGEST) if arm else 'unserved'}" for arm, part in parts if round(100 * part)]
        between = "" if ahead.reward_low is None else f" ({ahead.reward_low:,.5g} to {ahead.reward_high:,.5g})"
        yield [f"best mix {mix[0]}", *mix[1:], f"reward at the end about {ahead.reward:,.5g}{between}"]


def _flowed(facts: Sequence[str], width: int) -> Iterator[str]:
    """Facts in lines of this width, with some room between two of them.

    >>> list(_flowed(["spent 3", "left 4", "reward 12"], 18))
    ['spent 3   left 4', 'reward 12']
    """
    line = ""
    for fact in facts:
        if line and cell_len(line) + 3 + cell_len(fact) > width:
            yield line
            line = ""
        line = f"{line}   {fact}" if line else fact
    if line:
        yield line


def bar(status: Status, width: int) -> Text:
    """What was spent and set aside, of all there is."""
    whole = max(status.budget, status.spent + status.reserved, 1e-300)
    spent = round(width * max(0.0, status.spent) / whole)
    reserved = min(width - spent, math.ceil(width * status.reserved / whole))
    return Text.assemble(("█" * spent, "cyan"), ("▒" * reserved, "yellow"), ("░" * (width - spent - reserved), "dim"))


def arms(status: Status, intervals: Sequence[RateInterval] | None = None) -> Table:
    """The arms, the best rates first; with the intervals of their rates, where these are known."""
    rates = [-math.inf if arm.rate is None else arm.rate for arm in status.arms]
    order = sorted(range(len(rates)), key=rates.__getitem__, reverse=True)[:MOST_ARMS]
    shown = [status.arms[i] for i in order]
    columns: dict[str, Sequence[str]] = {
        "arm": [arm.name for arm in shown],
        "pulls": [f"{arm.pulls:,}" for arm in shown],
        "under way": [f"{arm.in_flight:,}" for arm in shown],
        "spent": aligned([arm.spent for arm in shown], 6),
        "reward": aligned([arm.reward for arm in shown], 6),
        "rate": ["–" if arm.rate is None else f"{arm.rate:.4g}" for arm in shown],
    }
    drawn = {} if intervals is None else _rates(shown, [intervals[i] for i in order])
    more = f"… and {counted(len(status.arms) - MOST_ARMS, 'more arm')}" if len(status.arms) > MOST_ARMS else ""
    return Table(
        [*columns, *drawn],
        list(zip(*columns.values(), *drawn.values(), strict=True)),
        drop_first=[*reversed(drawn), "under way", "reward"],
        texts=["arm"],
        notes={"more": more} if more else {},
        one_line=True,
        styles=["" if arm.enabled else "dim" for arm in shown],
    )


def whisker(interval: RateInterval, rate: float | None, low: float, high: float) -> str:
    """An interval and its rate on a line from `low` to `high`.

    >>> whisker(RateInterval(0.0, 0.5), 0.25, 0.0, 1.0)
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


def _rates(shown: Sequence[ArmStatus], intervals: Sequence[RateInterval]) -> dict[str, list[str]]:
    ends = [end for interval in intervals for end in interval] + [arm.rate or 0.0 for arm in shown]
    finite = list(filter(math.isfinite, ends))
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    numbers = [f"{each.low:.3g} to {each.high:.3g}" if all(map(math.isfinite, each)) else "–" for each in intervals]
    drawn = [whisker(each, arm.rate, low, high) for each, arm in zip(intervals, shown, strict=True)]
    return {"95 %": numbers, f"{low:.3g} … {high:.3g}": drawn}


def picture(view: CampaignView, width: int, height: int | None = None) -> RenderableType:
    """The whole frame, in so many columns; in so many lines, what matters least is left out."""
    pulls, events = len(view.under_way), len(view.last)
    chart = HEIGHT if height is None or height >= ENOUGH else HEIGHT // 2
    frame = _frame(view, width, chart, pulls, events)
    measure = Console(width=width, file=io.StringIO())
    while height is not None and pulls + events and len(measure.render_lines(frame, pad=False)) > height:
        pulls, events = (pulls, events - 1) if events >= pulls else (pulls - 1, events)
        frame = _frame(view, width, chart, pulls, events)
    return frame


def _frame(view: CampaignView, width: int, chart: int, pulls: int, events: int) -> RenderableType:
    status, inner = view.status, max(LEAST, width - 4)
    frame = Panel(
        Group(*facts(status, inner), bar(status, inner), Text(), *_chart(view.burn, inner, chart)),
        title=title(status),
        subtitle=Text(f"{status.policy}, {status.mode}", style="dim"),
        box=box.ROUNDED,
        title_align="left",
        subtitle_align="right",
    )
    below: list[RenderableType] = []
    if pulls or not view.under_way:
        below.append(_under_way(view.under_way[:pulls], status))
    if events:
        below.append(_events(view.last[-events:]))
    if width >= WIDE:
        left = (width - 4) * 11 // 20
        beside = Grid.grid(Side(width=left), Side(width=width - 4 - left), padding=(0, 4))
        beside.add_row(*below)
        below = [beside] if below else []
    return Group(frame, Text(), arms(status, view.intervals), *below)


def _chart(burn: Sequence[Balance], width: int, height: int) -> Iterable[Text]:
    if len(burn) < 2 or burn[0].at == burn[-1].at:
        yield Text("nothing spent yet", style="dim")
        return
    top = max(point.left for point in burn)
    margin = max(len(f"{top:,.4g}"), 1) + 2
    levels = left_over_time(burn, width - margin)
    full = [round(8 * height * max(0.0, level) / top) if top > 0 else 0 for level in levels]
    for row in range(height - 1, -1, -1):
        label = f"{top:,.4g}" if row == height - 1 else "0" if row == 0 else ""
        cells = "".join(EIGHTHS[min(8, max(0, eighths - 8 * row))] for eighths in full)
        yield Text.assemble((f"{label:>{margin - 2}} ┤", "dim"), (cells, "cyan"))
    start, end = (point.at.astimezone() for point in (burn[0], burn[-1]))
    both = _clock(start, end), _clock(end, start)
    yield Text(f"{'':{margin}}{both[0]}{both[1]:>{max(0, width - margin - len(both[0]))}}", style="dim")


def left_over_time(burn: Sequence[Balance], columns: int) -> list[float]:
    """What was left at the end of each of so many equal stretches of time.

    >>> at = [datetime(2030, 1, 1, 12, minute) for minute in (0, 5, 10)]
    >>> left_over_time([Balance(at[0], 9.0), Balance(at[1], 5.0), Balance(at[2], 1.0)], 4)
    [9.0, 5.0, 5.0, 1.0]
    """
    times = [point.at for point in burn]
    start, span = times[0], times[-1] - times[0]
    ends = [start + span * column / columns for column in range(1, columns)]
    return [*(burn[bisect_right(times, end) - 1].left for end in ends), burn[-1].left]


def _under_way(pulls: Sequence[PullStatus], status: Status) -> RenderableType:
    if not pulls:
        return Text("nothing under way\n", style="dim")
    headings = ("under way", "arm", "set aside", "since", "expires", "tags")
    rows = [
        (str(each.id), each.arm, f"{each.reserved:,.6g}", _time(each.asked), _time(each.expires), ", ".join(each.tags))
        for each in pulls
    ]
    more = status.in_flight - len(pulls)
    notes = {"more": f"… and {more:,} more"} if more > 0 else {}
    texts = ("under way", "arm", "since", "expires")
    return Table(headings, rows, drop_first=("tags", "since", "expires"), texts=texts, notes=notes, one_line=True)


def _events(entries: Sequence[Entry]) -> Table:
    headings = ("event", "at", "kind", "pull", "arm", "cost", "reward")
    rows = []
    for entry in entries[::-1]:
        money = ("" if amount is None else f"{amount:,.6g}" for amount in (entry.cost, entry.reward))
        pull = "" if entry.pull is None else str(entry.pull)
        rows.append((str(entry.seq), _time(entry.at), entry.kind, pull, entry.arm or "", *money))
    texts = ("event", "at", "kind", "pull", "arm")
    return Table(headings, rows, drop_first=("pull", "at"), texts=texts, one_line=True)


def _time(at: datetime | None) -> str:
    return "never" if at is None else _clock(at.astimezone())


def _clock(at: datetime, beside: datetime | None = None) -> str:
    """The time of day, with the date where it is not that of the other."""
    return f"{at:%Y-%m-%d %H:%M:%S}" if beside is not None and at.date() != beside.date() else f"{at:%H:%M:%S}"
