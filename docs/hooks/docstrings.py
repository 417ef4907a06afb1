"""Docstrings as Markdown for the reference: examples and trees as code, terms as lists, pages as links."""

import importlib
import inspect
import re
from typing import Any

import griffe

from outlay.parameters import Parameters

PAGE = re.compile(r"\bdocs/([\w/-]+)\.md\b")
TERMS = re.compile(r"^(?:\w+: .+\n(?: {4}.+\n)*){2,}", re.M)
TREE = re.compile(r"^.+\n(?:[├└].*\n)+", re.M)
EXAMPLE = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.M | re.S)
STAR = re.compile(rf"{EXAMPLE.pattern}|`[^`]*`|(?<=\w)\*(?!\*)", re.M | re.S)


class Markdown(griffe.Extension):
    """Rewrite every docstring as it is read."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """One docstring."""
        if obj.docstring:
            obj.docstring.value = rewritten(obj.docstring.value)

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Show a class with what its constructor takes: declared parameters, or the fields of a named tuple."""
        if any(str(base) == "NamedTuple" for base in cls.bases):
            fields = [field for field in cls.members.values() if isinstance(field, griffe.Attribute)]
            taken = [parameter(field.name, field.value) for field in fields]
        elif issubclass(real := found(cls), Parameters):
            taken = [parameter(one.name, default_of(one)) for one in inspect.signature(real).parameters.values()]
        elif isinstance(new := cls.members.pop("__new__", None), griffe.Function):
            taken = list(new.parameters)[1:]
        else:
            return
        shown = griffe.Function("__init__", parameters=griffe.Parameters(griffe.Parameter("self"), *taken))
        cls.set_member("__init__", shown)


def found(cls: griffe.Class) -> type:
    """The class itself; where a class stands inside another or a function, object."""
    kind = getattr(importlib.import_module(cls.module.path), cls.name, object)
    return kind if isinstance(kind, type) else object


def default_of(taken: inspect.Parameter) -> str | None:
    """A default as it is written; None if there is none."""
    return None if taken.default is taken.empty else repr(taken.default)


def parameter(name: str, default: object) -> griffe.Parameter:
    """A parameter as the reference shows it."""
    kind = griffe.ParameterKind.positional_or_keyword
    return griffe.Parameter(name, kind=kind, default=None if default is None else str(default))


def rewritten(text: str) -> str:
    r"""A docstring that the parser of Google's style and Markdown understand.

    >>> rewritten(">>> add(1)\n2\n\nSee docs/theory.md.").split("\n")
    ['```pycon', '>>> add(1)', '2', '```', '', 'See [docs/theory.md](../theory.html).']
    >>> rewritten("At most r*B; see `2*x`, r* and μ_*.")
    'At most r∗B; see `2*x`, r∗ and μ_∗.'
    """
    text = PAGE.sub(r"[\g<0>](../\1.html)", text)
    text = STAR.sub(lambda found: "∗" if found.group() == "*" else found.group(), text)
    text = TERMS.sub(lambda found: re.sub(r"^(?=\w)", "- ", found.group(), flags=re.M), text)
    text = TREE.sub(r"```text\n\g<0>```\n", text)
    return EXAMPLE.sub(r"```pycon\n\g<0>\n```", text)
