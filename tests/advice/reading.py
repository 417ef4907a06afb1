"""Advice for tests, and what it says."""

from typing import Any

from outlay.advice import Advice
from outlay.advice import advise as library_advise


def advise(*arguments: Any, **options: Any) -> Any:
    """As it is, with fields that mypy need not know to be there."""
    return library_advise(*arguments, **options)


def kinds(advice: Advice) -> list[str]:
    return [caution.kind for caution in advice.cautions]


def said(advice: Advice, kind: str) -> str:
    return next(caution.sentence for caution in advice.cautions if caution.kind == kind)
