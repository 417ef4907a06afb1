"""The logarithm beyond its first term: divergences are sums of it, which stay exact however close the two laws are."""

import numpy as np
from numpy.typing import ArrayLike

from outlay.checks import Vector

_CLOSE = 0.02  # nearer to 0 the series is exact, and the difference is not
_POWERS = range(10, 1, -1)


def log_remainder(x: ArrayLike) -> Vector:
    """ln(1 − x) + x = −x²/2 − x³/3 − …, without cancellation for small x; −∞ at 1.

    >>> float(log_remainder(1e-9))
    -5.0000000033...e-19
    """
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        series = np.zeros_like(x)
        for power in _POWERS:
            series = x * (1.0 / power + series)
        remainder: Vector = np.where(np.abs(x) < _CLOSE, -x * series, np.log1p(-x) + x)
    return remainder
