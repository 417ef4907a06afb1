"""A comparison from a problem's name to the files of its report: what `bursar compare` does, as functions."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bursar import policies
from bursar.arms import Problem, catalogue
from bursar.engine import simulate
from bursar.engine.result import Result
from bursar.errors import BadParameter, NotCovered


def find_problem(text: str) -> Problem:
    """A problem of the catalogue by its name, else the TOML file at that path."""
    if text in catalogue.names():
        return catalogue.load(text)
    if not Path(text).exists():
        known = ", ".join(catalogue.names())
        raise BadParameter("compare", "problem", f"a TOML file or a name from the catalogue ({known})", text)
    return Problem.load(text)


def paper_policies(problem: Problem) -> dict[str, Any]:
    """The paper's policies that `problem` admits, told what they may know, and Uniform to compare with.

    UCB-B1 and UCB-M1 know the second moments, UCB-B2 and UCB-B2C the bounds, all of them half the smallest mean cost.
    """
    chosen = {}
    for name in (*_KNOWING, "Uniform"):
        try:
            chosen[name] = policy_for(problem, name)
        except NotCovered:
            continue
    return chosen


def named_policies(problem: Problem, names: Iterable[str]) -> dict[str, Any]:
    """The policies called `names` (UCBB1, ucb-b1, …), told what they need; NotCovered if `problem` cannot."""
    keys = {_key(name): name for name in policies.BUILT_IN}
    chosen = {}
    for asked in names:
        if _key(asked) not in keys:
            raise BadParameter("compare", "policy", f"one of {', '.join(policies.BUILT_IN)}", asked)
        name = keys[_key(asked)]
        chosen[name] = policy_for(problem, name)
    return chosen


def policy_for(problem: Problem, name: str) -> Any:
    """One policy with the knowledge of `problem` that it asks for; `Fixed` plays the best arm."""
    kind: Callable[..., Any] = policies.BUILT_IN[name]
    if name not in _KNOWING:
        return kind(problem.best) if name == "Fixed" else kind()
    try:
        known = _KNOWING[name](problem)
    except NotCovered as need:
        raise NotCovered(f"{name} needs {need}, and this problem has an arm without") from None
    return kind(min_cost=float(problem.mean_costs.min()) / 2, **known)


def compare(
    problem: str,
    names: Sequence[str] = (),
    *,
    budget: float,
    runs: int,
    seed: int = 0,
    workers: int | None = None,
    out: Path,
    save: Path | None = None,
) -> tuple[Result, list[Path]]:
    """Play the policies called `names` (the paper's without any) on a problem, write the report: the result, the files.

    Bad places for the files are found before the work begins.
    """
    arms = find_problem(problem)
    chosen = named_policies(arms, names) if names else paper_policies(arms)
    out.mkdir(parents=True, exist_ok=True)
    if save and (save.is_dir() or not save.parent.is_dir()):
        raise BadParameter("compare", "save", "a file in a folder that exists", str(save))
    result = simulate(arms, chosen, budget=budget, runs=runs, seed=seed, workers=workers)
    written = write_report(result, out)
    if save:
        result.save(save)
        written.append(save)
    return result, written


def write_report(result: Result, folder: Path) -> list[Path]:
    """Write the page and the figure (PNG and SVG) into `folder`; their paths."""
    from bursar.report.figures import regret_figure, save_figure
    from bursar.report.page import write_page

    page, png, svg = folder / "report.html", folder / "regret.png", folder / "regret.svg"
    write_page(result, page)
    figure = regret_figure(result)
    save_figure(figure, png)
    save_figure(figure, svg)
    return [page, png, svg]


def _moments(problem: Problem) -> dict[str, Any]:
    moments: dict[str, Any] = {**problem.second_moments()}
    if not all(np.isfinite(values).all() for values in moments.values()):
        raise NotCovered("finite second moments")
    return moments


def _bounds(problem: Problem) -> dict[str, Any]:
    bounds: dict[str, Any] = {**problem.bounds()}
    if not all(np.isfinite(bound) for bound in bounds.values()):
        raise NotCovered("bounded costs and rewards")
    return bounds


def _moments_and_bounds(problem: Problem) -> dict[str, Any]:
    """Second moments, with the bounds where there are any: UCB-B1 takes their absence as Gaussian."""
    try:
        return _moments(problem) | _bounds(problem)
    except NotCovered:
        return _moments(problem)


def _bounds_and_slope(problem: Problem) -> dict[str, Any]:
    moments = problem.second_moments()
    slopes = np.divide(moments["cov"], moments["var_cost"], out=np.zeros(len(problem)), where=moments["var_cost"] > 0)
    return _bounds(problem) | {"slope_bound": float(np.abs(slopes).max())}


# What the paper's policies know about a problem, beside its smallest mean cost.
_KNOWING: dict[str, Callable[[Problem], dict[str, Any]]] = {
    "UCBB1": _moments_and_bounds,
    "UCBM1": _moments,
    "UCBB2": _bounds,
    "UCBB2C": _bounds_and_slope,
}


def _key(name: str) -> str:
    return name.casefold().replace("-", "").replace("_", "")
