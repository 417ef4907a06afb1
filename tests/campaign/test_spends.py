"""Functions that spend: one for all arms or one for each, async or not, in memory and over HTTP; how they end."""

import asyncio
import inspect
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from outlay import AsyncClient, Campaign, Client
from outlay.errors import BadParameter, BudgetSpent, CampaignConflict, NotNow, PullOver
from tests.service.conftest import running

PRICE = {"small": Decimal("0.25"), "large": Decimal(1)}


def opened(**terms: Any) -> Campaign:
    return Campaign(PRICE, 10, "RoundRobin", **{"mode": "hard", **terms})


def phases(campaign: Campaign) -> list[str]:
    return [pull.status for pull in campaign.pulls()]


def test_a_function_of_the_arm_pays_for_itself() -> None:
    campaign = opened()

    @campaign.spends(cost=lambda found: PRICE[found[0]], reward=lambda found: found[1] == 3)
    def answer(model: str, question: int, *, again: int = 1) -> tuple[str, int]:
        """Answer it."""
        return model, question + again

    assert [answer(2), answer(question=2), answer(1, again=5)] == [("small", 3), ("large", 3), ("small", 6)]
    told = [(pull.arm, pull.cost, pull.reward) for pull in campaign.pulls()]
    assert told == [("small", 0.25, 1.0), ("large", 1.0, 1.0), ("small", 0.25, 0.0)]
    assert (answer.__name__, answer.__doc__) == ("answer", "Answer it.")
    assert str(inspect.signature(answer)) == "(question: int, *, again: int = 1) -> tuple[str, int]"


def test_each_arm_has_its_function() -> None:
    campaign = opened()
    solve = campaign.spends(0.25, 1)({"large": lambda n: n * 100, "small": lambda n: n})
    assert {solve(1) for _ in range(6)} == {1, 100}
    only = campaign.spends(0.25, 1)({"large": lambda n: n * 100})
    assert {only(1) for _ in range(6)} == {100}
    with pytest.raises(BadParameter, match="must be one of small, large; got 'huge'"):
        campaign.spends(1, 1)({"huge": print})()


def test_async_functions_are_awaited() -> None:
    campaign = opened()

    @campaign.spends(cost=0.25, reward=1, most=0.25)
    async def answer(model: str) -> str:
        await asyncio.sleep(0.001)
        return model

    async def many() -> list[str]:
        return [*await asyncio.gather(*(answer() for _ in range(40)))]

    assert inspect.iscoroutinefunction(answer)
    assert len(asyncio.run(many())) == 40
    assert campaign.status().spent == 10
    with pytest.raises(BudgetSpent, match="campaign 'default' has ended"):
        asyncio.run(answer())


def test_threads_share_the_budget_and_wait_for_each_other() -> None:
    campaign = Campaign({"a": 1, "b": 1}, 10, mode="hard")
    call = campaign.spends(cost=1, reward=1)(lambda arm: time.sleep(0.001))

    def until_spent(_: int) -> int:
        for number in range(20):
            try:
                call()
            except BudgetSpent:
                return number
        return 20

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(until_spent, range(8))) == 10
    assert campaign.status().spent == 10


def test_seconds_are_measured_where_no_cost_is_given() -> None:
    campaign = Campaign(["quick", "slow"], 10, "RoundRobin", ttl=None)

    @campaign.spends(reward=lambda found: found)
    def solve(arm: str, fails: bool = False) -> float:
        time.sleep(0.01 if arm == "quick" else 0.03)
        if fails:
            raise TimeoutError("no solution")
        return 0.5

    assert solve() == solve() == 0.5
    for _ in range(2):
        with pytest.raises(TimeoutError, match="no solution"):
            solve(fails=True)
    pulls = [*campaign.pulls()]
    assert [pull.reward for pull in pulls] == [0.5, 0.5, 0, 0]  # those that failed took their time, too
    assert all(pull.cost is not None and pull.cost >= (0.01 if pull.arm == "quick" else 0.03) for pull in pulls)


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_an_exception_cancels_or_charges(failure: type[BaseException]) -> None:
    campaign = opened()

    def fail(arm: str) -> None:
        raise failure("as it happens")

    with pytest.raises(failure, match="as it happens"):
        campaign.spends(cost=1, reward=1)(fail)()
    with pytest.raises(failure, match="as it happens"):
        campaign.spends(cost=1, reward=1, on_error="charge", most=0.5)(fail)()
    assert phases(campaign) == ["cancelled", "expired"]
    assert campaign.status().spent == 0.25  # the most that the small one can cost


def test_what_cannot_be_told_is_charged() -> None:
    campaign = opened()
    costs: list[Any] = [lambda found: found["price"], lambda found: "much", float("nan")]
    for cost in costs:
        with pytest.raises((KeyError, BadParameter)):
            campaign.spends(cost, 1, most=0.5)(lambda arm: {})()
    assert phases(campaign) == ["expired"] * 3
    assert campaign.status().spent == 1  # small, large, small: the lower of what arm and call can cost


@pytest.mark.parametrize("reward", [lambda found: found["good"], lambda found: "good", lambda found: float("inf")])
def test_what_a_call_cost_is_told_where_its_reward_is_none(reward: Any) -> None:
    for campaign in (opened(), Campaign(["small"], 10)):
        with pytest.raises((KeyError, BadParameter)):
            campaign.spends(0.125, reward)(lambda arm: {})()
        assert [(pull.status, pull.cost, pull.reward) for pull in campaign.pulls()] == [("paid", 0.125, None)]


