"""What is seen while the board is played: a bar on a terminal, else a line for each result."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Say = Callable[[str], None]


@contextmanager
def progress(total: int) -> Iterator[Say]:
    """Yield a function to call with the name of each result as it is done."""
    console = Console(stderr=True, highlight=False, emoji=False)
    if not console.is_terminal:
        count = itertools.count(1)
        yield lambda what: console.print(f"{next(count)}/{total} {what}", markup=False, soft_wrap=True)
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda what: bar.update(task, advance=1, description=what)
