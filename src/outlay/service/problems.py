"""Why a request is refused: every error of the library, and every rule of the service, as a problem of RFC 9457.

A code stays the same from version to version, so that programs can rely on it. What an error says is passed on where it
speaks of the request; where it could speak of files or databases, only the log has it.
"""

import math
from typing import NamedTuple

import msgspec

from outlay import errors
from outlay.service import schemas
from outlay.service.schemas import ProblemDetails

MEDIA = "application/problem+json"


class Kind(NamedTuple):
    """A kind of refusal."""

    status: int
    title: str


KINDS = {
    "bad_json": Kind(400, "The body is not JSON."),
    "bad_host": Kind(400, "The service is not called by this name."),
    "no_key": Kind(401, "A valid key is needed."),
    "forbidden": Kind(403, "The key does not allow this."),
    "bad_origin": Kind(403, "Pages of other sites may not do this."),
    "not_found": Kind(404, "There is nothing here."),
    "no_campaign": Kind(404, "There is no such campaign."),
    "no_pull": Kind(404, "The campaign has no such pull."),
    "method_not_allowed": Kind(405, "This method is not allowed here."),
    "conflict": Kind(409, "The ledger says otherwise, and it stands."),
    "pull_over": Kind(409, "The pull of this key is over."),
    "nothing_told": Kind(409, "No cost is known until somebody tells one."),
    "too_large": Kind(413, "The body is too large."),
    "not_json": Kind(415, "The body must be application/json."),
    "bad_request": Kind(422, "The request says something that is not allowed."),
    "not_now": Kind(429, "No pull can be named at the moment."),
    "too_many_failures": Kind(429, "Too many requests without a valid key."),
    "internal": Kind(500, "Something went wrong here."),
    "not_installed": Kind(501, "The service lacks a package for this."),
    "busy": Kind(503, "The service has too much to do."),
    "store_busy": Kind(503, "The store did not answer in time."),
    "store_error": Kind(503, "The store cannot be read or written."),
}


class Refused(Exception):
    """A request is refused by a rule of the service."""

    def __init__(self, code: str, detail: str = "", retry_after: float | None = None, allow: str = "") -> None:
        super().__init__(code, detail, retry_after, allow)
        self.code, self.detail, self.retry_after, self.allow = code, detail, retry_after, allow


def problem(code: str, detail: str = "", retry_after: float | None = None) -> ProblemDetails:
    """The problem of this code.

    >>> problem("no_key").status
    401
    """
    kind = KINDS[code]
    return ProblemDetails(f"urn:outlay:{code}", kind.title, kind.status, code, detail, retry_after=retry_after)


def problem_of(error: BaseException) -> ProblemDetails:
    """The problem that an error is to whoever asked.

    >>> problem_of(errors.NotNow("4 pulls are under way", 0.25)).retry_after
    0.25
    """
    if isinstance(error, Refused):
        return problem(error.code, error.detail, error.retry_after)
    if isinstance(error, errors.PullOver):
        found = problem("pull_over", str(error))
        found.pull = None if error.pull is None else schemas.pull(error.pull)
        return found
    if isinstance(error, errors.NothingTold):
        found = problem("nothing_told", str(error))
        found.arms = list(error.arms)
        return found
    if isinstance(error, errors.QueueFull):
        return problem("busy", error.reason, error.retry_after)
    if isinstance(error, errors.NotNow):
        return problem("not_now", error.reason, error.retry_after)
    if isinstance(error, errors.StoreBusy):
        return problem("store_busy", retry_after=1.0)
    for kind, code in SAID.items():
        if isinstance(error, kind):
            return problem(code, str(error))
    for kind, code in UNSAID.items():
        if isinstance(error, kind):
            return problem(code, retry_after=1.0 if code == "store_error" else None)
    return problem("internal")


# In this order: an error is what the first of its kinds says.
SAID: dict[type[BaseException], str] = {
    errors.CampaignConflict: "conflict",
    errors.UnknownPull: "no_pull",
    errors.MissingExtra: "not_installed",
    errors.BadParameter: "bad_request",
    msgspec.ValidationError: "bad_request",
}
UNSAID: dict[type[BaseException], str] = {
    msgspec.DecodeError: "bad_json",
    RecursionError: "bad_json",
    UnicodeError: "bad_json",
    errors.NoCampaign: "no_campaign",
    errors.StoreError: "store_error",
}


def headers_of(error: BaseException, found: ProblemDetails) -> dict[str, str]:
    """The headers that go with a problem."""
    headers = {"content-type": MEDIA}
    if found.retry_after is not None:
        headers["retry-after"] = str(max(1, math.ceil(found.retry_after)))
    if found.status == 401:
        headers["www-authenticate"] = "Bearer"
    if isinstance(error, Refused) and error.allow:
        headers["allow"] = error.allow
    return headers
