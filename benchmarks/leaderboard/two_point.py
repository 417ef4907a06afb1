"""Arms whose cost and reward have two values each."""

from outlay.arms import Discrete


def two_point(cost: float, reward: float, cost_chance: float, reward_chance: float, low: float = 0.5) -> Discrete:
    """Independent two-point cost and reward of these means: low·cost or a larger cost, 0 or a reward."""
    high = (cost - (1.0 - cost_chance) * low * cost) / cost_chance
    costs, prize, p, q = (low * cost, high), reward / reward_chance, cost_chance, reward_chance
    return Discrete(
        costs=[costs[0], costs[0], costs[1], costs[1]],
        rewards=[0.0, prize, 0.0, prize],
        probabilities=[(1.0 - p) * (1.0 - q), (1.0 - p) * q, p * (1.0 - q), p * q],
    )
