"""What a log of past pulls says about spending the next budget: rates, tails, drift, a rehearsal, and what to run.

Names are imported when they are used, so that `outlay advise --help` is quick.
"""

from typing import TYPE_CHECKING

from outlay import lazily

if TYPE_CHECKING:
    from outlay.advice.advice import advise
    from outlay.advice.contexts import Contexts
    from outlay.advice.findings import Advice, ArmAdvice, Caution, ComparisonTerms
    from outlay.advice.rehearsal import Candidate, Rehearsal
    from outlay.advice.requests import Serving

__all__ = [
    "Advice", "ArmAdvice", "Candidate", "Caution", "ComparisonTerms", "Contexts", "Rehearsal", "Serving", "advise",
]  # fmt: skip

__getattr__, __dir__ = lazily(
    __name__,
    {
        "outlay.advice.advice": "advise",
        "outlay.advice.contexts": "Contexts",
        "outlay.advice.findings": "Advice ArmAdvice Caution ComparisonTerms",
        "outlay.advice.rehearsal": "Candidate Rehearsal",
        "outlay.advice.requests": "Serving",
    },
)
