"""What can go wrong, as one tree.

OutlayError
├── BadParameter (also a ValueError)    a parameter has a value that is not allowed; nothing was done
├── BadCode (also a TypeError)          a policy or law of the user's fails, or returns what it must not
├── BadFile (also a ValueError)         a file cannot be read or written, or is not what it should be (broken TOML)
├── NotCovered (also a ValueError)      no result of the theory covers this case
├── MissingExtra (also an ImportError)  a package is not installed; the message names the extra that brings it
├── RunTooLong (also a RuntimeError)    a run made `max_pulls` pulls and had not spent its budget
├── CampaignConflict                    the ledger says otherwise, and it stands; nothing was written
│   ├── PullOver                        a key was asked for again whose pull is over
│   └── NothingTold                     first pulls have ended untold, and no cost of their arms is known
├── NotNow                              no pull can be named now: ask again later; nothing was written
│   └── QueueFull                       too much waits to be written: try again later
├── OverBudget                          this call can cost more than is left; a smaller one may fit
├── BudgetSpent                         the campaign has ended, and there is no fallback: no call is made any more
├── UnknownArm (a KeyError, IndexError) the problem has no arm of this name, or at this position
├── UnknownPull (also a KeyError)       the campaign has no pull of this number or key
├── ServiceError                        the service refused a request; `code` says why
│   └── Unreachable (also an OSError)   it did not answer; what was sent may have been done, and may be sent again
└── StoreError (also an OSError)        a ledger cannot be read or written; nothing was acknowledged
    ├── NoCampaign                      there is no such campaign, or no ledger at all
    └── StoreBusy                       others hold the ledger, or it does not answer in time; try again

InterpretedWarning (a RuntimeWarning)   a policy or law could not be compiled and runs interpreted

Each carries its facts as attributes, and its message is one sentence that a user can act on.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

# The extra that brings a package. `pip install outlay` is enough for campaigns, laws, policies and `outlay campaign`;
# what simulates needs `simulate`, what draws figures and writes pages `report`, which includes it.
EXTRA_OF = {
    "numba": "simulate",
    "pandas": "simulate",
    "pyarrow": "simulate",
    "scipy": "simulate",
    "jinja2": "report",
    "matplotlib": "report",
    "httptools": "serve",
    "starlette": "serve",
    "uvicorn": "serve",
    "prometheus_client": "serve",
    "httpx2": "client",
    "litellm": "litellm",
    "optuna": "optuna",
}


class OutlayError(Exception):
    """Anything outlay raises on purpose."""


class BadParameter(OutlayError, ValueError):
    """A parameter has a value that is not allowed.

    >>> print(BadParameter("UCBB1", "alpha", "> 2", 1.5))
    alpha of UCBB1 must be > 2; got 1.5
    """

    def __init__(self, owner: str, name: str, allowed: str, got: object) -> None:
        super().__init__(owner, name, allowed, got)
        self.owner, self.name, self.allowed, self.got = owner, name, allowed, got

    def __str__(self) -> str:
        return f"{self.name} of {self.owner} must be {self.allowed}; got {_shown(self.got)}"


class BadCode(OutlayError, TypeError):
    """A policy or law of yours fails, or returns what it must not; the message names its class, method and line."""


class BadFile(OutlayError, ValueError):
    """A file cannot be read or written, or a file or text is not in the format it should be in."""


class NotCovered(OutlayError, ValueError):
    """No result of the theory covers this case; the message names the assumption that fails."""


class MissingExtra(OutlayError, ImportError):
    """A package that this needs is not installed.

    >>> print(MissingExtra("simulate", "numba", "simulate"))
    simulate needs numba: pip install 'outlay[simulate]'
    """

    def __init__(self, owner: str, package: str, extra: str) -> None:
        super().__init__(owner, package, extra)
        self.owner, self.package, self.extra = owner, package, extra

    def __str__(self) -> str:
        return f"{self.owner} needs {self.package}: pip install 'outlay[{self.extra}]'"


class RunTooLong(OutlayError, RuntimeError):
    """A run reached `max_pulls` before it had spent its budget."""

    def __init__(self, policy: str, run: int, pulls: int, spent: float, budget: float) -> None:
        super().__init__(policy, run, pulls, spent, budget)
        self.policy, self.run, self.pulls, self.spent, self.budget = policy, run, pulls, spent, budget

    def __str__(self) -> str:
        return (
            f"run {self.run} of {self.policy} made max_pulls = {self.pulls} pulls and spent {self.spent:.6g} of its "
            f"budget {self.budget:.6g}: raise max_pulls, lower the budget, or check that mean costs are not near zero"
        )


class CampaignConflict(OutlayError):
    """The ledger says otherwise: other terms, another outcome, another use of a key. What it says stands."""


class PullOver(CampaignConflict):
    """A key was asked for again whose pull is over, so no work must be done for it; a new pull needs a new key.

    `pull` is the pull, with its `status`: "told", "cancelled" or "expired". One that has expired can still be told.

    >>> print(PullOver("job 17", 4, "told"))
    pull 4, of key 'job 17', is over (told): ask with another key for a new one
    """

    def __init__(self, key: str, number: int, status: str, pull: Any = None) -> None:
        super().__init__(key, number, status, pull)
        self.key, self.id, self.status, self.pull = key, number, status, pull

    def __str__(self) -> str:
        return f"pull {self.id}, of key {self.key!r}, is over ({self.status}): ask with another key for a new one"


class NothingTold(CampaignConflict):
    """No arm can be named until somebody tells: of no arm a cost is known, and its first pulls have ended untold.

    Waiting does not help: nothing is under way. `arms` are the names of those arms.

    >>> print(NothingTold(["small", "large"]))
    nobody told what a pull of 'small' or 'large' cost: tell one, or open a campaign with max_cost, or a reservation
    """

    def __init__(self, arms: Sequence[str]) -> None:
        super().__init__(arms)
        self.arms = arms

    def __str__(self) -> str:
        more = [f"{len(self.arms) - 3} more"] if len(self.arms) > 4 else []
        names = [*map(repr, self.arms[: 3 if more else 4]), *more]
        which = " or ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
        advice = "tell one, or open a campaign with max_cost, or a reservation"
        return f"nobody told what a pull of {which} cost: {advice}"


class NotNow(OutlayError):
    """No pull can be named now; ask again in `retry_after` seconds.

    >>> print(NotNow("4 pulls are under way, and max_in_flight is 4", 0.25))
    4 pulls are under way, and max_in_flight is 4: ask again in 0.25 s
    """

    def __init__(self, reason: str, retry_after: float) -> None:
        super().__init__(reason, retry_after)
        self.reason, self.retry_after = reason, retry_after

    def __str__(self) -> str:
        return f"{self.reason}: ask again in {_span(self.retry_after)}"


class QueueFull(NotNow):
    """Too many commands wait to be written; try again in `retry_after` seconds, whatever it was."""


class UnknownArm(OutlayError, KeyError, IndexError):
    """The problem has no such arm; it can be caught as the error that a dict or a list would raise.

    >>> print(UnknownArm(7, "it has 4 arms, counted from 0"))
    there is no arm 7 in this problem: it has 4 arms, counted from 0
    """

    def __init__(self, arm: object, known: str) -> None:
        super().__init__(arm, known)
        self.arm, self.known = arm, known

    def __str__(self) -> str:
        return f"there is no arm {_shown(self.arm)} in this problem: {self.known}"


class OverBudget(OutlayError):
    """What a call can cost at most is more than is left of the budget, and will be; a smaller call may fit.

    `retry_after` is in how many seconds a new window has room for it, if one will.

    >>> print(OverBudget(0.35, 0.2))
    this call can cost 0.35, and 0.2 is left of the budget
    """

    def __init__(self, most: float, left: float, retry_after: float | None = None) -> None:
        super().__init__(most, left, retry_after)
        self.most, self.left, self.retry_after = most, left, retry_after

    def __str__(self) -> str:
        return f"this call can cost {self.most:.15g}, and {self.left:.15g} is left of the budget"


class BudgetSpent(OutlayError):
    """The campaign has ended, and no fallback can serve the call: it was not made.

    >>> print(BudgetSpent("bill"))
    campaign 'bill' has ended: its budget is spent, or it was closed
    """

    def __init__(self, campaign: str) -> None:
        super().__init__(campaign)
        self.campaign = campaign

    def __str__(self) -> str:
        return f"campaign {self.campaign!r} has ended: its budget is spent, or it was closed"


class UnknownPull(OutlayError, KeyError):
    """The campaign has no such pull."""

    def __init__(self, campaign: str, pull: object) -> None:
        super().__init__(campaign, pull)
        self.campaign, self.pull = campaign, pull

    def __str__(self) -> str:
        asked = "that was asked for with the key " if isinstance(self.pull, str) else ""
        return f"campaign {self.campaign!r} has no pull {asked}{_shown(self.pull)}"


class ServiceError(OutlayError):
    """The service refused a request: `code` is its word for that, which stays the same from version to version.

    >>> print(ServiceError("forbidden", "this needs a key with the scope 'admin'"))
    the service says forbidden: this needs a key with the scope 'admin'
    """

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(code, detail)
        self.code, self.detail = code, detail

    def __str__(self) -> str:
        return f"the service says {self.code}: {self.detail}"


class Unreachable(ServiceError, OSError):
    """The service did not answer, or not in time. What was sent may have been done; it may be sent again."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__("unreachable", reason)
        self.address = address

    def __str__(self) -> str:
        return f"{self.address} cannot be reached: {self.detail}"