def test_a_cancelled_task_leaves_no_pull_open() -> None:
    campaign = opened()

    @campaign.spends(cost=1, reward=1, on_error="charge")
    async def forever(arm: str) -> None:
        await asyncio.sleep(60)

    async def give_up() -> None:
        async with asyncio.timeout(0.02):
            await forever()

    with pytest.raises(TimeoutError):
        asyncio.run(give_up())
    assert phases(campaign) == ["expired"]


def test_a_task_that_is_cancelled_again_leaves_no_pull_open(tmp_path: Path) -> None:
    async def give_up() -> list[str]:
        async with Campaign(["small"], 10, store=f"sqlite:///{tmp_path / 'again.db'}") as campaign:

            @campaign.spends(reward=1)
            async def forever(arm: str) -> None:
                begun.set()
                await asyncio.sleep(60)

            for steps in range(6):
                begun = asyncio.Event()
                task = asyncio.ensure_future(forever())
                await begun.wait()
                task.cancel()
                for _ in range(steps):
                    await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            async with asyncio.timeout(5):
                while "open" in (found := phases(campaign)):
                    await asyncio.sleep(0.01)
            return found

    assert asyncio.run(give_up()) == ["told"] * 6


def test_what_returns_a_call_that_is_still_to_be_made_is_refused() -> None:
    """A lambda around an async function is none, and a pull would be told before anything was spent."""
    campaign = opened()

    async def later(arm: str) -> None:
        """Async."""

    for function in (lambda arm: later(arm), lambda arm: (each for each in arm)):
        with pytest.raises(BadParameter, match="functions of spends must be functions that return what a call came to"):
            campaign.spends(cost=1, reward=1)(function)()
    assert phases(campaign) == ["cancelled"] * 2


def test_rewards_come_later_by_the_key_of_the_call() -> None:
    campaign = opened()
    answer = campaign.spends(cost=0.25, key=lambda question, **_: f"question {question}")(lambda arm, question: arm)
    assert answer(7) == "small"
    assert phases(campaign) == ["paid"]
    campaign.reward("question 7", 1)
    with pytest.raises(PullOver):  # it was called before
        answer(7)


def test_the_wait_is_bounded_and_the_most_is_of_the_call() -> None:
    campaign = opened()
    held = campaign.ask(arms=["large"])
    assert held is not None
    campaign.set_budget(1.25)
    call = campaign.spends(0.25, 1, most=lambda size: size / 4, wait=0.01)({"large": lambda size: size})
    assert call(1) == 1
    with pytest.raises(NotNow):
        call(2)
    held.tell(0.25, 1)
    assert call(2) == 2


def test_a_pull_that_somebody_else_settled_says_so() -> None:
    campaign = opened()

    @campaign.spends(cost=0.25, reward=1)
    def answer(arm: str) -> None:
        campaign.tell(campaign.pulls().listed()[0], 0.125, 0)

    with pytest.raises(CampaignConflict):
        answer()
    assert (phases(campaign), campaign.status().spent) == (["told"], 0.125)


def test_bad_functions_and_numbers_are_refused() -> None:
    campaign = opened()

    def nothing() -> None:
        """It takes no arm."""

    def steps(arm: str) -> Any:
        yield arm

    async def later(arm: str) -> None:
        """Async."""

    for bad in (3, None, {}, {"small": 3}, steps, nothing, {"small": later, "large": print}):
        given: Any = bad
        with pytest.raises(BadParameter, match="functions of spends must be"):
            campaign.spends(1, 1)(given)
    for name, value in (("cost", "1"), ("reward", {"a": 1}), ("key", "k"), ("on_error", "ignore")):
        terms: Any = {"cost": 1, "reward": 1, name: value}
        with pytest.raises(BadParameter, match=f"{name} of spends must be"):
            campaign.spends(**terms)
    with pytest.raises(BadParameter, match="most of ask"):
        campaign.spends(1, 1, most=-1)(lambda arm: arm)()
    assert phases(campaign) == []


def test_clients_have_it_too(tmp_path: Path) -> None:
    async def afar(address: str) -> str:
        async with AsyncClient(address, "far") as client:

            @client.spends(cost=0.25, reward=1)
            async def answer(model: str) -> str:
                return model

            with pytest.raises(BadParameter, match="async functions with an AsyncClient"):
                client.spends(1, 1)(lambda arm: arm)
            return await answer()

    with running(f"sqlite:///{tmp_path / 'far.db'}") as address, Client(address, "far") as client:
        client.create(PRICE, 1.5, "RoundRobin", mode="hard")
        assert client.spends(cost=0.25, reward=1)(lambda arm: arm)() == "small"
        assert asyncio.run(afar(address)) == "large"
        with pytest.raises(ValueError, match="no"):
            client.spends(cost=0.25, reward=1)({"small": lambda: int("no")})()
        with pytest.raises(BadParameter, match="async functions with an AsyncClient"):
            client.spends(1, 1)({"small": asyncio.sleep})
        assert [arm.pulls for arm in client.status().arms] == [1, 1]
        for _ in range(4):
            client.spends(0.25, 1)(lambda arm: arm)()
        with pytest.raises(BudgetSpent, match="campaign 'far' has ended"):
            client.spends(0.25, 1)(lambda arm: arm)()
