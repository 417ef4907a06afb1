"""Results as pictures, tables and pages: numbers first (curves, rows), then drawing.

Names are looked up when used, so that a program that only simulates does not load matplotlib.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bursar.report.figures import regret_figure
    from bursar.report.page import write_page
    from bursar.report.tables import regret_table

__all__ = ["regret_figure", "regret_table", "write_page"]

_HOMES = {"regret_figure": "figures", "regret_table": "tables", "write_page": "page"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
