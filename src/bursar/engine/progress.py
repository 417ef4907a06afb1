"""A progress bar for long work: it appears after a second, on a terminal only, unless asked for."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

_DELAY_SECONDS = 1.0


@contextlib.contextmanager
def progress(total: float, wanted: bool | None) -> Iterator[Callable[[float], None]]:
    """Yield a function to be told how much of `total` is done."""
    shown = sys.stderr.isatty() if wanted is None else wanted
    if not shown:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("simulating"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    bar = Progress(*columns, console=console, transient=console.is_terminal)  # a file gets the last state, once
    task = bar.add_task("", total=total)
    start = time.monotonic()

    def report(done: float) -> None:
        if not bar.live.is_started and time.monotonic() - start > _DELAY_SECONDS:
            bar.start()
        bar.update(task, completed=done)

    try:
        yield report
    finally:
        bar.stop()
