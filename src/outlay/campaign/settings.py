"""What a user hands over, checked: the terms of a campaign, tags and metadata of a pull, samples.

What looks like a str, an int or a float becomes one: numpy's are such values, which databases and JSON know not.
"""

import json
import math
import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast, get_args

import msgspec
import numpy as np

from outlay import __version__, policies
from outlay.campaign.context import agreed_kinds, features_of
from outlay.campaign.ledger import events as c
from outlay.campaign.ledger.allocate import unknown_arm
from outlay.campaign.ledger.events import DEFAULT, Amount, ArmTerms, Features, Kinds, Settings, Terms
from outlay.campaign.ledger.money import Unit
from outlay.campaign.ledger.state import State
from outlay.campaign.ledger.validation import (
    LONGEST,
    MOST_ARMS,
    MOST_REQUESTS,
    MOST_REWARD,
    OWNER,
    check_opening,
    check_room,
    label,
)
from outlay.campaign.ledger.windows import MICROS, zone_of
from outlay.campaign.records import Entry
from outlay.checks import real, whole, word
from outlay.errors import BadParameter, CampaignConflict
from outlay.parameters import equal
from outlay.policies.protocol import Policy, as_data, check_memory, check_policy, has, memory_of, parameters_of
from outlay.text import in_seconds, listed, one_of
from outlay.usercode import instead_of_class

MOST_TAGS, LONGEST_TAG = 8, 64
MOST_SERVING = 1000  # arms that an ask is restricted to
MOST_BYTES, MOST_KEYS, DEEPEST = 2048, 32, 4
_METADATA = f"a JSON object of at most {MOST_BYTES} bytes, {MOST_KEYS} keys and {DEEPEST} levels"
MOST_IN_ONE_EVENT = 10_000  # samples
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
LONGEST_WAIT = 1e6  # seconds

Arms = Sequence[str] | Mapping[str, Amount | None]  # names, or from each to the most that a pull can cost
Costs = Mapping[str, float]  # from names to mean costs
PolicyGiven = Policy | str | Mapping[str, object] | None  # a policy, its name, its name and parameters, or the default
Triple = tuple[Any, Any, Any]  # as users hand it over: nothing is known of its values
ArmSample = tuple[str, float, float]  # an arm's name, a cost and a reward


def agreed(
    arms: Arms,
    budget: Amount,
    policy: Policy | None,
    name: str,
    settings: Settings,
    requests: int | None = None,
    costs: Costs | None = None,
) -> c.Open:
    """The command that opens the campaign, or BadParameter; where no policy was chosen, the default one runs it."""
    unit = Unit.named(settings.unit)
    kinds = agreed_kinds(settings.context)
    policy = default_policy(kinds, requests) if policy is None else policy
    named = arm_terms(unit, arms, costs or {})
    check_policy(OWNER, "policy", policy, len(named))
    terms = _terms(unit, policy, settings, kinds)
    check_room(OWNER, len(named), terms)
    if kinds is not None:
        check_contexts(OWNER, policy, len(named))
    if costs and "costs" not in parameters_of(policy):
        kind = type(policy).__name__
        raise BadParameter(OWNER, "costs", f"None with {kind}, which takes no mean costs: Ration does", costs)
    most = None if requests is None else requests_of(OWNER, requests)
    opening = c.Open(label(OWNER, "name", name), named, positive(unit, OWNER, "budget", budget), terms, most)
    check_opening(c.Opened(*opening))
    return opening


def like(model: State, name: str) -> c.Open:
    """The command that opens a campaign on the terms that another has now, but for arms that are out of use."""
    terms = msgspec.structs.replace(model.terms, version=__version__, format=c.FORMAT)
    arms = tuple(arm.terms for arm in model.arms if arm.enabled or arm.name == terms.fallback)
    opening = c.Open(name, arms, model.budget, terms, model.requests)
    check_opening(c.Opened(*opening))
    return opening


def default_policy(context: Kinds | None, requests: int | None) -> Policy:
    """The policy of a campaign for which none was chosen."""
    if context is not None:
        return policies.LinearRation(features_of(context))
    return policies.default() if requests is None else policies.Ration()


