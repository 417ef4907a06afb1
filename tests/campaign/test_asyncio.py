"""Campaigns in asyncio: every verb has its awaitable form, and cancelled tasks leave no money behind."""

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import asdict

from outlay import Campaign
from outlay.campaign import verify

READ_ONLY_NAMES = {"name", "arms", "budget", "policy", "pool", "context"}
NO_VERBS = {"open", "on", "spends"}  # one opens a campaign, one calls back from a thread, one takes async functions


def verbs() -> list[str]:
    names = [name for name in dir(Campaign) if not name.startswith("_")]
    awaitable = {name for name in names if inspect.iscoroutinefunction(getattr(Campaign, name))}
    return sorted(set(names) - awaitable - READ_ONLY_NAMES - NO_VERBS)


@pytest.mark.parametrize("name", verbs())
def test_every_verb_has_its_form_for_asyncio(name: str) -> None:
    verb, awaitable = getattr(Campaign, name), getattr(Campaign, f"a{name}")
    assert inspect.iscoroutinefunction(awaitable)
    plain, later = inspect.signature(verb), inspect.signature(awaitable)
    assert list(later.parameters.values()) == list(plain.parameters.values())
    assert awaitable.__name__ == f"a{name}"
    assert awaitable.__doc__.startswith(f"`{name}` for asyncio.")
    assert "Steps" not in str(plain)
    assert "Generator" not in str(plain)


def spent_alike(campaign: Campaign) -> list[tuple[Any, ...]]:
    """The events without their times."""
    return [(entry.kind, entry.pull, entry.arm, entry.cost, entry.reward) for entry in campaign.history()]


def by_hand(campaign: Any) -> list[object]:
    said: list[object] = []
    one, two, three, four = campaign.ask_many(4, key="job", tags=["t"])
    said += [campaign.tell(one, 1, True), campaign.tell_many([(two, 0.5, 0.25)])]
    campaign.cancel(three, "not needed")
    campaign.extend(four, 60)
    campaign.charge(four)
    campaign.amend(one, 0.75, 1, "invoice")
    campaign.set_budget(11)
    campaign.add_arm("c", 1)
    campaign.disable_arm("c")
    campaign.enable_arm("c")
    said.append(campaign.warm_start([("a", 1, 1)], key="log"))
    campaign.pause()
    campaign.resume()
    said += [campaign.ask(key="last"), list(campaign.pulls(tag="t", limit=2))]
    campaign.close()
    return [*said, campaign.status(), *campaign.history(5)]


class Awaited:
    """The verbs of a campaign, each in its form for asyncio."""

    def __init__(self, campaign: Campaign, runner: asyncio.Runner) -> None:
        self._campaign, self._runner = campaign, runner

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        return lambda *given, **named: self._runner.run(getattr(self._campaign, f"a{verb}")(*given, **named))


def timeless(said: list[object]) -> str:
    """Answers as text, without what depends on when they were given."""
    hidden = {"expires", "asked", "head", "at", "more"}

    def shown(value: Any) -> Any:
        if isinstance(value, msgspec.Struct):
            return {name: shown(part) for name, part in asdict(value).items() if name not in hidden}
        return [shown(part) for part in value] if isinstance(value, list) else value

    return repr(shown(said))


@pytest.mark.parametrize("kept", [False, True])
def test_awaited_verbs_do_what_the_others_do(tmp_path: Path, kept: bool) -> None:
    stores = [f"sqlite:///{tmp_path}/{name}.db" if kept else None for name in "ab"]

    one, other = (Campaign({"a": 1, "b": 2}, 9, store=store) for store in stores)
    with one, other, asyncio.Runner() as runner:
        assert timeless(by_hand(Awaited(other, runner))) == timeless(by_hand(one))
        assert spent_alike(other) == spent_alike(one)
    for store in stores:
        assert store is None or verify(store).problems == ()


def test_leaving_the_block_lets_the_store_go(tmp_path: Path) -> None:
    async def main() -> Campaign:
        async with Campaign(["a"], 9, store=f"sqlite:///{tmp_path}/a.db") as campaign:
            pass
        return campaign

    campaign = asyncio.run(main())
    with pytest.raises(OSError, match="disconnected"):
        campaign.ask()


def test_what_is_iterated_is_what_is_asked() -> None:
    async def main(campaign: Campaign) -> int:
        count = 0
        async for pull in campaign:
            async with pull:
                count += 1
                await pull.atell(1, 1)
        return count

    one, other = Campaign({"a": 1}, 5, mode="hard"), Campaign({"a": 1}, 5, mode="hard")
    for pull in other:
        pull.tell(1, 1)
    assert asyncio.run(main(one)) == 5
    assert spent_alike(one) == spent_alike(other)


@pytest.mark.parametrize("choose", [lambda c: c.ask, lambda c: c.aask], ids=["thread", "asyncio"])
def test_bad_arguments_are_refused_alike(choose: Callable[[Campaign], Any]) -> None:
    ask = choose(Campaign(["a"], 5))

    def called(**arguments: object) -> None:
        answer = ask(**arguments)
        if inspect.iscoroutine(answer):
            asyncio.run(answer)

    def refused(match: str, **arguments: object) -> None:
        with pytest.raises(ValueError, match=match):
            called(**arguments)

    refused("wait of ask must be ≥ 0", wait=-1)
    refused("timeout of ask must be ≥ 0 and ≤ 1e.06; got -1", timeout=-1)
    refused("metadata of ask must be a JSON object", metadata=[1])
