"""The Python code that makes a result again."""

import math

import numpy as np

from outlay import policies
from outlay.arms import Problem, catalogue
from outlay.engine.limits import usual_budgets
from outlay.errors import BadFile
from outlay.parameters import Parameters
from outlay.results.result import Floats, Result

# A problem whose text is longer (an empirical law lists every sample) is better kept in a file.
_LONGEST_PROBLEM = 4000
_MOST_ARMS = 100  # more are longer than that, whatever their laws


def python_call(result: Result) -> str:
    """A script whose `result` equals `result`, as long as its laws and policies are outlay's own.

    A policy from elsewhere is shown as its repr; a problem too long to read, or with laws from elsewhere, as the file
    or the name it has to come from.
    """
    chosen = [f"    {label!r}: {_policy_code(policy)}," for label, policy in result.policies.items()]
    return "\n".join(
        [
            *(["import math", ""] if np.isinf(result.budgets).any() else []),
            "import outlay",
            "from outlay import arms, policies",
            "",
            f"problem = {_problem_code(result.problem)}",
            "contenders = {",
            *chosen,
            "}",
            "result = outlay.simulate(",
            f"    problem, contenders, {_budgets_code(result.budgets)}{_more(result)}, runs={result.runs}, "
            f"seed={result.seed}",
            ")",
            "",
        ]
    )


def _budgets_code(budgets: Floats) -> str:
    """The largest budget alone, where `simulate` makes the others from it."""
    top = float(budgets[-1])
    if np.isinf(budgets).any():
        listed = ", ".join("math.inf" if budget == math.inf else repr(budget) for budget in budgets.tolist())
        return f"budgets=[{listed}]"
    if np.array_equal(budgets, usual_budgets(top)):
        return f"budget={top!r}"
    return f"budgets={budgets.tolist()!r}"


def _more(result: Result) -> str:
    """What else `simulate` was given that is not as by default."""
    counts = [] if result.requests is None else result.requests.tolist()
    requests = f", requests={counts[0] if len(set(counts)) == 1 else counts!r}" if counts else ""
    return requests + (f", mode={result.mode!r}" if result.mode != "until_exceeded" else "")


def _problem_code(problem: Problem) -> str:
    for name in catalogue.names():
        if catalogue.load(name) == problem:
            return f"arms.catalogue.load({name!r})"
    many = len(problem) > _MOST_ARMS
    try:
        text = (Problem({type(law): law for law in problem.arms}.values()) if many else problem).to_toml()
    except BadFile:
        return "...  # it has laws that are not outlay's: make it as you did"
    if many or len(text) > _LONGEST_PROBLEM:
        return 'outlay.Problem.load("problem.toml")  # where problem.save("problem.toml") put it'
    quoted = repr(text) if "\\" in text or "'''" in text else f"'''\n{text}'''"
    return f"outlay.Problem.from_toml({quoted})"


def _policy_code(policy: object) -> str:
    """The call that makes a policy; one that is not outlay's is loaded as its repr."""
    if isinstance(policy, str):
        return policy
    name = type(policy).__name__
    if policies.BY_NAME.get(name) is not type(policy) or not isinstance(policy, Parameters):
        return repr(policy)
    return f"policies.{'' if name in policies.BUILT_IN else 'baselines.'}{policy.call()}"
