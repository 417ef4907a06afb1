"""The command line: one file per verb; each parses, makes one library call, prints.

What the library refuses is one line on stderr, `outlay: …`. Exit codes: 0 done, 1 failed, 2 usage error, 130
interrupted. Verbs import the library when they run, so that `outlay --help` is quick.
"""

import io
import sys
import warnings
from typing import TextIO

import click

from outlay import __version__
from outlay.cli import campaign_verbs as verbs
from outlay.cli import campaign_view as view
from outlay.cli.analysis import advise, bounds, policies, problems, report
from outlay.cli.campaign_verbs import campaign
from outlay.cli.compare import compare
from outlay.cli.options import AskedWrongly, Failure, Interrupted, Summaries, complain, in_options
from outlay.cli.service import demo_service, keys, migrate, serve
from outlay.errors import BadParameter, InterpretedWarning, OutlayError, needed


class Commands(Summaries):
    """A group that turns the library's errors into failures."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the verb."""
        try:
            with needed("this command"):
                return super().invoke(ctx)
        except BadParameter as error:
            verb = self.get_command(ctx, ctx.invoked_subcommand or "")
            raise AskedWrongly(in_options(error, verb)) from error
        except OutlayError as error:
            raise Failure(str(error)) from error
        except BrokenPipeError:
            raise  # the reader of our output has gone: click ends quietly
        except OSError as error:
            reason = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            raise Failure(reason) from error
        except KeyboardInterrupt as error:
            raise Interrupted("interrupted") from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="outlay %(version)s")
def commands() -> None:
    """Spend a budget well: budget-constrained bandits over general cost and reward distributions."""


for verb in (compare, bounds, report, advise, campaign, policies, problems, serve, keys, migrate, demo_service):
    commands.add_command(verb)
for verb in (
    *(verbs.new, verbs.ask, verbs.tell, verbs.reward, view.status, view.watch, view.pulls),
    *(view.segments, view.shadow, view.history, view.list_),
    *(verbs.cancel, verbs.charge, verbs.extend, verbs.amend, verbs.budget, verbs.requests, verbs.expect, verbs.arm),
    *(verbs.warm, verbs.pause, verbs.resume, verbs.close, verbs.archive, verbs.restore),
    *(view.verify, view.export, view.import_, view.backup),
):
    campaign.add_command(verb)


def warned(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning of ours as one line, like an error; one of others as Python shows it."""
    if issubclass(category, InterpretedWarning):
        complain(message)
    else:
        (file or sys.stderr).write(warnings.formatwarning(message, category, filename, lineno, line))


def main() -> None:
    """Run the `outlay` command; a terminal that cannot show a character gets a question mark."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    warnings.showwarning = warned
    commands(prog_name="outlay")
