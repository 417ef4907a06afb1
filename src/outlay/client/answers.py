"""Answers of the service as the library's records, and its refusals as the library's errors."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from outlay import errors
from outlay.campaign.reasons import Outlook
from outlay.campaign.records import ArmExact, ArmStatus, Entry, Exact, Pull, PullStatus, Receipt, Status, WindowStatus

Json = dict[str, Any]


def pull(said: Json) -> Pull:
    """A pull."""
    fields = {name: value for name, value in said.items() if name in Pull._fields}
    return Pull(decision=said["pull"], **{**fields, "expires": _time(said["expires"])})


def receipt(said: Json) -> Receipt:
    """A receipt."""
    fields = {name: value for name, value in said.items() if name in Receipt._fields}
    return Receipt(decision=said["pull"], **fields)


def status(said: Json, arms: list[Json]) -> Status:
    """A status, with these arms."""
    fields = {name: value for name, value in said.items() if name in Status._fields}
    fields["exact"] = Exact(**{name: Decimal(text) for name, text in said["exact"].items()})
    fields["outlook"] = None if said["outlook"] is None else Outlook(**said["outlook"])
    if (window := said["window"]) is not None:
        fields["window"] = WindowStatus(**{**window, "start": _time(window["start"]), "end": _time(window["end"])})
    fields["arms"] = tuple(
        ArmStatus(**{**arm, "exact": ArmExact(**{name: Decimal(text) for name, text in arm["exact"].items()})})
        for arm in arms
    )
    return Status(**fields)


def pull_status(said: Json) -> PullStatus:
    """How a pull stands."""
    fields = {name: value for name, value in said.items() if name in PullStatus._fields}
    fields |= {"asked": _time(said["asked"]), "expires": _time(said["expires"]), "tags": tuple(said["tags"])}
    return PullStatus(decision=said["pull"], **fields)


def entry(said: Json) -> Entry:
    """An event."""
    fields = {name: value for name, value in said.items() if name in Entry._fields}
    return Entry(decision=said["pull"], **{**fields, "at": _time(said["at"])})


def error(problem: Json, campaign: str, key: str | None = None) -> errors.OutlayError:
    """The error that a problem is.

    >>> print(error({"code": "not_now", "detail": "the campaign is paused", "retry_after": 1.0}, "spring"))
    the campaign is paused: ask again in 1 s
    """
    code, detail = problem["code"], problem.get("detail") or problem.get("title", "")
    if code == "not_now":
        return errors.NotNow(detail, problem["retry_after"])
    if code == "pull_over" and problem.get("pull") is not None:
        over = pull(problem["pull"])
        return errors.PullOver(key or "", over.decision, over.standing, over)
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


def _time(text: str | None) -> Any:
    return None if text is None else datetime.fromisoformat(text)
