"""A report as a folder of files: the page, the table in four formats, the figures in three."""

from os import PathLike
from pathlib import Path

from outlay.checks import checked_path, made, writing
from outlay.errors import needed
from outlay.report.contents import FIGURES, TABLES, report_files
from outlay.results import Result, checked


@needed("report.write_report")
def write_report(
    result: Result, folder: str | PathLike[str], title: str | None = None, *, command: str | None = None
) -> list[Path]:
    """Write everything about a result into `folder` and return the paths; a folder that does not exist is made.

    report.html is one page with all of it. table.txt, .md, .csv and .tex are the regret table. The figures are regret,
    distribution, pulls and reward: .png and .svg for a page, .pdf for a column of a two-column paper, 3.3 inches.
    `title` heads the page and the tables; `command` is what makes it again in a shell, where that is not known from the
    result. The same result and title give the same bytes.
    """
    from outlay.report.drawn import drawn
    from outlay.report.figures import save_figure
    from outlay.report.page import page_text
    from outlay.report.regret import checked_title, regret_numbers, written

    checked("write_report", result)
    checked_title("write_report", title)
    target = checked_path("write_report", folder)
    with made(target):
        numbers = regret_numbers(result, title=title)
        figures = drawn(result, numbers.floor)
        texts = {"report.html": page_text(result, numbers, figures, title, files=True, command=command)}
        figures = [figure for figure in figures if figure.name in FIGURES]
        texts |= {f"table.{ending}": written(numbers, form) for ending, form in TABLES.items()}
        texts |= {f"{figure.name}.svg": figure.page_svg for figure in figures}
        for name, text in texts.items():
            with writing(target / name):
                (target / name).write_text(text, encoding="utf-8", newline="\n")
        for figure in figures:
            save_figure(figure.page, target / f"{figure.name}.png")
            save_figure(figure.column, target / f"{figure.name}.pdf")
    return report_files(target)
