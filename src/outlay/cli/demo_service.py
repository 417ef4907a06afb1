"""`outlay demo-service`: the service with a simulated load, to see the dashboard move."""

import click


@click.command("demo-service")
@click.option("--port", type=click.IntRange(0, 65535), default=8700, show_default=True, help="The port.")
@click.option("--seconds", type=float, help="End after so many seconds; Ctrl-C ends it otherwise.")
@click.option("--budget", type=click.FloatRange(min=0, min_open=True), default=100, show_default=True, help="Dollars.")
def demo_service(port: int, seconds: float | None, budget: float) -> None:
    """Serve a store in a temporary folder, and route pretended language-model calls through it.

    Open the address that it prints: for each dollar 200 calls are to be shared out among four models of different
    prices and skill, by eight workers; four more try thirty prompts with a quarter of the money.
    """
    from outlay.service.front.demo import demo

    demo(port, seconds, budget, click.echo)
