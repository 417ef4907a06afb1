"""gateway.toml: which models there are, what they cost, who pays, and who may call."""

import hashlib
import inspect
import os
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from outlay.campaign import Campaign
from outlay.campaign.ledger.validation import label
from outlay.checks import checked_path, line, reading, real, whole, word
from outlay.errors import BadFile, BadParameter
from outlay.integrations.prompts import PROMPT_CONTEXT
from outlay.text import listed

MILLION = 1_000_000
MOST_TOKENS = 10**8
LEAST_PRICE = 0.001  # of a million tokens: what is less was meant for one, and the bill would be a million times larger
CHAT = "/chat/completions"
LIMITS = ("max_completion_tokens", "max_tokens")  # what providers call the limit of an answer
TERMS = tuple(name for name in inspect.signature(Campaign).parameters if name not in ("arms", "store", "name"))


@dataclass(frozen=True)
class Provider:
    """Where models are called. Its key is shown nowhere."""

    name: str
    url: str  # of chat completions
    limit: str  # its name of the limit of an answer
    key: str | None = field(repr=False)
    not_billed: tuple[int, ...] = ()  # statuses of its errors that cost nothing, though those of others may


class ModelArm(NamedTuple):
    """An arm: a model of a provider, what a million of its tokens cost, and how long an answer may be.

    >>> provider = Provider("here", "http://localhost:8000/v1/chat/completions", "max_tokens", None)
    >>> arm = ModelArm("large", provider, "gpt", Decimal("2.5"), Decimal(10), 1000, cached_input=Decimal("0.5"))
    >>> arm.cost(prompt=2000, output=100), arm.cost(prompt=2000, output=100, cached=1000)
    (Decimal('0.006'), Decimal('0.004'))
    """

    name: str
    provider: Provider
    model: str
    input: Decimal
    output: Decimal
    max_output_tokens: int
    cached_input: Decimal | None = None
    image_tokens: int | None = None  # of an image at most; None where it takes none
    fallback_only: bool = False  # named when the budget is spent, and then alone

    def cost(self, prompt: int, output: int, cached: int = 0) -> Decimal:
        """What so many tokens cost, exactly; `cached` are those of the prompt that were read from a cache."""
        cached_price = self.input if self.cached_input is None else self.cached_input
        cached = min(cached, prompt)
        return (self.input * (prompt - cached) + cached_price * cached + self.output * output) / MILLION

    def most(self, prompt: int, output: int) -> Decimal:
        """What they cost at most, cached or not."""
        return max(self.cost(prompt, output), self.cost(prompt, output, prompt))


@dataclass(frozen=True)
class GatewayFile:
    """What the file says."""

    source: str
    store: str | None  # None: that of the service
    name: str
    terms: dict[str, Any]  # of the campaign; without a budget, it must be there
    reads_prompts: bool  # for the context of a request that has none in its header
    arms: dict[str, ModelArm]
    keys: tuple[str, ...] = field(repr=False)  # digests of those that clients send
    models: tuple[str, ...]  # names that stand for all arms
    wait: float  # seconds for a pull
    max_tokens: int | None  # of an answer, where the request does not say
    timeout: float  # seconds of a call
    retries: int
    reward: float | None  # of an answer; None: it comes later
    most_bytes: int  # of a request


