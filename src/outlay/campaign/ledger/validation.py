"""What a campaign may be opened on: the one check of its terms, whoever made, opens, imports or verifies it.

A file or a database can hold anything; a campaign on terms that nobody could have agreed to would break promises that
the rules rely on. So the same check stands before the first event is written and wherever it is read again.
"""

from typing import Any, get_args

import msgspec

from outlay.campaign.context import LARGEST, check_kinds, features_of
from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.money import MOST, Unit
from outlay.checks import real, word
from outlay.errors import BadParameter

OWNER = "Campaign"
LONGEST = 200  # characters of a name or a key
LONGEST_NOTE = 300  # of what is made of them: the key of a part, a policy with its version
MOST_ARMS = 100_000
MOST_LEARNED = 10**6  # numbers that a campaign with a context keeps, or so
MOST_REWARD = 1e100  # of one pull, either sign: the squares of many must have a sum
MOST_REQUESTS = 10**15
LEAST_MEAN, MOST_MEAN = 1e-100, 1e15  # the size of an arm's mean cost
MOST_MICROS = 10**15  # of a time span: 1e9 seconds
LATEST = 253_402_300_799 * 10**6  # a time: the end of the year 9999
MOST_NOTED, MOST_BYTES = 100, 10_000  # tags of a pull, bytes of its metadata: no ledger holds more
DEEPEST = 16  # lists in lists among a policy's parameters


def check_opening(opening: e.Opened) -> None:
    """Refuse, with BadParameter, terms that cannot be agreed to."""
    label(OWNER, "name", opening.name)
    _check_range(OWNER, "budget in units", opening.budget, 1, MOST)
    check_requests(OWNER, opening.requests)
    if not 1 <= len(opening.arms) <= MOST_ARMS:
        raise BadParameter(OWNER, "arms", f"1 to {MOST_ARMS} names", len(opening.arms))
    for arm in opening.arms:
        check_arm(OWNER, arm)
    if len({arm.name for arm in opening.arms}) < len(opening.arms):
        raise BadParameter(OWNER, "arms", "different names", [arm.name for arm in opening.arms])
    check_room(OWNER, len(opening.arms), opening.terms)
    if opening.terms.fallback not in (None, *(arm.name for arm in opening.arms)):
        raise BadParameter(OWNER, "fallback", "one of the arms", opening.terms.fallback)
    check_terms(opening.terms)


def check_arm(owner: str, arm: e.ArmTerms) -> None:
    """Refuse an arm whose name cannot be printed, or whose maximum is no amount."""
    label(owner, "arm", arm.name)
    _check_range(owner, "max_cost in units", arm.max_cost, 0, MOST)
    if arm.mean_cost is not None:
        real(owner, "cost", arm.mean_cost, at_least=-MOST_MEAN, at_most=MOST_MEAN)
        if repr(arm.mean_cost) == "-0.0" or 0.0 < abs(arm.mean_cost) < LEAST_MEAN:
            raise BadParameter(owner, "cost", f"0, or at least {LEAST_MEAN:g} in size", arm.mean_cost)


def check_room(owner: str, arms: int, terms: e.Terms) -> None:
    """Refuse more arms than a campaign with a context can learn of: each has a matrix of its own."""
    if terms.context is None or "features" not in terms.policy["parameters"]:
        return
    features = features_of(terms.context)
    if arms * (features + 16) ** 2 > MOST_LEARNED:
        most = MOST_LEARNED // (features + 16) ** 2
        raise BadParameter(owner, "arms", f"at most {most} with {features} features", arms)


def check_requests(owner: str, requests: int | None, least: int = 1) -> None:
    """Refuse a number of requests that cannot be counted."""
    _check_range(owner, "requests", requests, least, MOST_REQUESTS)


def check_terms(terms: e.Terms) -> None:
    """Refuse settings that are out of range, or that break a promise together."""
    t = terms
    if str(Unit.named(t.unit).size) != t.unit:
        raise BadParameter(OWNER, "unit", "written as a decimal number in its shortest form", t.unit)
    word(OWNER, "mode", t.mode, get_args(e.Mode))
    word(OWNER, "expiry", t.expiry, get_args(e.Expiry))
    if t.mode == "hard" and t.expiry != "charge":
        raise BadParameter(OWNER, "expiry", '"charge" in hard mode: late tells could break the cap', t.expiry)
    _check_range(OWNER, "seed", t.seed, 0, 2**63 - 1)
    _check_range(OWNER, "format", t.format, 1, e.FORMAT)
    _check_range(OWNER, "propensity_draws", t.propensity_draws, 0, 100_000)
    real(OWNER, "default_reward", t.default_reward, at_least=-MOST_REWARD, at_most=MOST_REWARD)
    _check_range(OWNER, "ttl in microseconds", t.ttl, 1, MOST_MICROS)
    _check_range(OWNER, "reward_within in microseconds", t.reward_within, 1, MOST_MICROS)
    if t.missing_reward is not None:
        real(OWNER, "missing_reward", t.missing_reward, at_least=-MOST_REWARD, at_most=MOST_REWARD)
    if t.currency is not None:
        label(OWNER, "currency", t.currency)
    if t.pool is not None:
        label(OWNER, "pool", t.pool)
    _check_range(OWNER, "reservation in units", t.reservation, 0, MOST)
    _check_range(OWNER, "first_pulls", t.first_pulls, 1, 2**63 - 1)
    _check_range(OWNER, "max_in_flight", t.max_in_flight, 1, 2**63 - 1)
    if t.context is not None:
        check_kinds(t.context)
        _check_policy(t.policy)
        if t.policy["parameters"].get("features", count := features_of(t.context)) != count:
            allowed = f"one with features={count}, as many as the context has"
            raise BadParameter(OWNER, "policy", allowed, t.policy["name"])
    if t.window is not None:
        word(OWNER, "window", t.window, get_args(e.Window))
    label(OWNER, "timezone", t.timezone)
    label(OWNER, "version", t.version)
    _check_policy(t.policy)


