"""Advice as JSON can say it: for scripts."""

import math
from typing import Any

from outlay.advice.records import Advice
from outlay.advice.telling.answer import answer
from outlay.parameters import is_record
from outlay.policies.protocol import as_data, kind_of


def data_of(advice: Advice) -> dict[str, Any]:
    """Objects, lists, text and numbers; what is infinite or unknown is null."""
    found: dict[str, Any] = _plain(advice)
    found["answer"] = answer(advice)
    found["remaining"] = advice.remaining
    return found


def _plain(value: Any) -> Any:
    if kind_of(value) is not None:
        return _plain(as_data(value))
    if is_record(value):
        value = value._asdict()
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
