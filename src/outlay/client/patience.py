"""How a request is tried again: when that may help, after which pause, and for how long."""

import random
import time
from typing import Any

import httpx2
import msgspec

from outlay import errors
from outlay.client.answers import Json, error
from outlay.client.requests import Request, encoded

FIRST, LONGEST = 0.1, 10.0  # seconds of a pause, before its random part is taken
BUSY = (502, 503, 504)


class Attempts:
    """The attempts at one request: `told` or `failed` after each says what comes of it, or how long to wait."""

    def __init__(self, request: Request, address: str, campaign: str, patience: float) -> None:
        self._request, self._address, self._campaign = request, address, campaign
        self._end = time.monotonic() + patience
        self._pause = FIRST

    def arguments(self, timeout: float) -> Json:
        """What to send, as httpx takes it."""
        request = self._request
        found: Json = {
            "method": request.method,
            "url": request.path,
            "params": request.query,
            "timeout": timeout + request.seconds,
        }
        if request.body is not None:
            found |= {"content": encoded(request.body), "headers": {"content-type": "application/json"}}
        return found

    def told(self, answer: httpx2.Response) -> tuple[Any, float | None]:
        """What the service said, or the seconds after which to ask it again; what it refuses is raised."""
        if answer.status_code < 400:
            is_json = answer.headers.get("content-type", "") == "application/json"
            return msgspec.json.decode(answer.content) if is_json else answer.content, None
        problem = _problem(answer)
        if answer.status_code in BUSY:
            after = answer.headers.get("retry-after", "")
            pause = self._next(float(after) if after.isdigit() else 0.0)
            if pause is not None:
                return None, pause
            if problem["code"] not in ("store_busy", "store_error"):
                raise errors.Unreachable(self._address, problem.get("detail") or problem["code"])
        body = self._request.body
        raise error(problem, self._campaign, body.get("key") if isinstance(body, dict) else None)

    def failed(self, cause: httpx2.TransportError) -> float:
        """The seconds after which to try again; Unreachable where that has been tried for long."""
        pause = self._next(0.0)
        if pause is not None:
            return pause
        raise errors.Unreachable(self._address, str(cause) or type(cause).__name__) from cause

    def _next(self, at_least: float) -> float | None:
        """The next pause: at random, so that a thousand clients do not come back at once; None where time is up."""
        pause = at_least + random.uniform(0, self._pause)  # noqa: S311 (no secret)
        self._pause = min(LONGEST, 2 * self._pause)
        return pause if time.monotonic() + pause < self._end else None


def _problem(answer: httpx2.Response) -> Json:
    """What is wrong, as the service says it; a proxy in between may say something else."""
    try:
        said = msgspec.json.decode(answer.content)
    except msgspec.DecodeError:
        said = None
    if isinstance(said, dict) and isinstance(said.get("code"), str):
        return said
    return {"code": f"http_{answer.status_code}", "detail": answer.reason_phrase}
