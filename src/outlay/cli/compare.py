"""`outlay compare`: play policies on a problem, or an experiment file; print the regret, write figures and a page."""

from pathlib import Path
from typing import Any

import click

from outlay.cli.shared import listing, say_written

EXAMPLES = listing(
    "Examples:",
    "outlay compare                                   the built-in problem G",
    "outlay compare heavy-tails --budget 1e4 --policy Thrifty --policy ucb-m1",
    "outlay compare my-problem.toml --out report",
    "outlay compare G --policy mine.py:Mine           your own policy",
    "outlay compare H --budget 500 --requests 2000    a number of requests, too",
    "outlay compare experiment.toml --dry-run         what would run, how long",
    "outlay compare experiment.toml --out results     run, or resume",
    "outlay compare experiment.toml --out results --json | jq '.rows[].mean'",
)
CODES = listing(
    "Exit codes:",
    "0    done",
    "1    failed; an experiment keeps its finished cells",
    "2    usage error: an option, or a key of the experiment file",
    "130  interrupted; the same command resumes an experiment",
)
_ONLY_FOR_PROBLEMS = ("budget", "requests", "mode", "runs", "seed", "names", "save")


def as_count(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:  # noqa: ARG001
    """A whole number, also written as 1e3, as an int; what is none is left to whoever knows what is allowed."""
    return int(value) if value is not None and value.is_integer() else value


def complete_problems(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Names of the catalogue, folders and TOML files: as words, which bash forgets where it is told to find files."""
    from outlay.arms import catalogue

    names = [name for name in catalogue.names() if name.startswith(incomplete)]
    folder, _, start = incomplete.rpartition("/")
    try:
        entries = sorted(Path(folder or ("/" if incomplete.startswith("/") else ".")).iterdir())
    except OSError:
        return names
    places = [path for path in entries if path.name.startswith(start) and (start or path.name[0] != ".")]
    return names + [
        incomplete.removesuffix(start) + path.name + "/" * path.is_dir()
        for path in places
        if path.is_dir() or path.suffix == ".toml"
    ]


def complete_policies(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Names of policies."""
    from outlay.policies import BY_NAME

    return [name for name in BY_NAME if name.casefold().startswith(incomplete.casefold())]


@click.command(epilog=f"{EXAMPLES}\n\n{CODES}")
@click.argument("problem", default="G", shell_complete=complete_problems)
@click.option("--budget", type=float, default=1e5, show_default="100000", help="The largest budget; 25 are reported.")
@click.option(
    "--requests",
    type=float,
    callback=as_count,
    metavar="N",
    help="End runs after N pulls, too: so many requests to be served.",
)
@click.option(
    "--mode",
    type=click.Choice(["until_exceeded", "hard"]),
    default="until_exceeded",
    show_default=True,
    help="hard: never pass the budget; costs must be bounded.",
)
@click.option("--runs", type=int, default=50, show_default=True, help="Independent runs per policy.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same result.")
@click.option(
    "--policy",
    "names",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_policies,
    help="A policy to play, such as UCBB1, or yours, as file.py:Name; repeatable.",
)
@click.option("--workers", type=int, help="Number of threads; all cores by default.")
@click.option(
    "--out", type=click.Path(path_type=Path), default="outlay-report", show_default=True, help="Folder for the report."
)
@click.option(
    "--save", type=click.Path(path_type=Path), metavar="FILE", help="Also save the result: .parquet, or .csv."
)
@click.option("--list", "listing", is_flag=True, help="List the problems of the catalogue and stop.")
@click.option("--dry-run", is_flag=True, help="For an experiment: say what would run and for how long; write nothing.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end, and nothing else.")
@click.pass_context
def compare(ctx: click.Context, /, problem: str, listing: bool, **options: Any) -> None:
    """Compare policies on PROBLEM: a name from the catalogue, a TOML file with arms, or an experiment file.

    Without --policy, it plays the policies of the paper that apply to the problem, the default policy, and RoundRobin.
    The default, Thrifty, is told the budget, so it plays a run for each of the 25: four times the pulls of one run for
    all of them.

    With --requests, regret is against the most that the budget and so many requests can bring together
    (docs/requests.md), at each of the 25 budgets. Without --policy, it then plays Ration, LPUCB, LPThompson, LPGreedy
    and RoundRobin.

    An experiment file (TOML with an [experiment] table, see docs/experiments.md) gives the problem, the policies, the
    budgets, the runs and the seed, and can sweep over a parameter. Its results are kept in --out, one file per policy
    and problem; running the same command again plays only what is missing.
    """
    if listing:
        _list()
        return
    from outlay import experiments

    if experiments.is_experiment(problem):
        _leave_to_the_file(ctx)
        from outlay.cli import experiment

        chosen = {name: options[name] for name in ("out", "workers", "quiet", "as_json")}
        experiment.play(problem, dry=options["dry_run"], **chosen)
    elif options.pop("dry_run"):
        raise click.UsageError("--dry-run needs an experiment file", ctx)
    else:
        _problem(problem, **options)


def _problem(problem: str, names: tuple[str, ...], quiet: bool, as_json: bool, **options: Any) -> None:
    """One problem, without an experiment file."""
    from outlay.cli.experiment import print_json, row_objects, show_result
    from outlay.experiments import play as comparison

    result, written = comparison.compare(problem, names, **options)
    if as_json:
        print_json({"rows": row_objects(result), "files": [str(path) for path in written]})
    elif not quiet:
        show_result(result)
        say_written(written[0], written)


def _leave_to_the_file(ctx: click.Context) -> None:
    """Refuse options that the experiment file sets."""
    for option in ctx.command.params:
        source = ctx.get_parameter_source(option.name or "")
        if option.name in _ONLY_FOR_PROBLEMS and source is not click.core.ParameterSource.DEFAULT:
            raise click.UsageError(f"{option.opts[0]} is set by the experiment file, not by an option", ctx)


def _list() -> None:
    from outlay.arms import catalogue

    names = catalogue.names()
    width = max(map(len, names))
    for name in names:
        click.echo(f"{name:<{width}}  {catalogue.describe(name)}")
