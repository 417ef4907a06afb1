"""Route prompts to language models: fifty calls in flight, retries, timeouts, cancellations, a hard cap in dollars.

What a call can cost is set aside before it is made. One that was refused cost nothing; one that failed says what it
cost; one that broke off or was cancelled is charged what was set aside. So the bill never passes the cap. A campaign
looks for the largest reward per dollar; docs/requests.md says what a number of prompts changes. Prices are made up.
"""

import asyncio
import sys

import numpy as np

import outlay

MOST = {"small": 0.002, "medium": 0.012, "large": 0.06}  # dollars per call, from the price and the limit of tokens
SECONDS, rng = 0.05, np.random.default_rng(0)  # when to give a call up; for what is made up


class Failed(Exception):
    """The call brought nothing, and cost something all the same: `Failed(cost)`."""


async def call(model: str, prompt: str) -> tuple[float, bool]:  # noqa: ARG001 (made up)
    """What a call costs, and whether its answer is good."""
    await asyncio.sleep(rng.exponential(0.005))
    if rng.random() < 0.1:
        raise [ConnectionRefusedError(), Failed(MOST[model] / 10), ConnectionResetError()][rng.integers(3)]
    return MOST[model] * rng.random(), rng.random() < {"small": 0.5, "medium": 0.8, "large": 0.9}[model]


async def answer(campaign: outlay.Campaign, prompt: str, gate: asyncio.Semaphore, tries: int = 3) -> bool | None:
    """Whether the answer is good; None if every try failed or the budget is spent."""
    for _ in range(tries):
        async with gate:
            if (pull := await campaign.aask(wait=True, metadata={"prompt": prompt})) is None:
                return None
            async with pull:  # left by any other error, or cancelled: what was set aside is charged
                try:
                    cost, good = await asyncio.wait_for(call(pull.arm, prompt), SECONDS)
                    await pull.atell(cost, reward=good)
                    return good
                except ConnectionRefusedError:
                    await pull.acancel("refused")
                except Failed as failed:
                    await pull.atell(failed.args[0], reward=0)
                except (ConnectionError, TimeoutError):
                    await pull.acharge()
    return None


async def main(budget: float = 3.0) -> None:
    """Spend `budget` dollars."""
    campaign, gate = outlay.Campaign(MOST, budget, mode="hard"), asyncio.Semaphore(50)
    answers = await asyncio.gather(*(answer(campaign, f"prompt {n}", gate) for n in range(2000)))
    print(answers.count(True), "good answers:", campaign)


if __name__ == "__main__":
    asyncio.run(main(*map(float, sys.argv[1:])))
