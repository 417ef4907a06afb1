"""What advice is made of."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from outlay.advice.comparison import Merit, Versus
from outlay.advice.contexts import Contexts
from outlay.advice.rehearsal import Rehearsal
from outlay.advice.requests import Serving
from outlay.advice.summary import BEST, FREE, OUT, UNRANKED, Change, Course, Interval, Tail
from outlay.beliefs import Belief
from outlay.errors import BadParameter
from outlay.policies.protocol import Policy
from outlay.text import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console, ConsoleOptions, RenderResult

    from outlay.report.style import Width


class Latest(NamedTuple):
    """The rate of an arm in the last eighth of the log."""

    rate: float
    interval: Interval  # for this arm and this part alone, with the confidence asked for
    rows: int


class ArmAdvice(NamedTuple):
    """One arm of a log."""

    name: str
    belief: Belief  # rows, means, variances (1/n) and covariance
    rate: float | None  # mean reward ÷ mean cost; None where the mean cost is not above 0
    interval: Interval  # of the rate; those of all arms hold together with the confidence asked for
    correlation: float | None  # of cost and reward; None where one of them never varies
    tail: Tail  # of the costs
    cost_change: Change | None  # along the file; None for few rows
    reward_change: Change | None
    course: Course  # of its rate over time, and whether one of these changes raises an alarm
    latest: Latest | None  # None where it has few rows in the last eighth of the log, or time is not known
    versus: Versus | None  # the difference to the best arm on equal terms; None for that one, and where none is known
    below: list[str]  # the arms that it is below beyond chance
    verdict: str  # best so far, open, ruled out, behind, free, too few rows
    costs: Interval  # lowest and highest
    rewards: Interval
    zero_costs: int  # rows
    negative_costs: int

    @property
    def rows(self) -> int:
        """How many rows of the log are of this arm."""
        return self.belief.pulls


class Caution(NamedTuple):
    """Something to watch out for, in one sentence."""

    kind: str
    sentence: str


class ComparisonTerms(NamedTuple):
    """How the arms were compared, and what that is worth."""

    basis: str  # the whole log, equal times, or the same instances
    apart: bool  # whether arms were used at different times
    apart_chance: float | None  # of so uneven a use by accident; None where it was not tested
    timed: bool  # whether times come from a column; else they are the order of the rows
    dated: str | None  # that column, where nobody named it and its cells are dates
    by_arm: bool  # whether the rows are sorted by arm, so that their order says nothing about time
    bins: int  # into which time was cut, where arms are compared at equal times
    never_together: int  # pairs of arms that were never used at the same time
    instance: str | None  # the column whose values all arms were tried on
    instances: int  # how many, where arms are compared on them
    all_instances: int  # that any arm was tried on
    correlation: float | None  # of the best arm with the others over instances, the median
    merit: Merit


class Advice(NamedTuple):
    """What a log says about each arm and about policies rehearsed on it, what to run, and what to watch out for.

    `policy` is for a campaign with the arms in `remaining`; `code` is Python that opens it. In a notebook and with
    `rich.print` it shows its tables; `print` says its answer; `save` writes a page.
    """

    log: str
    cost_name: str  # what the columns of costs and rewards are called
    reward_name: str
    rows: int
    left_out: int  # rows with an empty cell
    budget: float
    confidence: float
    arms: list[ArmAdvice]
    terms: ComparisonTerms
    cautions: list[Caution]
    rehearsal: Rehearsal | None  # of several policies on all arms; None for one arm, or where it was not wanted
    campaign: Rehearsal | None  # of `policy` on the remaining arms
    policy: Policy
    reason: str
    code: str
    serving: Serving | None = None  # where there is a number of requests to serve
    contexts: Contexts | None = None  # whether they would pay, where some were named

    @property
    def best(self) -> ArmAdvice:
        """The arm that no other beats on equal terms, or that loses least clearly."""
        return next(arm for arm in self.arms if arm.verdict == BEST)

    @property
    def remaining(self) -> list[str]:
        """The arms worth a campaign: those that are neither ruled out nor free; with requests, those of the hull.

        Arms with too few rows to be ranked are among them.
        """
        if self.serving is not None:
            return self.serving.remaining + [arm.name for arm in self.arms if arm.verdict == UNRANKED]
        return [arm.name for arm in self.arms if arm.verdict not in (OUT, FREE)]

    @property
    def answer(self) -> list[str]:
        """The answer in a few sentences."""
        from outlay.advice.answer import answer

        return answer(self)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write it as one HTML page, with figures and nothing to load from elsewhere; return its path."""
        from outlay.advice.advice_page import save_page

        return save_page(self, path)

    def rates_figure(self, width: "Width" = "page") -> "Figure":
        """The arms' rates with their intervals; "page" is 7 inches wide, "column" 3.3."""
        from outlay.advice.advice_page import dots_figure, rate_dots

        return dots_figure(rate_dots(self), width)

    def rewards_figure(self, width: "Width" = "page") -> "Figure":
        """What the policies earned in the rehearsal, beside what the best arm alone would."""
        from outlay.advice.advice_page import dots_figure, reward_dots

        if self.rehearsal is None:
            raise BadParameter("rewards_figure", "advice", "one with a rehearsal", "one without")
        return dots_figure(reward_dots(self.rehearsal), width)

    def hull_figure(self, width: "Width" = "page") -> "Figure":
        """What a request brings against what there is to spend on it, where a number of requests was given."""
        from outlay.advice.advice_page import hull_figure

        if self.serving is None:
            raise BadParameter("hull_figure", "advice", "one with requests", "one without")
        return hull_figure(self, self.serving, width)

    def __repr__(self) -> str:
        from outlay.advice.answer import call

        left = f"{self.best.name!r} best so far, {len(self.remaining)} of {counted(len(self.arms), 'arm')} left"
        return f"<Advice on {Path(self.log).name}: {left}, to be run with {call(self.policy, brief=True)}>"

    def __str__(self) -> str:
        return "\n".join(self.answer)

    def _repr_html_(self) -> str:
        from outlay.advice.advice_page import html_of

        return html_of(self)

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        """The tables and sentences, on as many columns as there are."""
        from rich.text import Text

        from outlay.advice.answer import advice_tables

        yield advice_tables(self, options.max_width)
        yield Text()
        for sentence in self.answer:
            yield Text(sentence)
        yield Text(f"\n{self.code}")
