"""The files that make up a report: named here, so that a bad folder is found before anything is drawn."""

from pathlib import Path
from typing import Literal

Format = Literal["text", "markdown", "csv", "latex"]
TABLES: dict[str, Format] = {"txt": "text", "md": "markdown", "csv": "csv", "tex": "latex"}  # by the file's ending
FIGURES = ("regret", "distribution", "pulls", "reward")
MEDIANS = "medians"  # a figure of the page alone, where means say little


def report_files(folder: Path) -> list[Path]:
    """The paths of a report's files in `folder`; the page is the first.

    >>> [path.name for path in report_files(Path("build"))][:4]
    ['report.html', 'table.txt', 'table.md', 'table.csv']
    """
    names = ["report.html", *(f"table.{ending}" for ending in TABLES)]
    names += [f"{name}.{ending}" for name in FIGURES for ending in ("png", "svg", "pdf")]
    return [folder / name for name in names]