def other_policy(given: PolicyGiven, context: Kinds | None, requests: int | None, arms: int) -> Policy:
    """The policy that is to look at a campaign's requests beside the one in charge."""
    policy = default_policy(context, requests) if given is None else chosen(given, context)
    policy = check_policy("shadow", "policy", policy, arms)
    check_contexts("shadow", policy, arms)
    if not has(memory_of(policy, arms), "arrive"):
        return policy
    if context is None:
        raise BadParameter(
            "shadow", "policy", "one that needs no context: the campaign has none", type(policy).__name__
        )
    features = parameters_of(policy).get("features", count := features_of(context))
    if features != count:
        raise BadParameter("shadow", "policy", f"one with features={count}, as many as the context has", features)
    return policy


def check_contexts(owner: str, policy: Policy, arms: int) -> None:
    """Refuse a policy whose memory hears of requests, and which does not choose."""
    if has(check_memory(owner, policy, arms), "arrive") and not has(policy, "choose"):
        raise BadParameter(owner, "policy", "one with choose, as its memory has arrive", type(policy).__name__)


def _terms(unit: Unit, policy: Policy, settings: Settings, context: Kinds | None) -> Terms:
    """The settings as the ledger holds them; `check_opening` has yet to see that they are within their limits."""
    s = settings
    if not isinstance(s.negative_costs, bool):
        raise BadParameter(OWNER, "negative_costs", "True or False", s.negative_costs)
    zone_of(OWNER, s.timezone)
    if s.window is None and s.timezone != DEFAULT.timezone:
        raise BadParameter(OWNER, "timezone", "given with a window, which alone needs one", s.timezone)
    return Terms(
        unit=str(unit.size),
        mode=cast("c.Mode", word(OWNER, "mode", s.mode, get_args(c.Mode))),
        seed=whole(OWNER, "seed", s.seed, at_least=0),
        policy=_written(policy),
        version=__version__,
        ttl=None if s.ttl is None else micros(OWNER, s.ttl),
        expiry=cast("c.Expiry", word(OWNER, "expiry", s.expiry, get_args(c.Expiry))),
        reservation=None if s.reservation is None else not_negative(unit, OWNER, "reservation", s.reservation),
        default_reward=real(OWNER, "default_reward", s.default_reward) + 0.0,
        max_in_flight=None if s.max_in_flight is None else whole(OWNER, "max_in_flight", s.max_in_flight, at_least=1),
        negative_costs=s.negative_costs,
        propensity_draws=whole(OWNER, "propensity_draws", s.propensity_draws, at_least=0),
        first_pulls=None if s.first_pulls is None else whole(OWNER, "first_pulls", s.first_pulls, at_least=1),
        window=None if s.window is None else cast("c.Window", word(OWNER, "window", s.window, get_args(c.Window))),
        timezone=label(OWNER, "timezone", s.timezone),
        fallback=None if s.fallback is None else label(OWNER, "fallback", s.fallback),
        reward_within=None if s.reward_within is None else micros(OWNER, s.reward_within, "reward_within"),
        missing_reward=_missing_reward(s),
        currency=None if s.currency is None else _currency(s.currency),
        pool=None if s.pool is None else label(OWNER, "pool", s.pool),
        context=context,
        format=c.FORMAT,
    )


def _missing_reward(settings: Settings) -> float | None:
    given = settings.missing_reward
    if given == "unknown":
        return None
    if isinstance(given, str):
        raise BadParameter(OWNER, "missing_reward", 'a number, or "unknown"', given)
    if settings.reward_within is None:
        raise BadParameter(OWNER, "missing_reward", "given with reward_within, after which it counts", given)
    return real(OWNER, "missing_reward", given) + 0.0


def _currency(currency: object) -> str:
    if (
        not isinstance(currency, str)
        or not 0 < len(currency.strip()) == len(currency) <= 8
        or not currency.isprintable()
    ):
        raise BadParameter(OWNER, "currency", 'a short name such as "USD" or "€"', currency)
    return str.__str__(currency)


