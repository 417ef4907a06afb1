"""The tables of docs/leaderboard.md, between two markers that name their budgets, or a group."""

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.leaderboard.tables import Grid
from outlay.checks import reading, writing
from outlay.errors import BadFile


def rewrite(path: Path, what: str, grids: Sequence[Grid], about: str) -> None:
    """Replace what stands between the markers of these tables; the rest of the page stays."""
    begin = f"<!-- leaderboard {what} -->"
    end = "<!-- end of leaderboard -->"
    with reading(path):
        page = path.read_text(encoding="utf-8")
    block = re.compile(f"({re.escape(begin)}\n).*?({re.escape(end)})", re.DOTALL)
    if len(block.findall(page)) != 1:
        raise BadFile(f"{path} has no place for these tables: it lacks the line {begin}, or {end} after it")
    text = "\n".join(["", about, "", *(grid.in_markdown() for grid in grids)])
    with writing(path):
        path.write_text(block.sub(lambda found: f"{found[1]}{text}\n{found[2]}", page), encoding="utf-8")
