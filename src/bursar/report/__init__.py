"""Results as pictures, tables and pages: numbers first (curves, rows), then drawing.

Names are looked up when used, so that a program that only simulates does not load matplotlib.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bursar.report.bounds import problem_bounds
    from bursar.report.figures import bounds_figure, regret_figure
    from bursar.report.page import write_page
    from bursar.report.rate_box import rate_box_figure
    from bursar.report.table_of_bounds import bounds_table
    from bursar.report.tables import regret_table

__all__ = [
    "bounds_figure", "bounds_table", "problem_bounds", "rate_box_figure", "regret_figure", "regret_table", "write_page",
]  # fmt: skip

_HOMES = {
    "bounds_figure": "figures",
    "bounds_table": "table_of_bounds",
    "problem_bounds": "bounds",
    "rate_box_figure": "rate_box",
    "regret_figure": "figures",
    "regret_table": "tables",
    "write_page": "page",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
