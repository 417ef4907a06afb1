"""Answer 1500 questions for three dollars: route each to a language model, twenty calls at a time, under a hard cap.

A call costs what its tokens cost, and their number is heavy-tailed; `MAX_TOKENS` cuts an answer off, so the most that a
call can cost is known, and the cap holds. A good answer is worth a point. The best rate is the small model's; with that
many questions the money is best shared between two.
Prices, lengths and qualities are made up: put your own call in `answer`.
"""

import asyncio
import sys

import numpy as np

import outlay

MAX_TOKENS = 4000
MODELS = {  # dollars per 1000 tokens, chance that an answer is good
    "small": (0.0005, 0.52),
    "medium": (0.0030, 0.80),
    "large": (0.0150, 0.92),
}
rng = np.random.default_rng(0)


async def answer(model: str) -> tuple[float, float]:
    """What a call costs, and what its answer is worth."""
    price, quality = MODELS[model]
    tokens = min(MAX_TOKENS, int(150 * (1 + rng.pareto(1.3))))
    await asyncio.sleep(1e-6 * tokens)
    return price * tokens / 1000, float(rng.random() < quality)


async def work(campaign: outlay.Campaign) -> None:
    """Ask, call, tell, until the questions are answered or the budget is spent."""
    while (pull := await campaign.aask(wait=True)) is not None:
        cost, worth = await answer(pull.arm)
        await campaign.atell(pull, cost=cost, reward=worth)


async def main(budget: float = 3.0, questions: float = 1500) -> None:
    """Spend `budget` dollars on so many questions."""
    most = {model: price * MAX_TOKENS / 1000 for model, (price, _) in MODELS.items()}
    campaign = outlay.Campaign(most, budget, mode="hard", requests=int(questions))
    await asyncio.gather(*(work(campaign) for _ in range(20)))
    status = campaign.status()
    print(f"spent ${status.spent:.4f} of ${status.budget:g}, {status.reward:g} of {status.used} answers were good")
    for arm in status.arms:
        print(f"  {arm.name:<7} {arm.pulls:>5} calls  ${arm.spent:.4f}  {arm.reward:>5g} good")


if __name__ == "__main__":
    asyncio.run(main(*map(float, sys.argv[1:])))
