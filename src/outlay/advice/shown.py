"""Advice that shows itself: in a notebook, on a terminal, as figures and as a page."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from outlay.advice.records import Findings
from outlay.text import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console, ConsoleOptions, RenderResult

    from outlay.report.style import Width


class Advice(Findings):
    """What a log says about each arm and about policies rehearsed on it, what to run, and what to watch out for.

    `policy` is for a campaign with the arms in `remaining`; `code` is Python that opens it. In a notebook and with
    `rich.print` it shows its tables; `print` says its answer; `save` writes a page.
    """

    __slots__ = ()

    @property
    def answer(self) -> list[str]:
        """The answer in a few sentences."""
        from outlay.advice.telling.answer import answer

        return answer(self)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write it as one HTML page, with figures and nothing to load from elsewhere; return its path."""
        from outlay.advice.telling.page import save_page

        return save_page(self, path)

    def rates_figure(self, width: "Width" = "page") -> "Figure":
        """The arms' rates with their intervals; "page" is 7 inches wide, "column" 3.3."""
        from outlay.advice.telling.charts import rate_dots
        from outlay.advice.telling.figures import dots_figure

        return dots_figure(rate_dots(self), width)

    def rewards_figure(self, width: "Width" = "page") -> "Figure":
        """What the policies earned in the rehearsal, beside what the best arm alone would."""
        from outlay.advice.telling.charts import reward_dots
        from outlay.advice.telling.figures import dots_figure
        from outlay.errors import BadParameter

        if self.rehearsal is None:
            raise BadParameter("rewards_figure", "advice", "one with a rehearsal", "one without")
        return dots_figure(reward_dots(self.rehearsal), width)

    def hull_figure(self, width: "Width" = "page") -> "Figure":
        """What a request brings against what there is to spend on it, where a number of requests was given."""
        from outlay.advice.telling.hull_figure import hull_figure
        from outlay.errors import BadParameter

        if self.serving is None:
            raise BadParameter("hull_figure", "advice", "one with requests", "one without")
        return hull_figure(self, self.serving, width)

    def __repr__(self) -> str:
        """In a line: the log, the best arm, how many are left, and the policy."""
        from outlay.advice.telling.code import call

        left = f"{self.best.name!r} best so far, {len(self.remaining)} of {counted(len(self.arms), 'arm')} left"
        return f"<Advice on {Path(self.log).name}: {left}, to be run with {call(self.policy, brief=True)}>"

    def __str__(self) -> str:
        """The answer, a sentence to a line."""
        return "\n".join(self.answer)

    def _repr_html_(self) -> str:
        from outlay.advice.telling.notebook import html_of

        return html_of(self)

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        """The tables and sentences, on as many columns as there are."""
        from rich.text import Text

        from outlay.advice.telling.tables import advice_tables

        yield advice_tables(self, options.max_width)
        yield Text()
        for sentence in self.answer:
            yield Text(sentence)
        yield Text(f"\n{self.code}")
