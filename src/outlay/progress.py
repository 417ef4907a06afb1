"""The progress of long work: a bar on a terminal or in a notebook after a second, or calls to a user's function."""

import contextlib
import html
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

REFRESH = 0.2  # seconds between two pictures in a notebook
Report = Callable[[float], None]


@contextlib.contextmanager
def progress(
    total: float, wanted: bool | Report | None, words: str = "simulating", delay: float = 1.0
) -> Iterator[Report]:
    """Yield a function to be told how much of `total` is done.

    A bar is shown, or not, as `wanted` says; None means on a terminal or in a notebook only. Where it is a function,
    there is no bar and it is told the part that is done, from 0 to 1. The bar comes after `delay` seconds.
    """
    if callable(wanted):
        yield lambda done: wanted(min(done / total, 1.0))
        return
    ipython: Any = sys.modules.get("IPython")
    notebook = ipython is not None and hasattr(ipython.get_ipython(), "kernel")  # whose shell takes messages
    shown = notebook or sys.stderr.isatty() if wanted is None else wanted
    if not shown:
        yield lambda _: None
        return
    with (_in_notebook if notebook else _on_terminal)(total, words, delay) as report:
        yield report


@contextlib.contextmanager
def _on_terminal(total: float, words: str, delay: float) -> Iterator[Report]:
    import rich.progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.TaskProgressColumn(),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    bar = bars.Progress(*columns, console=console, transient=console.is_terminal)  # a file gets the last state, once
    task = bar.add_task(words, total=total)
    start = time.monotonic()

    def report(done: float) -> None:
        if not bar.live.is_started and time.monotonic() - start > delay:
            bar.start()
        bar.update(task, completed=done)

    if delay == 0:
        bar.start()
    try:
        yield report
    finally:
        bar.stop()


@contextlib.contextmanager
def _in_notebook(total: float, words: str, delay: float) -> Iterator[Report]:
    """The browser's own bar, replaced in place; rich would need ipywidgets for that."""
    shown: Any = import_module("IPython.display")
    start = last = time.monotonic()
    handle: Any = None

    def report(done: float) -> None:
        nonlocal handle, last
        now = time.monotonic()
        if now - start < delay or now - last < REFRESH:
            return
        last, share = now, min(done / total, 1.0)
        left = f", {(now - start) * (1.0 / share - 1.0):,.0f} s left" if share > 0 else ""
        bar = shown.HTML(f'<progress max="1" value="{share:.4f}"></progress> {html.escape(words)}, {share:.0%}{left}')
        if handle is None:
            handle = shown.display(bar, display_id=True)
        else:
            handle.update(bar)

    try:
        yield report
    finally:
        if handle is not None:
            handle.update(shown.HTML(""))
