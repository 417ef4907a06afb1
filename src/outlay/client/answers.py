"""The refusals of the service as the library's errors."""

from typing import Any

import msgspec

from outlay import errors
from outlay.campaign.records import Pull

Json = dict[str, Any]


def error(problem: Json, campaign: str, key: str | None = None) -> errors.OutlayError:
    """The error that a problem is.

    >>> print(error({"code": "not_now", "detail": "the campaign is paused", "retry_after": 1.0}, "spring"))
    the campaign is paused: ask again in 1 s
    """
    code, detail = problem["code"], problem.get("detail") or problem.get("title", "")
    if code == "not_now":
        return errors.NotNow(detail, problem["retry_after"])
    if code == "pull_over" and problem.get("pull") is not None:
        over = msgspec.convert(problem["pull"], Pull)
        return errors.PullOver(key or "", over.id, over.status, over)
    if code == "nothing_told":
        return errors.NothingTold(problem.get("arms") or [])
    if code in _BY_CODE:
        return _BY_CODE[code](detail)
    if code == "no_campaign":
        return errors.NoCampaign(f"the service has no campaign {campaign!r}, or the key may not see it")
    return errors.ServiceError(code, detail)


_BY_CODE: dict[str, type[errors.OutlayError]] = {
    "conflict": errors.CampaignConflict,
    "store_busy": errors.StoreBusy,
    "store_error": errors.StoreError,
}
