"""What can be agreed about a campaign beside its arms, its budget and its policy: declared here, once.

`Campaign` takes these as its keyword arguments, the command line offers them as options, `terms.py` checks them, and
the ledger holds them as `Terms`. This file imports nothing heavy, so that `outlay campaign --help` is quick.
"""

from decimal import Decimal
from typing import Literal, NamedTuple, SupportsIndex

Amount = float | Decimal | SupportsIndex  # of money, as users give it; numpy's whole numbers have an index
Mode = Literal["until_exceeded", "hard"]
Expiry = Literal["charge", "release"]
Window = Literal["day", "week", "month"]
HOUR = 3600.0


class Settings(NamedTuple):
    """The settings of a campaign as a user gives them, with their defaults; `Campaign` says what each means."""

    mode: Mode = "until_exceeded"
    unit: str | Amount = "1e-9"
    seed: int = 0
    ttl: float | None = HOUR
    expiry: Expiry = "charge"
    reservation: Amount | None = None
    default_reward: float = 0.0
    max_in_flight: int | None = None
    negative_costs: bool = True
    propensity_draws: int = 100
    first_pulls: int | None = 1
    window: Window | None = None
    timezone: str = "UTC"
    fallback: str | None = None


DEFAULT = Settings()
