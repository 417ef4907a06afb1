"""`outlay campaign`: spend a budget from a shell. JSON in, JSON out, one object per line."""

from typing import Any

import click

from outlay.cli.campaign.keeping import backup, export, import_, verify
from outlay.cli.campaign.managing import archive, arm, budget, close, expect, pause, requests, restore, resume, warm
from outlay.cli.campaign.reading import history, list_, pulls, status
from outlay.cli.campaign.settling import amend, cancel, charge, extend
from outlay.cli.campaign.shared import example
from outlay.cli.campaign.spending import ask, new, tell
from outlay.cli.campaign.watch import watch
from outlay.cli.shared import Summaries, listing
from outlay.errors import NoCampaign


class Verbs(Summaries):
    """A group that lists its verbs in the order of their use, and says which is the first."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The verbs."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; where there is no campaign yet, say how to open one."""
        try:
            return super().invoke(ctx)
        except NoCampaign as error:
            raise NoCampaign(f"{error}: `outlay campaign new` makes one") from error


CODES = listing(
    "Exit codes:",
    "0  done",
    "1  refused: the ledger says otherwise, or cannot be read or written",
    "2  asked wrongly",
    "3  ask: the campaign has ended (prints null)",
    '4  ask: not now, try again in a while (prints {"retry_after": seconds})',
)
LOOP = example(
    "outlay campaign new --arm small --arm large=0.5 --budget 50",
    "while true; do",
    "    pull=$(outlay campaign ask)",
    "    case $? in",
    "        0) ;;",
    """        4) sleep "$(jq .retry_after <<< "$pull")"; continue ;;""",
    "        *) break ;;",
    "    esac",
    """    arm=$(jq -r .arm <<< "$pull")""",
    "    …use it, and note its cost and reward…",
    """    outlay campaign tell "$(jq .pull <<< "$pull")" --cost "$cost" --reward "$reward\"""",
    "done",
)


@click.group(cls=Verbs, epilog=f"{CODES}\n\n{LOOP}")
def campaign() -> None:
    """Spend a real budget: ask which arm to use, tell what it cost and earned.

    Every verb prints JSON, one object per line, and takes --store (or OUTLAY_STORE) and --name; on a terminal, status
    and watch draw tables. Money is read as decimal numbers, exactly.
    """


for verb in (new, ask, tell, status, watch, pulls, history, list_, cancel, charge, extend, amend):
    campaign.add_command(verb)
for verb in (budget, requests, expect, arm, warm, pause, resume, close, archive, restore):
    campaign.add_command(verb)
for verb in (verify, export, import_, backup):
    campaign.add_command(verb)
