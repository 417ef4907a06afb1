"""A campaign in a terminal: how it stands, the money left over time, pulls under way, the last events."""

import io
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from rich import box
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Column as Side
from rich.table import Table as Grid
from rich.text import Text

from outlay.campaign.monitor import CampaignView, Point
from outlay.campaign.records import Entry, PullStatus, Status
from outlay.cli.campaign.standing import arms, bar, facts, title
from outlay.tables import Table

HEIGHT = 6  # lines of the chart
ENOUGH = 36  # lines, from which the chart is as high as it may be
LEAST = 12  # columns of what is in the frame
WIDE = 130  # columns, from which two tables stand side by side
EIGHTHS = " ▁▂▃▄▅▆▇█"


def picture(view: CampaignView, width: int, height: int | None = None) -> RenderableType:
    """The whole frame, in so many columns; in so many lines, what matters least is left out."""
    shown = _room(height, len(view.under_way), len(view.last))
    frame = _frame(view, width, shown)
    while height is not None and any(shown[1:]) and _lines(frame, width) > height:
        more = shown.events >= shown.pulls
        shown = shown._replace(events=shown.events - more, pulls=shown.pulls - (not more))
        frame = _frame(view, width, shown)
    return frame


class _Room(NamedTuple):
    """Lines of the chart, pulls and events that are shown."""

    chart: int
    pulls: int
    events: int


def _frame(view: CampaignView, width: int, shown: _Room) -> RenderableType:
    """The frame with so much in it."""
    status, inner = view.status, max(LEAST, width - 4)
    subtitle = Text(f"{status.policy}, {status.mode}", style="dim")
    figures = [*facts(status, inner), bar(status, inner), Text()]
    body = Group(*figures, *_chart(view.burn, inner, shown.chart))
    frame = Panel(
        body, title=title(status), subtitle=subtitle, box=box.ROUNDED, title_align="left", subtitle_align="right"
    )  # fmt: skip
    left, right = (width, width) if width < WIDE else ((width - 4) * 11 // 20, (width - 4) * 9 // 20)
    below = []
    if shown.pulls or not view.under_way:
        below.append(_under_way(view.under_way[: shown.pulls], status))
    if shown.events:
        below.append(_events(view.last[-shown.events :]))
    if width >= WIDE:
        beside = Grid.grid(Side(width=left), Side(width=right), padding=(0, 4))
        beside.add_row(*below)
        below = [beside] if below else []
    return Group(frame, Text(), arms(status, view.intervals), *below)


def _lines(frame: RenderableType, width: int) -> int:
    return len(Console(width=width, file=io.StringIO()).render_lines(frame, pad=False))


def _room(height: int | None, pulls: int, events: int) -> _Room:
    """All that there is; in few lines, a lower chart."""
    low = height is not None and height < ENOUGH
    return _Room(HEIGHT // 2 if low else HEIGHT, pulls, events)


def _chart(burn: Sequence[Point], width: int, height: int) -> Iterable[Text]:
    """The money left over time."""
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


def _under_way(pulls: Sequence[PullStatus], status: Status) -> RenderableType:
    if not pulls:
        return Text("nothing under way\n", style="dim")
    headings = ("under way", "arm", "set aside", "since", "expires", "tags")
    rows = [
        (
            str(pull.id),
            pull.arm,
            f"{pull.reserved:,.6g}",
            _time(pull.asked),
            _time(pull.expires),
            ", ".join(pull.tags),
        )
        for pull in pulls
    ]
    more = status.in_flight - len(pulls)
    notes = {"more": f"… and {more:,} more"} if more > 0 else {}
    texts = ("under way", "arm", "since", "expires")
    return Table(headings, rows, drop_first=("tags", "since", "expires"), texts=texts, notes=notes, one_line=True)


def _events(entries: Sequence[Entry]) -> Table:
    headings = ("event", "at", "kind", "pull", "arm", "cost", "reward")
    rows = [
        (
            str(entry.seq),
            _time(entry.at),
            entry.kind,
            "" if entry.pull is None else str(entry.pull),
            entry.arm or "",
            *("" if amount is None else f"{amount:,.6g}" for amount in (entry.cost, entry.reward)),
        )
        for entry in entries[::-1]
    ]
    texts = ("event", "at", "kind", "pull", "arm")
    return Table(headings, rows, drop_first=("pull", "at"), texts=texts, one_line=True)


def _time(at: datetime | None) -> str:
    return "never" if at is None else _clock(at.astimezone())


def _clock(at: datetime, beside: datetime | None = None) -> str:
    """The time of day, with the date where it is not that of the other."""
    return f"{at:%Y-%m-%d %H:%M:%S}" if beside is not None and at.date() != beside.date() else f"{at:%H:%M:%S}"
