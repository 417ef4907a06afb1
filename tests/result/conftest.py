import numpy as np
import pytest

from outlay.arms import Gaussian, Problem
from outlay.policies import Fixed, RoundRobin
from outlay.results import Result


@pytest.fixture
def tiny() -> Result:
    """Two arms of rates 2 and 1 (mean costs 1 and 2, so μΔ = 0 and 2), two policies, two runs, two budgets."""
    pulls = np.array([[[[1, 2], [3, 4]], [[2, 0], [5, 1]]], [[[1, 0], [2, 0]], [[1, 0], [2, 0]]]])
    return Result(
        problem=Problem([Gaussian(1.0, 2.0, 0.5, 0.5), Gaussian(2.0, 2.0, 0.5, 0.5)], names=["a", "b"]),
        policies={"even": RoundRobin(), "best": Fixed(0)},
        budgets=np.array([5.0, 10.0]),
        seed=7,
        pulls=pulls,
        cost=np.array([[[5.5, 11.0], [6.0, 10.5]], [[5.1, 10.1], [5.2, 10.2]]]),
        reward=np.array([[[6.0, 14.0], [4.0, 12.0]], [[2.0, 4.0], [3.0, 5.0]]]),
        oracle_reward=np.array([[10.0, 20.0], [12.0, 22.0]]),
        version="0.1.0",
    )
