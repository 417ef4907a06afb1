"""What advice is made of."""

from typing import NamedTuple

from outlay.advice.evidence.drift import Change, Course
from outlay.advice.evidence.rates import BEST, FREE, OUT, Interval
from outlay.advice.evidence.tails import Tail
from outlay.advice.rehearsal import Rehearsal
from outlay.beliefs import Belief
from outlay.policies.protocol import Policy


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
    course: Course  # of its rate along the file, and whether one of these changes raises an alarm
    verdict: str  # best so far, open, ruled out, behind, free
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


class Advice(NamedTuple):
    """What a log says about each arm and about policies rehearsed on it, what to run, and what to watch out for.

    `policy` is for a campaign with the arms in `remaining`; `code` is Python that opens it.
    """

    log: str
    rows: int
    left_out: int  # rows with an empty cell
    budget: float
    confidence: float
    arms: list[ArmAdvice]
    cautions: list[Caution]
    rehearsal: Rehearsal | None  # of several policies on all arms; None for one arm, or where it was not wanted
    campaign: Rehearsal | None  # of `policy` on the remaining arms
    policy: Policy
    reason: str
    code: str

    @property
    def best(self) -> ArmAdvice:
        """The arm with the largest rate so far."""
        return next(arm for arm in self.arms if arm.verdict == BEST)

    @property
    def remaining(self) -> list[str]:
        """The arms worth a campaign: those that are neither ruled out nor free."""
        return [arm.name for arm in self.arms if arm.verdict not in (OUT, FREE)]
