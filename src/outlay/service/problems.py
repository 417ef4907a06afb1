"""Why a request is refused: every error of the library, and every rule of the service, as a problem of RFC 9457.

A code stays the same from version to version, so that programs can rely on it. What an error says is passed on where it
speaks of the request; where it could speak of files or databases, only the log has it.
"""

import math
from typing import Any

import msgspec

from outlay import errors
from outlay.service.schemas import ProblemDetails

MEDIA = "application/problem+json"

KINDS = {  # by code: the status and the title
    "bad_json": (400, "The body is not JSON."),
    "bad_headers": (400, "A header that may stand once stands twice."),
    "bad_host": (400, "The service is not called by this name."),
    "no_key": (401, "A valid key is needed."),
    "forbidden": (403, "The key does not allow this."),
    "bad_origin": (403, "Pages of other sites may not do this."),
    "not_found": (404, "There is nothing here."),
    "no_template": (404, "There is no such template."),
    "no_campaign": (404, "There is no such campaign."),
    "no_pull": (404, "The campaign has no such pull."),
    "method_not_allowed": (405, "This method is not allowed here."),
    "conflict": (409, "The ledger says otherwise, and it stands."),
    "pull_over": (409, "The pull of this key is over."),
    "over_budget": (409, "This call can cost more than is left."),
    "nothing_told": (409, "No cost is known until somebody tells one."),
    "too_large": (413, "The body is too large."),
    "not_json": (415, "The body must be application/json."),
    "bad_request": (422, "The request says something that is not allowed."),
    "not_now": (429, "No pull can be named at the moment."),
    "too_many_failures": (429, "Too many requests without a valid key."),
    "internal": (500, "Something went wrong here."),
    "not_installed": (501, "The service lacks a package for this."),
    "busy": (503, "The service has too much to do."),
    "store_busy": (503, "The store did not answer in time."),
    "store_error": (503, "The store cannot be read or written."),
}


class Refused(Exception):
    """The service refuses a request."""

    def __init__(self, code: str, detail: str = "", retry_after: float | None = None, allow: str = "") -> None:
        super().__init__(code, detail, retry_after, allow)
        self.code, self.detail, self.retry_after, self.allow = code, detail, retry_after, allow


class NoTemplate(errors.NoCampaign):
    """There is no template of this name."""


def problem(code: str, detail: str = "", retry_after: float | None = None, **more: Any) -> ProblemDetails:
    """The problem with this code."""
    status, title = KINDS[code]
    return ProblemDetails(f"urn:outlay:{code}", title, status, code, detail, retry_after=retry_after, **more)


def problem_of(error: BaseException) -> ProblemDetails:
    """The problem that the caller is told for an error."""
    match error:
        case Refused():
            return problem(error.code, error.detail, error.retry_after)
        case errors.PullOver():
            return problem("pull_over", str(error), pull=error.pull)
        case errors.NothingTold():
            return problem("nothing_told", str(error), arms=list(error.arms))
        case errors.OverBudget():
            return problem("over_budget", str(error), error.retry_after, most=error.most, left=error.left)
        case errors.CampaignConflict():
            return problem("conflict", str(error))
        case errors.QueueFull():
            return problem("busy", error.reason, error.retry_after)
        case errors.NotNow():
            return problem("not_now", error.reason, error.retry_after)
        case errors.UnknownPull():
            return problem("no_pull", str(error))
        case errors.MissingExtra():
            return problem("not_installed", str(error))
        case errors.BadParameter() | msgspec.ValidationError():
            return problem("bad_request", str(error))
        case msgspec.DecodeError() | RecursionError() | UnicodeError():
            return problem("bad_json")
        case NoTemplate():
            return problem("no_template")
        case errors.NoCampaign():
            return problem("no_campaign")
        case errors.StoreBusy():
            return problem("store_busy", retry_after=1.0)
        case errors.StoreError():
            return problem("store_error", retry_after=1.0)
    return problem("internal")


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