def load(path: str | Path) -> GatewayFile:
    """The file, with keys from the environment; BadFile says in one sentence what is wrong with it."""
    source = checked_path("load", path)
    try:
        with reading(source):
            content = tomllib.loads(source.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadFile(f"{source} is not TOML: {' '.join(str(error).split())}") from None
    try:
        return _gateway(content, source.name)
    except BadParameter as error:
        raise BadFile(str(error)) from None


class _TomlTable:
    """A table of the file, whose keys are taken one by one; those that are left are refused."""

    def __init__(self, source: str, path: str, content: object) -> None:
        self.source, self.path = source, path
        if not isinstance(content, dict):
            raise BadParameter(source, path, "a table", content)
        self._content, self._known = content, list[str]()

    def take(self, key: str, check: Callable[..., Any], default: Any = ..., **limits: Any) -> Any:
        """The value, checked; the default where there is none."""
        self._known.append(key)
        if key not in self._content:
            if default is ...:
                raise BadFile(f"{self.source} lacks {self.at(key)}")
            return default
        return check(self.source, self.at(key), self._content[key], **limits)

    def tables(self, key: str) -> dict[str, "_TomlTable"]:
        """The tables in this one, by name."""
        inner = _TomlTable(self.source, self.at(key), self.take(key, _anything))
        if not inner._content:
            raise BadParameter(self.source, inner.path, "at least one table", {})
        names = [label(self.source, f"a name in {inner.path}", name) for name in inner._content]
        return {name: _TomlTable(self.source, inner.at(name), inner._content[name]) for name in names}

    def table(self, key: str) -> "_TomlTable":
        """One table in this one, empty where there is none."""
        return _TomlTable(self.source, self.at(key), self.take(key, _anything, {}))

    def at(self, key: str) -> str:
        """The path of a key."""
        return f"{self.path}.{key}" if self.path else key

    def done(self) -> None:
        """Refuse what nobody has taken."""
        for key in self._content:
            if key not in self._known:
                there = listed(self._known, len(self._known))
                raise BadFile(f"{self.source} has a key {self.at(key)}, which is unknown: there may be {there}")


def _gateway(content: dict[str, Any], source: str) -> GatewayFile:
    whole_file = _TomlTable(source, "", content)
    campaign, calls, access = (whole_file.table(name) for name in ("campaign", "calls", "access"))
    providers = {name: _provider(name, table) for name, table in whole_file.tables("providers").items()}
    arms = {name: _arm(name, table, providers) for name, table in whole_file.tables("arms").items()}
    whole_file.done()
    terms = {key: value for key in TERMS if (value := campaign.take(key, _anything, None)) is not None}
    if reads_prompts := isinstance(context := terms.get("context"), str):
        if context != "prompt":
            raise BadParameter(source, "campaign.context", '"prompt", or names and their kinds', context)
        terms["context"] = PROMPT_CONTEXT
        if "budget" not in terms:  # the campaign is there, on terms of its own
            del terms["context"]
    file = GatewayFile(
        source=source,
        store=campaign.take("store", line, None),
        name=campaign.take("name", label, "default"),
        terms=terms,
        reads_prompts=reads_prompts,
        arms=arms,
        keys=tuple(_digest(each) for each in access.take("key_env", _secrets, ... if "access" in content else ())),
        models=calls.take("models", _names, ("auto",)),
        wait=calls.take("wait", real, 2.0, at_least=0, at_most=3600),
        max_tokens=calls.take("max_tokens", whole, None, at_least=1, at_most=MOST_TOKENS),
        timeout=calls.take("timeout", real, 600.0, above=0, at_most=86_400),
        retries=calls.take("retries", whole, 0, at_least=0, at_most=10),
        reward=calls.take("reward", _reward, None),
        most_bytes=calls.take("most_bytes", whole, 1 << 20, at_least=1000, at_most=1 << 28),
    )
    for table in (campaign, calls, access):
        table.done()
    if file.terms and "budget" not in file.terms:
        raise BadFile(f"{source} lacks campaign.budget, which goes with campaign.{next(iter(file.terms))}")
    for name in file.models:
        if name in arms:
            raise BadParameter(source, "calls.models", "names that no arm has", name)
    return file


def _provider(name: str, table: _TomlTable) -> Provider:
    base = table.take("base_url", _address)
    key = table.take("key_env", _secret, None)
    limit = table.take("limit", word, LIMITS[0], words=LIMITS)
    not_billed = table.take("not_billed", _statuses, ())
    table.done()
    return Provider(name, base.rstrip("/") + CHAT, limit, key, not_billed)


def _arm(name: str, table: _TomlTable, providers: dict[str, Provider]) -> ModelArm:
    arm = ModelArm(
        name,
        providers[table.take("provider", word, words=tuple(providers))],
        table.take("model", line),
        table.take("input", _price),
        table.take("output", _price),
        table.take("max_output_tokens", whole, at_least=1, at_most=MOST_TOKENS),
        table.take("cached_input", _price, None),
        table.take("image_tokens", whole, None, at_least=1, at_most=MOST_TOKENS),
        table.take("fallback_only", _yes_or_no, False),
    )
    table.done()
    return arm


def _anything(source: str, path: str, value: object) -> object:  # noqa: ARG001 (a check, as the others are)
    return value


def _price(source: str, path: str, value: object) -> Decimal:
    price = real(source, path, value, at_least=0, at_most=1e6)
    if 0 < price < LEAST_PRICE:
        raise BadParameter(source, path, f"0, or at least {LEAST_PRICE:g}, for a million tokens and not for one", value)
    return Decimal(repr(price))  # as it is written


def _yes_or_no(source: str, path: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise BadParameter(source, path, "true or false", value)
    return value


def _reward(source: str, path: str, value: object) -> float | None:
    return None if value == "later" else real(source, path, value)


def _address(source: str, path: str, value: object) -> str:
    address = line(source, path, value)
    if not address.startswith(("http://", "https://")) or "@" in address or "?" in address or " " in address:
        raise BadParameter(source, path, "http://… or https://…, without a key", "…" if "@" in address else address)
    if address.rstrip("/").endswith(CHAT):
        raise BadParameter(source, path, f"what comes before {CHAT}, which is added", address)
    return address


def _names(source: str, path: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise BadParameter(source, path, "a list of names", value)
    return tuple(label(source, path, name) for name in value)


def _statuses(source: str, path: str, value: object) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise BadParameter(source, path, "a list of statuses from 300 to 599", value)
    return tuple(whole(source, path, status, at_least=300, at_most=599) for status in value)


def _secrets(source: str, path: str, value: object) -> tuple[str, ...]:
    if value == []:
        raise BadParameter(source, path, "at least one name of a variable of the environment", value)
    return tuple(_secret(source, path, name) for name in (value if isinstance(value, list) else [value]))


def _secret(source: str, path: str, value: object) -> str:
    """What the environment has under this name; a refusal never shows it."""
    name = label(source, path, value)
    if not name.isidentifier():
        raise BadParameter(source, path, "the name of a variable of the environment that holds a key", "no such name")
    key = os.environ.get(name, "")
    if not (key and key.isascii() and key.isprintable() and " " not in key):
        raise BadParameter(source, path, "set, in the environment, to a key" if key else "set in the environment", name)
    return key


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
