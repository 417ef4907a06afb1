"""`outlay compare`: play policies on a problem, or an experiment file; print the regret, write figures and a page."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from outlay.cli.options import AskedWrongly, Interrupted, console, in_threads, into_folder, listing, say_written, show
from outlay.text import counted

if TYPE_CHECKING:
    from outlay.experiments import Experiment
    from outlay.results import Result

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
SET_BY_FILES = ("budget", "requests", "mode", "runs", "seed", "names", "save")


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
@in_threads
@into_folder
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
        from outlay.arms import catalogue

        width = max(map(len, catalogue.names()))
        for name in catalogue.names():
            click.echo(f"{name:<{width}}  {catalogue.describe(name)}")
        return
    from outlay import experiments

    if experiments.is_experiment(problem):
        _play_file(ctx, problem, **{name: options[name] for name in ("out", "workers", "dry_run", "quiet", "as_json")})
    elif options.pop("dry_run"):
        raise click.UsageError("--dry-run needs an experiment file", ctx)
    else:
        _play_problem(problem, **options)


def show_result(result: "Result", title: str | None = None) -> None:
    """Print the regret table, the lower bound, and any notes."""
    from outlay import problem_policies
    from outlay.report.regret import bound_sentence, regret_numbers

    numbers = regret_numbers(result, title=title)
    console().print(numbers.table())
    if bound := bound_sentence(numbers.floor):
        click.echo(bound)
    for note in problem_policies.notes(result.problem, result.labels):
        click.echo(note)


def _play_problem(problem: str, names: tuple[str, ...], quiet: bool, as_json: bool, **options: Any) -> None:
    from outlay.experiments import play as comparison
    from outlay.experiments.report import rows_of

    result, written = comparison.compare(problem, names, **options)
    if as_json:
        show({"rows": [row.as_object() for row in rows_of({}, result)], "files": list(map(str, written))})
    elif not quiet:
        show_result(result)
        say_written(written[0], written)


def _play_file(
    ctx: click.Context, path: str, out: Path, workers: int | None, *, dry_run: bool, quiet: bool, as_json: bool
) -> None:
    """Run the experiment in a file, or say what would run; mistakes in the file are usage errors."""
    from outlay import experiments
    from outlay.checks import whole
    from outlay.errors import BadFile
    from outlay.experiments.report import sweep_table

    for option in ctx.command.params:
        source = ctx.get_parameter_source(option.name or "")
        if option.name in SET_BY_FILES and source is not click.core.ParameterSource.DEFAULT:
            raise click.UsageError(f"{option.opts[0]} is set by the experiment file, not by an option", ctx)
    try:
        experiment = experiments.load(path)
        experiments.points_of(experiment)
    except BadFile as error:
        raise AskedWrongly(str(error)) from error
    if workers is not None:
        experiment = experiment._replace(workers=whole("compare", "workers", workers, at_least=1))
    if dry_run:
        _foretell(experiment, out, quiet, as_json)
        return
    talks = not (quiet or as_json)
    say = (lambda line: click.echo(line, err=True)) if talks else None
    try:
        outcome = experiments.run(experiment, out, say, bar=talks and sys.stderr.isatty())
    except KeyboardInterrupt as error:
        raise Interrupted("interrupted; finished cells are kept, and the same command resumes from there") from error
    if as_json:
        of_all = {"title": experiment.title, "folder": str(out), "played": outcome.played, "reused": outcome.reused}
        show({**of_all, "rows": [row.as_object() for row in outcome.rows], "files": list(map(str, outcome.files))})
    elif not quiet:
        if outcome.result is not None:
            show_result(outcome.result, experiment.title)
        else:
            console().print(sweep_table(experiment, outcome.rows))
        click.echo(f"{counted(outcome.played, 'cell')} played, {outcome.reused} were there already")
        say_written(outcome.page, outcome.files)


def _foretell(experiment: "Experiment", out: Path, quiet: bool, as_json: bool) -> None:
    """What would be played, and how long it would take; nothing is written."""
    from outlay import experiments
    from outlay.tables import Table
    from outlay.text import duration, rounded

    shares = experiments.estimate(experiment, out)
    seconds = sum(share.seconds for share in shares)
    if as_json:
        show({"title": experiment.title, "folder": str(out), "seconds": seconds, "policies": shares})
    elif not quiet:
        rows = [
            (share.label, str(share.cells), str(share.missing), rounded(share.pulls), duration(share.seconds))
            for share in shares
        ]
        console().print(Table(("policy", "cells", "to play", "pulls", "about"), rows, experiment.title))
        points = len(experiments.points_of(experiment))
        drawing = f"drawing takes a few seconds for {'the report' if points == 1 else f'each of the {points} reports'}"
        missing, cells = sum(share.missing for share in shares), sum(share.cells for share in shares)
        click.echo(f"{missing} of {cells} cells to play: {duration(seconds)} or so of playing; {drawing}")
        click.echo(f"nothing was written; results would go to {out}")