def check_some_arm_fits(opening: e.Opened) -> None:
    """Refuse to open, under a hard cap, a campaign none of whose arms the whole budget could pay for."""
    terms, budget = opening.terms, opening.budget
    if terms.mode != "hard":
        return
    unknown = budget if terms.reservation is None else terms.reservation
    least = min(unknown if arm.max_cost is None else arm.max_cost for arm in opening.arms)
    if least > budget:
        unit = Unit.named(terms.unit)
        allowed = f"≥ {unit.shown(least)} in hard mode, what is set aside for a pull of the cheapest arm"
        raise BadParameter(OWNER, "budget", allowed, unit.amount(budget))


def check_event(event: e.AnyEvent) -> None:
    """Refuse an event that holds what no user could have said: words that cannot be printed, or no amounts."""
    if isinstance(event, e.Opened):
        check_opening(event)
    elif isinstance(event, e.Added):
        check_arm("add_arm", event.arm)
    elif isinstance(event, e.Budgeted):
        _check_range("set_budget", "budget in units", event.budget, 1, MOST)
    elif isinstance(event, e.Requested):
        check_requests("set_requests", event.requests)
    elif isinstance(event, e.Expected):
        check_requests("expect_requests", event.requests, least=0)
    elif isinstance(event, e.Renewed):
        _check_range("Renewed", "start in microseconds", event.start, -LATEST, LATEST)
        _check_range("Renewed", "end in microseconds", event.end, event.start + 1, LATEST)
    elif isinstance(event, e.Changed):
        _check_range("Changed", "arm", event.arm, 0, MOST_ARMS)
        _check_range("Changed", "forgotten", event.forgotten, 1, MOST)
    for field in ("key", "reason", "source", "policy"):
        text = getattr(event, field, None)
        if isinstance(text, str) and not _printable(e.plain_key(text)):
            allowed = f"at most {LONGEST_NOTE} printable characters"
            raise BadParameter(type(event).__name__, field, allowed, text)
    for field in ("ttl", "expires", "reward_due"):
        _check_range(type(event).__name__, f"{field} in microseconds", getattr(event, field, None), 1, LATEST)
    if isinstance(event, e.Asked):
        _check_notes(event)
        for most in event.most.values() if isinstance(event.most, dict) else [event.most]:
            _check_range("Asked", "most in units", most, 0, MOST)
        _check_range("Asked", "room in units", event.room, -(2**63), 2**63)
        for feature in event.context or ():
            real("Asked", "context", feature, at_least=-LARGEST, at_most=LARGEST)
    _check_range(type(event).__name__, "cost in units", getattr(event, "cost", None), -MOST, MOST)


def check_time(at: int) -> None:
    """Refuse a time that no clock shows."""
    _check_range(OWNER, "time of an event in microseconds", at, 0, LATEST)


def _check_notes(event: e.Asked) -> None:
    """What a user may have noted about a pull, within wider bounds than those that it was noted in."""
    if len(event.tags) > MOST_NOTED or not all(tag and _printable(tag) for tag in event.tags):
        raise BadParameter(
            "Asked", "tags", f"at most {MOST_NOTED}, of at most {LONGEST_NOTE} printable characters", event.tags
        )
    if event.metadata is not None and len(msgspec.json.encode(event.metadata)) > MOST_BYTES:
        raise BadParameter("Asked", "metadata", f"at most {MOST_BYTES} bytes of JSON", event.metadata)
    if event.propensity is not None and not 0 <= event.propensity <= 1:
        raise BadParameter("Asked", "propensity", "from 0 to 1", event.propensity)


def label(owner: str, name: str, value: object) -> str:
    """A name that can be printed anywhere."""
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST or not value.isprintable():
        raise BadParameter(owner, name, f"1 to {LONGEST} printable characters", value)
    return str.__str__(value)  # a plain one, whatever kind of string came


def _check_range(owner: str, name: str, value: int | None, low: int, high: int) -> None:
    """Refuse a number out of range; None stands for none."""
    if value is not None and not low <= value <= high:
        raise BadParameter(owner, name, f"a whole number from {low} to {high}", value)


def _printable(text: str) -> bool:
    return len(text) <= LONGEST_NOTE and text.isprintable()


def _check_policy(policy: dict[str, Any]) -> None:
    allowed = "a name and parameters: finite numbers, words and lists of them"
    if set(policy) != {"name", "parameters"} or not isinstance(policy["parameters"], dict):
        raise BadParameter(OWNER, "policy", allowed, policy)
    label(OWNER, "policy", policy["name"])
    if not _plain(policy["parameters"], DEEPEST):
        raise BadParameter(OWNER, "policy", allowed, policy["name"])


def _plain(value: object, deep: int) -> bool:
    """Whether it is made of numbers, words and lists of them, and not too deep."""
    if isinstance(value, dict):
        return deep > 0 and all(_plain(key, 0) and _plain(part, deep - 1) for key, part in value.items())
    if isinstance(value, list):
        return deep > 0 and all(_plain(part, deep - 1) for part in value)
    return value is None or isinstance(value, (bool, int, float)) or (isinstance(value, str) and _printable(value))
