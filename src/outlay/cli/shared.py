"""What the verbs share: parts of a help text, and the lines about written files."""

from collections.abc import Sequence
from pathlib import Path

import click

from outlay.errors import BadParameter
from outlay.text import counted

# In whose names verbs are refused.
_CALLED = ("simulate", "compare", "advise", "bounds", "problem_bounds", "report", "Campaign")


class Summaries(click.Group):
    """A group whose help shows what each command does in a whole sentence, where click cuts it to one line."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, (verb.help or "").split("\n\n", 1)[0]) for name, verb in found if verb and not verb.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def in_options(error: BadParameter, verb: click.Command | None) -> str:
    """What is wrong, by the name that the user typed where it is an option or an argument of the verb, or of its verbs.

    A parameter of something else, such as a policy's, keeps the name of its owner.
    """
    text = str(error)
    if verb is None or error.owner not in _CALLED:
        return text
    leaves = verb.commands.values() if isinstance(verb, click.Group) else [verb]
    for parameter in (parameter for leaf in leaves for parameter in leaf.params):
        option = f"--{error.name.replace('_', '-')}"
        if option in parameter.opts:
            return text.replace(f"{error.name} of {error.owner}", option, 1)
        if isinstance(parameter, click.Argument) and parameter.name == error.name:
            return text.replace(f"{error.name} of {error.owner}", error.name.upper(), 1)
    return text


def listing(title: str, *lines: str) -> str:
    """A part of a help text that is printed line by line."""
    return "\n".join(["\b", title, *(f"  {line}" for line in lines)])


def say_written(page: Path, files: Sequence[Path]) -> None:
    """Name the page to open and files outside its folder, and count the rest: a sweep has a hundred files."""
    beside = sum(path.is_relative_to(page.parent) for path in files) - 1
    click.echo(f"wrote {page}" + f" and {counted(beside, 'more file')} in {page.parent}" * (beside > 0))
    for path in files:
        if not path.is_relative_to(page.parent):
            click.echo(f"wrote {path}")
