"""Wilson's confidence bounds of a mean in [0, 1], in a form without cancellation.

With g = z²/n and A = p + g/2 + √(g·(p(1−p) + g/4)) the upper bound is A/(1+g). The lower bound has − before the root;
the two have the product p²/(1+g), so it is p²/A: exactly 0 at p = 0, never negative, and falling as g grows.

Reference: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).
"""

import math


def wilson_upper(share: float, g: float) -> float:
    """Upper bound of a mean, at most 1.

    >>> wilson_upper(0.5, 1.0) == (1.0 + math.sqrt(0.5)) / 2.0
    True
    """
    return min(1.0, _sum_with_root(share, g) / (1.0 + g))


def wilson_lower(share: float, g: float) -> float:
    """Lower bound of a mean, at least 0.

    >>> wilson_lower(0.0, 0.1), round(wilson_lower(0.5, 1.0), 6)
    (0.0, 0.146447)
    """
    return 0.0 if share <= 0.0 else share * (share / _sum_with_root(share, g))


def _sum_with_root(share: float, g: float) -> float:
    return share + 0.5 * g + math.sqrt(g * (share * (1.0 - share) + 0.25 * g))
