"""Bad input to simulate is answered in one sentence."""

import math
from typing import Any, NamedTuple

import pytest

import outlay
from outlay import Problem, arms, policies
from outlay.arms import catalogue
from outlay.errors import BadParameter


class Bare(NamedTuple):
    """Compares with the leader, and has no memory for it."""

    x: float = 1.0

    def excess(self, belief: Any, low: Any, high: Any) -> float:
        return self.x


class Named(NamedTuple):
    """Has a field with the name of a method."""

    excess: float = 1.0
    sample: float = 2.0

    def choose(self, memory: Any, now: Any, rng: Any) -> int:
        return int(now.pulls % 2)


def test_a_field_may_have_the_name_of_a_method() -> None:
    assert outlay.simulate(catalogue.load("G"), Named(), [20.0], runs=1).pulls[0, 0, 0, 2] == 0


GOOD: dict[str, Any] = {"problem": catalogue.load("G"), "policies": policies.Fixed(0), "budgets": [10.0]}
FREE = Problem([arms.Constant(0.0, 0.2), arms.Constant(1.0, 1.5)])
UNBOUNDED = Problem([arms.Constant(1.0, 1.0), arms.Gaussian(1.0, 1.0, 1.0, 1.0)])
BAD: list[tuple[dict[str, Any], str]] = [
    ({"problem": "G"}, "problem of simulate must be an outlay.Problem; got 'G'"),
    ({"policies": []}, "policies of simulate must be at least one policy"),
    ({"policies": [policies.Fixed(0), policies.Fixed(1)]}, "a dict from label to policy"),
    ({"policies": {1: policies.Fixed(0)}}, "a label in policies of simulate must be a string"),
    ({"policies": "UCBB1"}, "exactly one of the methods score, sample, excess and choose"),
    ({"policies": [policies.UCBB1]}, "must be an object, not its class (did you mean UCBB1(…)?); got"),
    (
        {"policies": Bare()},
        "memory of Bare must be one with a method lead, such as PooledMoments, for a policy with excess",
    ),
    ({"policies": policies.Fixed(3)}, "arm of Fixed"),
    (
        {"policies": policies.UCBB1([1, 2], 3, 0)},
        "var_cost of UCBB1 must be one number or 3 numbers, one per arm; got 2 numbers",
    ),
    (
        {"problem": Problem([arms.Constant(1e-13, 1.0), arms.Constant(1.0, 1.0)]), "policies": policies.UCBB1(1, 1, 0)},
        "min_cost of UCBB1 must be at most 1e-13, the smallest mean cost of the problem; got 1e-12",
    ),
    ({"budgets": None}, "budgets or budget of simulate must be given"),
    ({"budget": 5.0}, "budgets or budget of simulate must be given, and not both"),
    ({"budgets": []}, "budgets of simulate"),
    ({"budgets": [0.0]}, "budgets of simulate must be a finite number > 0; got 0.0"),
    ({"budgets": [1.0, -1.0]}, "budgets at position 1 of simulate must be a finite number > 0; got -1.0"),
    ({"budgets": [1.0, math.nan]}, "got nan"),
    ({"budgets": [1.0, math.inf]}, "got inf"),
    ({"budgets": [1.0, 1.0]}, "budgets of simulate must be in rising order"),
    ({"budgets": None, "budget": [1.0, 2.0]}, "budget of simulate must be a finite number"),
    ({"budgets": None, "budget": 1e-322}, "budget of simulate must be ≥ 1e-300"),
    ({"runs": 10**14}, "runs of simulate must be small enough: these need"),
    ({"runs": 2.5}, "runs of simulate must be a whole number ≥ 1; got 2.5"),
    ({"seed": -1}, "seed of simulate must be a whole number ≥ 0; got -1"),
    ({"workers": 0}, "workers of simulate must be a whole number ≥ 1; got 0"),
    ({"max_pulls": 0}, "max_pulls of simulate must be a whole number ≥ 1"),
    ({"backend": "gpu"}, 'backend of simulate must be "threads", "dask", "ray" or "cuda"; got \'gpu\''),
    ({"progress": "yes"}, "progress of simulate must be True, False, None or a function; got 'yes'"),
    ({"requests": 0}, "requests of simulate must be a whole number ≥ 1, or None; got 0"),
    ({"requests": 2**60}, "requests of simulate must be ≤ 9,007,199,254,740,992; got 1152921504606846976"),
    ({"requests": []}, "requests of simulate must be a whole number ≥ 1, a sequence of them, or None; got []"),
    ({"requests": [10, 2.5]}, "requests at position 1 of simulate must be a whole number ≥ 1; got 2.5"),
    ({"requests": [1, 2, 3], "budgets": [1.0, 2.0]}, "requests of simulate must be one number, or one for each"),
    ({"requests": [50, 10], "budgets": 20},
     "requests of simulate must be in rising order, each once, where the budget is the same; got [50, 10]"),
    ({"requests": [1, 2], "budgets": [5.0, 3.0]}, "budgets of simulate must be in rising order, each pair of a budget"),
    ({"requests": 5, "budgets": [math.inf, -1.0]}, "budgets at position 1 of simulate must be a number > 0; got -1.0"),
    ({"requests": 5, "budgets": None, "budget": math.nan}, "budget of simulate must be a number > 0; got nan"),
    ({"budgets": math.inf}, "budgets of simulate must be a finite number > 0, unless requests is given; got inf"),
    ({"problem": FREE}, "of simulate must be a finite number > 0, unless requests is given; got 0.0"),
    ({"problem": UNBOUNDED, "mode": "hard"}, "problem of simulate must be one whose costs are bounded where mode is"),
    ({"mode": "soft"}, "mode of simulate must be one of until_exceeded, hard; got 'soft'"),
    ({"partial": "yes"}, "partial of simulate must be True or False; got 'yes'"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "sentence"), BAD, ids=[sentence for _, sentence in BAD])
def test_bad_input_is_answered_in_one_sentence(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadParameter) as caught:
        outlay.simulate(**{**GOOD, **change})
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