class StoreError(OutlayError, OSError):
    """A ledger cannot be opened, read or written. What was not acknowledged may be tried again."""

    def __str__(self) -> str:
        return str(self.args[0])


class NoCampaign(StoreError):
    """The store has no campaign of this name, or there is no store; one must be opened first."""


class StoreBusy(StoreError):
    """The ledger did not answer in time: others hold it, or its server is slow. Nothing was acknowledged; try again."""


class InterpretedWarning(RuntimeWarning):
    """A policy or law could not be compiled: it runs in the interpreter, hundreds of times slower."""


@contextmanager
def needed(owner: str) -> Iterator[None]:
    """Around an import, or on a function that imports: a package of an extra that is missing becomes MissingExtra.

    >>> with needed("simulate"):
    ...     raise ModuleNotFoundError(name="numba.core")
    Traceback (most recent call last):
    outlay.errors.MissingExtra: simulate needs numba: pip install 'outlay[simulate]'
    """
    try:
        yield
    except MissingExtra as inner:  # the user called `owner`, and has not heard of what that called
        raise MissingExtra(owner, inner.package, inner.extra) from None
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRA_OF:
            raise
        raise MissingExtra(owner, package, EXTRA_OF[package]) from None


def require(owner: str, *packages: str) -> None:
    """Refuse at once, before hours of work whose last step would fail.

    >>> require("compare", "matplotlib", "jinja2")
    """
    with needed(owner):
        for package in packages:
            import_module(package)


def _shown(value: object) -> str:
    """`repr`, on one line and cut to a readable length."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # nested too deep, a number too long, or a repr of the user's own that raises
        text = f"a {type(value).__name__} that cannot be printed"
    return text if len(text) <= 80 else text[:77] + "..."


def _span(seconds: float) -> str:
    """A time span as people say it.

    >>> _span(0.25), _span(90.0), _span(10_600.0), _span(500_000.0)
    ('0.25 s', '90 s', '3 h', '6 days')
    """
    for unit, name in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.3g} s"