def chosen(policy: PolicyGiven, context: object = None) -> Policy | None:
    """The policy that a user named: an object, a name, or a mapping of name and parameters; None where none was.

    How many features the campaign's context has need not be said to one that is named.
    """
    if policy is None:
        return None
    name: object = policy
    parameters: Any = {}
    if isinstance(policy, Mapping) and set(policy) <= {"name", "parameters"} and "name" in policy:
        name, parameters = policy["name"], policy.get("parameters", {})
    if isinstance(name, type):
        raise BadParameter(OWNER, "policy", instead_of_class(name), name)
    if not isinstance(name, str):
        return cast("Policy", name)  # whether it is one is for `check_policy` to say
    kind = policies.named(name)
    if kind is None:
        raise BadParameter(OWNER, "policy", one_of(policies.BY_NAME, name), name)
    kinds = agreed_kinds(context)
    if kinds is not None and "features" in getattr(kind, "_fields", ()):
        parameters = {"features": features_of(kinds), **parameters}
    try:
        return cast("Policy", kind(**parameters))
    except TypeError as error:
        reason = " ".join(str(error).split()).replace(f"{kind.__name__}.__new__()", kind.__name__)
        raise BadParameter(OWNER, "policy", f"given the parameters that it takes ({reason})", parameters) from None


def arm_terms(unit: Unit, arms: Arms, costs: Costs) -> tuple[ArmTerms, ...]:
    """The arms, each with the most and the mean that a pull costs where that was said."""
    allowed = f"1 to {MOST_ARMS} names, or a mapping from name to the most a pull can cost"
    if isinstance(arms, (set, frozenset)):
        raise BadParameter(OWNER, "arms", f"{allowed}, in an order, which a set has not", arms)
    if isinstance(arms, str) or not hasattr(arms, "__len__") or not 1 <= len(arms) <= MOST_ARMS:
        raise BadParameter(OWNER, "arms", allowed, arms)
    if not isinstance(arms, Mapping) and not all(isinstance(name, str) for name in arms):
        raise BadParameter(OWNER, "arms", allowed, arms)
    most: Mapping[str, Amount | None] = arms if isinstance(arms, Mapping) else dict.fromkeys(arms)
    if len(most) < len(arms):
        raise BadParameter(OWNER, "arms", "different names", list(arms))
    if not hasattr(costs, "keys") or (costs and set(costs) != set(most)) or None in costs.values():
        raise BadParameter(OWNER, "costs", f"a mapping from every arm ({listed(list(most))}) to its mean cost", costs)
    return tuple(arm_term(unit, OWNER, name, max_cost, costs.get(name)) for name, max_cost in most.items())


def arm_term(unit: Unit, owner: str, name: object, max_cost: object, mean_cost: object = None) -> ArmTerms:
    """One arm."""
    most = None if max_cost is None else not_negative(unit, owner, "max_cost", max_cost)
    mean = None if mean_cost is None else real(owner, "cost", mean_cost) + 0.0
    if most is not None and mean is not None and mean > unit.amount(most):
        raise BadParameter(owner, f"the mean cost of {name!r}", f"at most its max_cost, {unit.amount(most):g}", mean)
    return ArmTerms(label(owner, "arm", name), most, mean)


def requests_of(owner: str, requests: object, least: int = 1) -> int:
    """A number of requests."""
    return whole(owner, "requests", requests, at_least=least, at_most=MOST_REQUESTS)


def micros(owner: str, span: object, name: str = "ttl") -> int:
    """A time span in microseconds, from seconds or from a number with its unit.

    >>> micros("ask", 1.5), micros("ask", "90m") == micros("ask", 5400)
    (1500000, True)
    """
    if isinstance(span, str):
        parts = re.fullmatch(r"(\d+(?:\.\d+)?) ?([smhd])", span)
        if parts is None:
            raise BadParameter(owner, name, 'seconds, or a time such as "90s", "15m", "1h" or "7d"', span)
        span = float(parts[1]) * SECONDS[parts[2]]
    return max(1, round(real(owner, name, span, above=0, at_most=1e9) * MICROS))


