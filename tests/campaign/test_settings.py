"""The settings of a campaign are declared once: who takes, offers and keeps them agrees with that, name by name."""

import inspect
from typing import get_args, get_type_hints

import click

from outlay import Campaign
from outlay.campaign.ledger.events import DEFAULT, Mode, Settings, Terms
from outlay.campaign.records import Status
from outlay.cli.campaign_verbs import new


def test_campaign_takes_them_with_their_defaults() -> None:
    taken = inspect.signature(Campaign).parameters
    assert list(taken) == ["arms", "budget", "policy", "store", "name", "requests", "costs", *Settings._fields]
    assert {name: taken[name].default for name in Settings._fields} == DEFAULT._asdict()
    hints, declared = get_type_hints(Campaign.__init__), get_type_hints(Settings)
    assert {name: hints[name] for name in declared} == declared


def test_the_ledger_holds_them() -> None:
    noted = {"policy", "version", "format"}
    assert set(Terms.__struct_fields__) == set(Settings._fields) | noted
    assert get_type_hints(Status)["mode"] == Mode
    assert get_args(Mode) == ("until_exceeded", "hard")


def test_the_command_line_offers_them() -> None:
    flags = {"negative_costs": "no_refunds"}
    offered = {option.name for option in new.params if isinstance(option, click.Option)}
    assert {flags.get(name, name) for name in Settings._fields} <= offered
    assert {"store", "name", "arms", "budget", "policy", "parameters"} <= offered
