"""`outlay policies` and `outlay problems`, and the summaries of the verbs."""

import json

import click
import pytest
from click.testing import CliRunner

from outlay.arms import catalogue
from outlay.cli import commands
from outlay.policies import BY_NAME


def said(*arguments: str) -> str:
    done = CliRunner().invoke(commands, list(arguments), prog_name="outlay")
    assert done.exit_code == 0, done.output
    return done.output


def test_every_policy_with_a_line_and_what_it_may_be_told() -> None:
    rows = json.loads(said("policies", "--json"))
    assert [row["name"] for row in rows] == list(BY_NAME)
    assert all(row["summary"].endswith(".") and row["kind"] in ("outlay", "baseline") for row in rows)
    told = {row["name"]: row["told"] for row in rows}
    assert told["Thrifty"] == ["budget"]
    assert told["UCBB1"] == ["variances", "least mean cost", "bounds"]
    assert told["Ration"] == ["mean costs", "bounds", "budget", "requests"]
    assert told["RoundRobin"] == []
    shown = said("policies")
    assert all(name in shown.split() for name in BY_NAME)


def test_every_problem_with_its_arms() -> None:
    rows = json.loads(said("problems", "--json"))
    assert [row["name"] for row in rows] == list(catalogue.names())
    assert {row["name"]: row["arms"] for row in rows}["thousand-arms"] == 1000
    assert rows[0]["laws"] == ["Gaussian"]
    assert "1,000" in said("problems").split()


@pytest.mark.parametrize("group", [(), ("campaign",), ("keys",)])
def test_summaries_are_whole(group: tuple[str, ...]) -> None:
    """click cuts them, with three dots."""
    text = " ".join(said(*group, "--help").partition("Commands:")[2].split())
    assert "..." not in text
    verbs = commands
    for name in group:
        verbs = verbs.commands[name]  # type: ignore[assignment]
    assert isinstance(verbs, click.Group)
    for verb in verbs.commands.values():
        assert " ".join((verb.help or "").split("\n\n")[0].split()) in text
