"""What a log of past pulls says about spending the next budget: rates, tails, drift, a rehearsal, and what to run.

Names are looked up when used, so that `outlay advise --help` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from outlay.advice.advice import advise
    from outlay.advice.records import Advice, ArmAdvice, Caution
    from outlay.advice.rehearsal import Candidate, Rehearsal

__all__ = ["Advice", "ArmAdvice", "Candidate", "Caution", "Rehearsal", "advise"]

_HOMES = {
    "Advice": "records",
    "ArmAdvice": "records",
    "Candidate": "rehearsal",
    "Caution": "records",
    "Rehearsal": "rehearsal",
    "advise": "advice",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
