"""Results as pictures, tables and pages: numbers first, then drawing.

    regret_figure              regret against the budget, with bands and bounds
    distribution_figure        the regret of every run
    pulls_figure               which arms were pulled, over the budget
    reward_figure              what each arm earned
    rate_box_figure            the rates that estimates in a box around the truth can give
    bounds_figure              the bounds alone
    save_figure                PNG, PDF or SVG, the same bytes every time

    regret_table, table        the regret table: for a terminal; as text, Markdown, CSV or LaTeX
    problem_bounds             what the theory says about a problem
    bounds_table               the same for a terminal
    request_bounds             what a budget and requests can bring, and what no policy avoids to lose
    request_bounds_table       the same for a terminal

    write_report               everything about a result, into a folder
    write_page                 one HTML page

Names are imported when they are used, so that a program that only simulates does not load matplotlib.
"""

from typing import TYPE_CHECKING

from outlay import lazily

if TYPE_CHECKING:
    from outlay.report.bounds import bounds_table, problem_bounds, request_bounds, request_bounds_table
    from outlay.report.figures import bounds_figure, rate_box_figure, regret_figure
    from outlay.report.page import write_page, write_report
    from outlay.report.regret import regret_table, table
    from outlay.report.runs import distribution_figure, pulls_figure, reward_figure
    from outlay.report.style import save_figure

__all__ = [
    "bounds_figure", "bounds_table", "distribution_figure", "problem_bounds", "pulls_figure", "rate_box_figure",
    "regret_figure", "regret_table", "request_bounds", "request_bounds_table", "reward_figure", "save_figure", "table",
    "write_page", "write_report",
]  # fmt: skip

__getattr__, __dir__ = lazily(
    __name__,
    {
        "outlay.report.bounds": "bounds_table problem_bounds request_bounds request_bounds_table",
        "outlay.report.figures": "bounds_figure rate_box_figure regret_figure",
        "outlay.report.page": "write_page write_report",
        "outlay.report.regret": "regret_table table",
        "outlay.report.runs": "distribution_figure pulls_figure reward_figure",
        "outlay.report.style": "save_figure",
    },
)
