"""The median of a row of numbers in linear time, in place."""

from outlay.checks import Vector


def median(values: Vector, row: int, count: int) -> float:
    """Median of `values[row, :count]`, whose order it changes; of an even number, the mean of the middle two.

    >>> import numpy as np
    >>> median(np.array([[4.0, 1.0, 3.0, 2.0]]), 0, 4)
    2.5
    """
    middle = count // 2
    upper = select(values, row, count, middle)
    if count % 2 == 1:
        return upper
    lower = float(values[row, 0])
    for i in range(1, middle):
        lower = max(lower, float(values[row, i]))
    return 0.5 * lower + 0.5 * upper


def select(values: Vector, row: int, count: int, rank: int) -> float:
    """Find the number that sorting would put at `rank`, and leave none larger before it (Hoare's quickselect)."""
    left, right = 0, count - 1
    while left < right:
        pivot = float(values[row, (left + right) // 2])
        i, j = left, right
        while i <= j:
            while values[row, i] < pivot:
                i += 1
            while values[row, j] > pivot:
                j -= 1
            if i <= j:
                low = float(values[row, j])
                values[row, j] = values[row, i]
                values[row, i] = low
                i += 1
                j -= 1
        if rank <= j:
            right = j
        elif rank >= i:
            left = i
        else:
            break
    return float(values[row, rank])
