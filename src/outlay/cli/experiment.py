"""`outlay compare` on an experiment file: what will be played, the playing, and the outcome, as text or JSON."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from outlay.cli.shared import say_written
from outlay.text import counted

if TYPE_CHECKING:
    from rich.console import Console

    from outlay.experiments import Experiment, Outcome
    from outlay.results import Result


def play(path: str, out: Path, workers: int | None, *, dry: bool, quiet: bool, as_json: bool) -> None:
    """Run the experiment in a file, or say what would run; mistakes in the file are usage errors."""
    from outlay import experiments
    from outlay.checks import whole
    from outlay.cli import AskedWrongly, Interrupted
    from outlay.errors import BadFile

    try:
        experiment = experiments.load(path)
        experiments.points_of(experiment)
    except BadFile as error:
        raise AskedWrongly(str(error)) from error
    if workers is not None:
        experiment = experiment._replace(workers=whole("compare", "workers", workers, at_least=1))
    if dry:
        _foretell(experiment, out, quiet, as_json)
        return
    talks = not (quiet or as_json)
    bar = talks and sys.stderr.isatty()
    say = (lambda line: click.echo(line, err=True)) if talks else None
    try:
        outcome = experiments.run(experiment, out, say, bar=bar)
    except KeyboardInterrupt as error:
        raise Interrupted("interrupted; finished cells are kept, and the same command resumes from there") from error
    if as_json:
        print_json({"title": experiment.title, "folder": str(out)} | outcome_object(outcome))
    elif not quiet:
        _show(experiment, outcome)


def outcome_object(outcome: "Outcome") -> dict[str, object]:
    """An outcome as a JSON object."""
    return {
        "played": outcome.played,
        "reused": outcome.reused,
        "rows": [row.as_object() for row in outcome.rows],
        "files": [str(path) for path in outcome.files],
    }


def row_objects(result: "Result") -> list[dict[str, object]]:
    """A result's regret at the largest budget, as JSON objects."""
    from outlay.experiments.report import rows_of

    return [row.as_object() for row in rows_of({}, result)]


def show_result(result: "Result", title: str | None = None) -> None:
    """Print the regret table, the lower bound, and any notes."""
    from outlay import knowledge
    from outlay.report.regret import bound_sentence, regret_numbers

    numbers = regret_numbers(result, title=title)
    _console().print(numbers.table())
    if bound := bound_sentence(numbers.floor):
        click.echo(bound)
    for note in knowledge.notes(result.problem, result.labels):
        click.echo(note)


def _show(experiment: "Experiment", outcome: "Outcome") -> None:
    if outcome.result is not None:
        show_result(outcome.result, experiment.title)
    else:
        from outlay.experiments.report import sweep_table

        _console().print(sweep_table(experiment, outcome.rows))
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
        policies = [share._asdict() for share in shares]
        print_json({"title": experiment.title, "folder": str(out), "seconds": seconds, "policies": policies})
    elif not quiet:
        lines = [
            [share.label, *map(str, (share.cells, share.missing)), rounded(share.pulls), duration(share.seconds)]
            for share in shares
        ]
        headings = ["policy", "cells", "to play", "pulls", "about"]
        _console().print(Table(headings, lines, experiment.title))
        missing = sum(share.missing for share in shares)
        points = len(experiments.points_of(experiment))
        drawing = f"drawing takes a few seconds for {'the report' if points == 1 else f'each of the {points} reports'}"
        cells = sum(share.cells for share in shares)
        click.echo(f"{missing} of {cells} cells to play: {duration(seconds)} or so of playing; {drawing}")
        click.echo(f"nothing was written; results would go to {out}")


def print_json(value: dict[str, object]) -> None:
    """One line of JSON."""
    click.echo(json.dumps(_finite(value), ensure_ascii=False, allow_nan=False))


def _finite(value: object) -> object:
    """JSON has no nan: null."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not abs(value) < float("inf") else value


def _console() -> "Console":
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else 160)
