"""Advice as JSON, for scripts."""

import math

from outlay.advice.records import Findings
from outlay.advice.telling.answer import answer
from outlay.parameters import is_record
from outlay.policies.protocol import as_data, is_policy

Json = object  # text, numbers, truth values, None, and lists and dicts of them


def data_of(advice: Findings) -> dict[str, Json]:
    """Objects, lists, text and numbers; what is infinite or unknown is null."""
    found = {name: _plain(value) for name, value in advice._asdict().items()}
    return found | {"answer": answer(advice), "remaining": advice.remaining}


def _plain(value: object) -> Json:
    if is_policy(value):
        return _plain(as_data(value))
    if is_record(value):
        value = value._asdict()  # type: ignore[attr-defined]
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
