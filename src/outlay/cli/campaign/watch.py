"""`outlay campaign watch`: a campaign in a terminal, drawn anew every second."""

import time
from typing import TYPE_CHECKING

import click

from outlay.cli.campaign.shared import example, on_campaign, opened

if TYPE_CHECKING:
    from rich.console import Console

    from outlay.campaign.monitor import Watch


@click.command(epilog=example("outlay campaign watch", "outlay campaign watch --once | head -20"))
@on_campaign
@click.option("--once", is_flag=True, help="Print one frame and end, as when the output is no terminal.")
@click.option(
    "--every", type=click.FloatRange(min=0.1), default=1.0, show_default=True, metavar="SECONDS", help="When to redraw."
)
def watch(store: str, name: str, once: bool, every: float) -> None:
    """Watch the campaign: money left over time, arms with rates and intervals, pulls under way, last events.

    Ctrl-C ends it. An interval holds the arm's rate with a probability of 95 %.
    """
    from rich.console import Console

    from outlay.campaign.monitor import Watch
    from outlay.cli.campaign.picture import picture

    console = Console(highlight=False)
    with opened(store, name) as campaign:
        watching = Watch(campaign)
        if once or not console.is_terminal:
            console.print(picture(watching.look(), console.width))
        else:
            _go_on(watching, console, every)


def _go_on(watching: "Watch", console: "Console", every: float) -> None:
    """Draw until Ctrl-C; the last frame stays on the screen."""
    from rich.live import Live

    from outlay.cli.campaign.picture import picture

    last = picture(watching.look(), *console.size)
    live = Live(last, console=console, screen=True, auto_refresh=False)
    try:
        live.start()  # within: Ctrl-C in the middle of it must leave the screen as it was, too
        while True:
            live.update(last, refresh=True)
            time.sleep(every)
            last = picture(watching.look(), *console.size)
    except KeyboardInterrupt:
        pass  # the way to end it
    finally:
        live.stop()
    console.print(last)