def ceiling_of(unit: Unit, owner: str, most: object) -> c.Ceiling | None:
    """What a call can cost at most, in units, of any arm or of each that is named; None where nobody says."""
    if most is None:
        return None
    if isinstance(most, Mapping):
        return {label(owner, "most", arm): not_negative(unit, owner, "most", amount) for arm, amount in most.items()}
    return not_negative(unit, owner, "most", most)


def seconds_of(owner: str, timeout: object) -> float | None:
    """A timeout."""
    return None if timeout is None else real(owner, "timeout", timeout, at_least=0, at_most=LONGEST_WAIT)


def note_of(owner: str, reason: object) -> str:
    """The reason for a correction or a cancellation, if one was given."""
    return label(owner, "reason", reason) if reason != "" else ""


def positive(unit: Unit, owner: str, name: str, value: object) -> int:
    """An amount above zero that can be spent: what is no whole unit of it cannot."""
    units = unit.units(owner, name, value, up=False)
    if units <= 0:
        raise BadParameter(owner, name, f"at least one unit of {unit.size}", value)
    return units


def not_negative(unit: Unit, owner: str, name: str, value: object) -> int:
    """An amount of zero or more."""
    units = unit.units(owner, name, value)
    if units < 0:
        raise BadParameter(owner, name, "≥ 0", value)
    return units


def check_same(state: State, wanted: c.Open, any_policy: bool) -> None:
    """Refuse to reopen a campaign on other terms; its arms and budget may be asked for as they were or as they are."""
    for said in _differences(state, wanted, any_policy):
        raise CampaignConflict(f"campaign {state.name!r} is there already, with {said}")


def _differences(state: State, wanted: c.Open, any_policy: bool) -> Iterator[str]:
    """What is not as it was agreed, in words: the unit first, in which amounts are counted."""
    mine, theirs, unit = state.terms, wanted.terms, state.unit
    if mine.unit != theirs.unit:
        yield f"unit {mine.unit}, not {theirs.unit}"
    if wanted.arms not in (tuple(arm.terms for arm in state.arms), state.opened.arms):
        yield _other_arms(state, wanted.arms)
    if wanted.budget not in (state.budget, state.opened.budget):
        yield f"budget {unit.shown(state.budget)}, not {unit.shown(wanted.budget)}"
    if wanted.requests not in (state.requests, state.opened.requests):
        yield f"requests {state.requests}, not {wanted.requests}"
    for field in mine.__struct_fields__:
        here, given = getattr(mine, field), getattr(theirs, field)
        if field == "policy":
            if not (any_policy or _same_policy(here, given)):
                yield f"policy {_policy_shown(here)}, not {_policy_shown(given)}"
        elif field != "version" and here != given:
            shown = {"reservation": unit.shown, "ttl": in_seconds, "reward_within": in_seconds}.get(field, str)
            yield f"{field} {shown(here)}, not {shown(given)}"


def _other_arms(state: State, wanted: tuple[ArmTerms, ...]) -> str:
    """The first difference between the arms of a campaign and those that are asked for."""
    there = {arm.name: arm.terms for arm in state.arms}
    given = {arm.name: arm for arm in wanted}
    for name in (*there, *given):
        if name not in given or name not in there:
            return f"other arms: {name!r} is {'not among those given' if name in there else 'not one of them'}"
    for name, mine in there.items():
        theirs = given[name]
        if mine.max_cost != theirs.max_cost:
            most = [state.unit.shown(terms.max_cost) for terms in (mine, theirs)]
            return f"max_cost {most[0]} of arm {name!r}, not {most[1]}"
        if mine.mean_cost != theirs.mean_cost:
            return f"cost {mine.mean_cost} of arm {name!r}, not {theirs.mean_cost}"
    return f"its arms in another order: {', '.join(there)}"


def _policy_shown(policy: dict[str, Any]) -> str:
    """Its name, and its parameters where they are few."""
    values = ", ".join(f"{key}={value!r}" for key, value in policy["parameters"].items())
    return f"{policy['name']}({values})" if len(values) <= LONGEST else str(policy["name"])


