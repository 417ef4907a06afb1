"""The logarithm of a time that is a pull or two ahead of the pulls made so far."""

import math


def log_after(log_n: float, more: float) -> float:
    """ln(n + more) from ln n; it rises with log_n.

    >>> round(log_after(math.log(5.0), 2.0) - math.log(7.0), 12)
    0.0
    """
    return log_n + math.log1p(more * math.exp(-log_n))
