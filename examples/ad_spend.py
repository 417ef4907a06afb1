"""Spend an advertising budget on four channels, one batch of clicks per day.

A click's price comes out of an auction; some clicks lead to a sale, and sales differ in size. The clicks of a day are
chosen in the morning, all at once, and reported in the evening. One in fifty is refunded later, which is an amendment.
Prices and sales are made up: put your own numbers in `buy`.
"""

import sys

import numpy as np

import outlay

CHANNELS = {  # mean price of a click, chance of a sale, mean size of a sale
    "search": (1.20, 0.20, 14.0),
    "social": (0.40, 0.08, 6.5),
    "video": (0.70, 0.10, 8.0),
    "mail": (0.15, 0.03, 6.0),
}
rng = np.random.default_rng(0)


def buy(channel: str) -> tuple[float, float]:
    """What a click costs, and the sale it leads to (mostly 0)."""
    price, chance, size = CHANNELS[channel]
    sale = size * rng.lognormal(-0.18, 0.6) if rng.random() < chance else 0.0
    return round(price * rng.lognormal(-0.08, 0.4), 4), round(sale, 2)


def main(budget: float = 5000.0, clicks_per_day: float = 100.0) -> None:
    """Spend `budget`."""
    campaign = outlay.Campaign(list(CHANNELS), budget, unit="0.0001")
    days = 0
    while pulls := campaign.ask_many(int(clicks_per_day)):
        days += 1
        bought = [(pull, *buy(pull.arm)) for pull in pulls]
        campaign.tell_many(bought)
        for pull, _, sale in bought:
            if rng.random() < 0.02:
                campaign.amend(pull, cost=0, reward=sale, reason="invalid click")
    status = campaign.status()
    print(f"{days} days, spent {status.spent:.2f}, sold {status.reward:.2f}: {status.reward / status.spent:.3f} for 1")
    for arm in status.arms:
        price, chance, size = CHANNELS[arm.name]
        truth = chance * size / price
        print(f"  {arm.name:<7} {arm.pulls:>5} clicks  {arm.spent:>8.2f} spent  {truth:.2f} for 1 in truth")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
