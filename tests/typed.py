"""What a type checker says of calls that users write. Nothing here is ever called: `make lint` reads it.

Where mypy refuses a line that works, `make lint` fails; and where it accepts a mistake, since the mark on that line,
which names the error, is then of no use.
"""
# ruff: noqa: F841

from typing import Any, NamedTuple

import numpy as np

import outlay
import outlay.campaign
from outlay import Campaign, Problem, arms, policies, simulate
from outlay.policies import Policy


class Mine(NamedTuple):
    """A user's ten lines."""

    alpha: float = 1.0

    def score(self, belief: outlay.Belief, log_n: float) -> float:
        return belief.mean_reward + self.alpha * log_n


class Chance(NamedTuple):
    spread: float = 1.0

    def sample(self, belief: outlay.Belief, log_n: float, rng: np.random.Generator) -> float:
        return belief.mean_reward + self.spread * rng.standard_normal()


class Seeing(NamedTuple):
    arm: int = 0

    def choose(self, memory: Any, now: policies.Now, rng: np.random.Generator) -> int:
        return self.arm


class Nothing(NamedTuple):
    alpha: float = 1.0


def simulations() -> None:
    problem = Problem([arms.Constant(1.0, 1.0), arms.Constant(1.0, 2.0)])
    contenders: dict[str, Policy] = {"mine": Mine(), "theirs": policies.Frugal()}
    simulate(problem, policies.Frugal(), [10.0])
    simulate(problem, policies.UCBB1(1.0, 1.0, 0.0), budget=10.0)
    simulate(problem, [policies.Frugal(), policies.RoundRobin(), Mine()], [10.0])
    simulate(problem, {"a": policies.Frugal(), "b": Mine()}, [10.0])
    simulate(problem, contenders, np.array([10.0]), backend="dask", workers=2)
    simulate(problem, [Mine(), Chance(), Seeing()], [10.0], progress=print)
    simulate(problem, "Frugal", [10.0])  # type: ignore[arg-type]
    simulate(problem, ["Frugal"], [10.0])  # type: ignore[list-item]
    simulate(problem, policies.Frugal, [10.0])  # type: ignore[arg-type]
    simulate(problem, arms.Constant(1.0, 1.0), [10.0])  # type: ignore[arg-type]
    simulate(problem, Nothing(), [10.0])  # type: ignore[arg-type]
    simulate(problem, {1: Mine()}, [10.0])  # type: ignore[dict-item]
    simulate("G", Mine(), [10.0])  # type: ignore[arg-type]
    simulate(problem, Mine(), [10.0], backend="thread")  # type: ignore[arg-type]
    simulate(problem, Mine(), [10.0], progress="yes")  # type: ignore[arg-type]

    result = simulate(problem, Mine(), [10.0])
    result.regret("realised")
    result.regret(kind="x")  # type: ignore[arg-type]

    policies.KLRate("plus", evidence="sample")
    policies.KLRate("pluss")  # type: ignore[arg-type]


def campaigns() -> None:
    Campaign(arms=["a", "b"], budget=5.0, mode="hard")
    Campaign(arms=["a", "b"], budget=5.0, policy=Mine())
    Campaign(arms=["a", "b"], budget=5.0, mode="harrd")  # type: ignore[arg-type]
    campaign = Campaign(["a"], 5)
    for each in campaign:
        with each:
            each.tell(1, 1)
        each.on_error("ignore")  # type: ignore[arg-type]
    campaign.cancel(1.5)  # type: ignore[arg-type]
    campaign.ask(tags=[1])  # type: ignore[list-item]
    lost: None = campaign.ask()  # type: ignore[assignment]


async def spend(campaign: Campaign) -> None:
    async for pull in campaign:
        async with pull.on_error("cancel"):
            receipt = await pull.atell(0.5, reward=True)
            cost: float = receipt.cost
    maybe = await campaign.aask("key", wait=True, timeout=5, tags=["a"], metadata={"n": 1})
    if maybe is not None:
        await campaign.aamend(maybe, cost, 1.0, reason="invoice")
    await campaign.aset_budget(9)
    budget: float = (await campaign.astatus()).budget
    pulls: list[outlay.campaign.PullStatus] = await campaign.apulls(status="open")
    await campaign.apulls(status="pending")  # type: ignore[arg-type]
    await campaign.atell(1, "2", 3)  # type: ignore[arg-type]
    await campaign.aask(wait="yes")  # type: ignore[arg-type]
    await campaign.acancel()  # type: ignore[call-arg]
    wrong: str = await campaign.astatus()  # type: ignore[assignment]