def check_same_policy(opened: c.Opened, policy: Policy) -> None:
    """Refuse to go on with another policy than was agreed."""
    if not _same_policy(opened.terms.policy, _written(policy)):
        raise CampaignConflict(f"campaign {opened.name!r} runs another policy: {opened.terms.policy['name']}")


def _same_policy(agreed: dict[str, Any], given: dict[str, Any]) -> bool:
    """Whether a policy is the one that was agreed; a ledger older than the parameter `changes` goes on as it was."""
    older = given["parameters"].keys() - agreed["parameters"].keys() == {"changes"}
    parameters = {name: value for name, value in given["parameters"].items() if not (older and name == "changes")}
    return equal(agreed, {**given, "parameters": parameters})


def _written(policy: Policy) -> dict[str, Any]:
    """A policy as the ledger holds it, and as it is read again."""
    try:
        return json.loads(json.dumps(as_data(policy), allow_nan=False))  # type: ignore[no-any-return]
    except (TypeError, ValueError):
        allowed = "one whose parameters are finite numbers, words and lists of them"
        raise BadParameter(OWNER, "policy", allowed, policy) from None


def asked(
    owner: str,
    key: object,
    ttl: object,
    tags: object,
    metadata: object,
    most: c.Ceiling | None = None,
    arms: Iterable[str] | None = None,
    context: Features | None = None,
) -> c.Ask:
    """The command of an ask."""
    named = None if key is None else label("ask", "key", key)
    span = None if ttl is None else micros("ask", ttl)
    notes = tags_of(owner, tags), metadata_of(owner, metadata)
    some = None if arms is None else some_arms(owner, arms)
    return c.Ask(named, span, *notes, most, arms=some, context=context)


def some_arms(owner: str, arms: object) -> tuple[str, ...]:
    """The names of arms that can serve a call, each once, in their order.

    >>> some_arms("ask", ["small", "large", "small"])
    ('small', 'large')
    """
    allowed = f"1 to {MOST_SERVING} names of arms"
    if isinstance(arms, str) or not isinstance(arms, Iterable):
        raise BadParameter(owner, "arms", allowed, arms)
    names = tuple(dict.fromkeys(label(owner, "arms", name) for name in arms))
    if not 0 < len(names) <= MOST_SERVING:
        raise BadParameter(owner, "arms", allowed, names)
    return names


def tags_of(owner: str, tags: object) -> tuple[str, ...]:
    """The tags, each once, in their order.

    >>> tags_of("ask", ["batch 7", "nightly"])
    ('batch 7', 'nightly')
    """
    if tags == ():
        return ()
    allowed = f"at most {MOST_TAGS} strings of 1 to {LONGEST_TAG} printable characters"
    if isinstance(tags, str) or not isinstance(tags, Iterable):
        raise BadParameter(owner, "tags", allowed, tags)
    plain = tuple(dict.fromkeys(tag_of(owner, tag, "tags", allowed) for tag in tags))
    if len(plain) > MOST_TAGS:
        raise BadParameter(owner, "tags", allowed, tags)
    return plain


def tag_of(owner: str, tag: object, name: str = "tag", allowed: str = "") -> str:
    """One tag, as a plain string."""
    plain = str.__str__(tag) if isinstance(tag, str) else ""  # its own text, whatever a subclass prints
    if plain.strip() and len(plain) <= LONGEST_TAG and plain.isprintable():
        return plain
    raise BadParameter(owner, name, allowed or f"a string of 1 to {LONGEST_TAG} printable characters", tag)


def metadata_of(owner: str, metadata: object) -> dict[str, Any] | None:
    """The object, made of plain strings, numbers, truth values, lists and objects; None where it is empty.

    >>> metadata_of("ask", {"user": 17, "route": ("eu", 2)})
    {'user': 17, 'route': ['eu', 2]}
    """
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping):
        raise BadParameter(owner, "metadata", _METADATA, metadata)
    try:
        plain = _plain(metadata, [MOST_KEYS])
        size = len(json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode())
    except (TypeError, ValueError, OverflowError):
        raise BadParameter(owner, "metadata", _METADATA, metadata) from None
    if size > MOST_BYTES:
        raise BadParameter(owner, "metadata", f"{_METADATA} (this one has {size} bytes)", metadata)
    return plain or None


