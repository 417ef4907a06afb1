"""Shared by tests of the command: running it in an empty folder, and what it printed."""

import json
import sqlite3
from collections.abc import Callable
from typing import Any

from click.testing import CliRunner, Result

from outlay.cli import commands

Run = Callable[..., Result]
NEW = ("new", "--arm", "a", "--arm", "b", "--budget", "5")


def lines(result: Result, code: int = 0) -> list[Any]:
    assert result.exit_code == code, result.output
    if code == 0:
        assert result.stderr == ""
    return [json.loads(line) for line in result.stdout.splitlines()]


def line(result: Result, code: int = 0) -> Any:
    (one,) = lines(result, code)
    return one


def refused(result: Result, code: int) -> str:
    """The one line on stderr."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    (one,) = result.stderr.splitlines()
    assert one.startswith("outlay: ")
    return one


def misused(result: Result) -> str:
    """What click says of a wrong use."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


def ran(*arguments: object, stdin: str | bytes | None = None) -> Result:
    """Run `outlay` in this folder."""
    return CliRunner().invoke(commands, list(map(str, arguments)), prog_name="outlay", input=stdin)


def events() -> int:
    connection = sqlite3.connect("outlay.db")
    (count,) = connection.execute("SELECT count(*) FROM event").fetchone()
    connection.close()
    return int(count)
