"""Cells of a notebook, and which arm a policy pulls."""

import textwrap
from typing import Any

import outlay
from outlay import arms

PROBLEM = outlay.Problem([arms.Constant(1.0, 1.0), arms.Constant(1.0, 2.0), arms.Constant(1.0, 3.0)])


def favourite(policy: Any, problem: outlay.Problem = PROBLEM) -> int:
    """The arm that a policy pulls most."""
    result = outlay.simulate(problem, policy, budgets=[50.0], runs=1, workers=1)
    return int(result.pulls[0, 0, 0].argmax())


def define(space: dict[str, Any], source: str) -> None:
    """Run a notebook cell: in one namespace, module `__main__`."""
    space.setdefault("__name__", "__main__")
    exec(textwrap.dedent(source), space)