def _plain(value: Any, keys_left: list[int], depth: int = 1) -> Any:
    """A plain copy; TypeError or ValueError for what JSON cannot say, or what is too much: that is not copied."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and len(value) <= MOST_BYTES:
        return str.__str__(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, (Mapping, Sequence)) and not isinstance(value, (str, bytes, bytearray, memoryview)):
        if depth > DEEPEST or len(value) > MOST_BYTES:
            raise ValueError("too deep or too long")
        if not isinstance(value, Mapping):
            return [_plain(part, keys_left, depth + 1) for part in value]
        keys_left[0] -= len(value)
        if keys_left[0] < 0 or not all(isinstance(key, str) for key in value):
            raise ValueError("too many keys, or keys that are no strings")
        return {str.__str__(key): _plain(part, keys_left, depth + 1) for key, part in value.items()}
    whole = operator.index(value)  # of any kind; TypeError for what is no number
    if abs(whole) >= 2**63:
        raise ValueError("too large")
    return whole


def triples(owner: str, name: str, rows: object) -> Iterator[Triple]:
    """The rows, each of three values; BadParameter where they are not."""
    return rows_of(owner, name, rows, ("arm or pull", "cost", "reward"))


def rows_of(owner: str, name: str, rows: object, fields: tuple[str, ...]) -> Iterator[Any]:
    """The rows, each of as many values as there are fields; BadParameter where they are not."""
    allowed = f"rows of ({', '.join(fields)})"
    if not isinstance(rows, Iterable):
        raise BadParameter(owner, name, allowed, rows)
    for row in rows:
        values = () if isinstance(row, str) or not isinstance(row, Iterable) else tuple(row)
        if len(values) != len(fields):
            raise BadParameter(owner, name, allowed, row)
        yield values


def warm_starts(state: State, rows: Iterable[Triple], key: str, source: str) -> list[c.WarmStart]:
    """The commands that have samples learned, as many in each as one event may hold; all are checked first."""
    owner, unit, names = "warm_start", state.unit, {arm.name for arm in state.arms}
    samples: list[ArmSample] = []
    for arm, cost, reward in rows:
        if not isinstance(arm, str) or arm not in names:
            raise unknown_arm(state, owner, arm)
        value = checked_reward(owner, reward, at_least=-MOST_REWARD, at_most=MOST_REWARD)
        units = unit.units(owner, "cost", cost)
        if units < 0 and not state.terms.negative_costs:
            raise BadParameter(owner, "cost", "≥ 0 in this campaign", cost)
        samples.append((str.__str__(arm), unit.amount(units), value))
    commands = []
    for part, start in enumerate(range(0, len(samples), MOST_IN_ONE_EVENT)):
        arms, costs, rewards = zip(*samples[start : start + MOST_IN_ONE_EVENT], strict=True)
        commands.append(c.WarmStart(arms, costs, rewards, f"{key}/{part}", source))
    return commands


def checked_reward(owner: str, value: object, **limits: float) -> float:
    """A reward; True is 1 and False 0, and -0.0 is 0.0, for SQLite knows no other."""
    given = int(value) if isinstance(value, (bool, np.bool_)) else value
    return real(owner, "reward", given, **limits) + 0.0


def samples_of(history: Iterable[Entry]) -> list[ArmSample]:
    """What the pulls of a campaign cost and earned, corrections included, in the order in which that was known."""
    told: dict[int, ArmSample] = {}
    for entry in history:
        # What stands in for an awaited reward is no sample, also where its cost was amended.
        learned = entry.kind in ("told", "rewarded") or (entry.kind == "amended" and entry.pull in told)
        if learned and entry.pull is not None and entry.reward is not None:
            cost = entry.more["instead"]["cost"] if entry.cost is None else entry.cost
            told[entry.pull] = str(entry.arm), float(cost), float(entry.reward)
    return list(told.values())
