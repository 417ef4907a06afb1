"""What a log of past pulls says about spending the next budget: rates, tails, drift, a rehearsal, and what to run.

Names are imported when they are used, so that `outlay advise --help` is quick.
"""

from typing import TYPE_CHECKING

from outlay import lazily

if TYPE_CHECKING:
    from outlay.advice.advice import advise
    from outlay.advice.records import ArmAdvice, Caution, Terms
    from outlay.advice.rehearsal import Candidate, Rehearsal
    from outlay.advice.serving import Serving
    from outlay.advice.shown import Advice

__all__ = ["Advice", "ArmAdvice", "Candidate", "Caution", "Rehearsal", "Serving", "Terms", "advise"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "outlay.advice.advice": "advise",
        "outlay.advice.records": "ArmAdvice Caution Terms",
        "outlay.advice.rehearsal": "Candidate Rehearsal",
        "outlay.advice.serving": "Serving",
        "outlay.advice.shown": "Advice",
    },
)
