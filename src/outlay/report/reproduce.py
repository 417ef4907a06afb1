"""What makes a result again: Python code, and a command where there is one."""

import math

import numpy as np

from outlay import policies
from outlay.arms import Problem, catalogue
from outlay.arms.remembered import absent_laws
from outlay.engine.limits import usual_budgets
from outlay.errors import BadFile, BadParameter, NotCovered
from outlay.knowledge import named_policies
from outlay.own.code import own_classes
from outlay.own.references import reference_of, short
from outlay.parameters import Parameters
from outlay.results import Floats, Result

# A problem whose text is longer (an empirical law lists every sample) is better kept in a file.
_LONGEST_PROBLEM = 4000
_MOST_ARMS = 100  # more are longer than that, whatever their laws


def python_call(result: Result) -> str:
    """A script whose `result` equals `result`, as long as its laws and policies are outlay's own.

    Laws and policies of the user's are imported from where they were; a policy that is known by its repr alone is shown
    as that, and a problem too long to read as the file it has to come from.
    """
    chosen = [f"    {label!r}: {_policy_code(policy)}," for label, policy in result.policies.items()]
    return "\n".join(
        [
            *(["import math", ""] if np.isinf(result.budgets).any() else []),
            "import outlay",
            "from outlay import arms, policies",
            *_imports(result),
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


def shell_call(result: Result) -> str:
    """The command that makes the same numbers and its report; empty where no command can say it all.

    It can where the problem is of the catalogue, the budgets follow from one, and every policy is as `outlay compare`
    would make it.
    """
    names = [name for name in catalogue.names() if catalogue.load(name) == result.problem]
    top, counts = float(result.budgets[-1]), set() if result.requests is None else set(result.requests.tolist())
    usual = np.array([top]) if top == math.inf else usual_budgets(top)
    if not names or not np.array_equal(result.budgets, usual) or len(counts) > 1:
        return ""
    try:
        told = named_policies(result.problem, result.labels)
    except (BadParameter, NotCovered):
        return ""
    if any(told.get(label) != policy for label, policy in result.policies.items()):
        return ""
    parts = [f"outlay compare {names[0]} --budget {top:g} --runs {result.runs} --seed {result.seed}"]
    parts += [f"--requests {count}" for count in counts] + ["--mode hard"] * (result.mode == "hard")
    lines = [" ".join(parts), " ".join(f"--policy {label}" for label in result.labels)]
    return " \\\n    ".join(lines)


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
        return "...  # its laws cannot be written down: make it as you did"
    laws = [short(reference) for reference in _own_laws(problem)]
    handed = f", laws=[{', '.join(laws)}]" if laws else ""
    if many or len(text) > _LONGEST_PROBLEM:
        return f'outlay.Problem.load("problem.toml"{handed})  # where problem.save("problem.toml") put it'
    quoted = repr(text) if "\\" in text or "'''" in text else f"'''\n{text}'''"
    return f"outlay.Problem.from_toml({quoted}{handed})"


def _imports(result: Result) -> list[str]:
    """Where the user's laws and policies come from, a line for each."""
    references = [*_own_laws(result.problem), *map(reference_of, own_classes(*result.policies.values()))]
    lines = []
    for reference in dict.fromkeys(references):
        module, _, name = reference.rpartition(":")
        here = module == "__main__" or "." in name
        lines.append(f"# {short(reference)} is yours: define it here" if here else f"from {module} import {name}")
    return lines


def _own_laws(problem: Problem) -> list[str]:
    """What the user's laws are called, whether their code is here or not."""
    absent = [law.reference for law in absent_laws(*problem.arms)]
    return list(dict.fromkeys([*map(reference_of, own_classes(*problem.arms)), *absent]))


def _policy_code(policy: object) -> str:
    """The call that makes a policy; one that is not outlay's is loaded as its repr."""
    if isinstance(policy, str):
        return policy
    name = type(policy).__name__
    if policies.BY_NAME.get(name) is not type(policy) or not isinstance(policy, Parameters):
        return repr(policy)
    return f"policies.{'' if name in policies.BUILT_IN else 'baselines.'}{policy.call()}"
