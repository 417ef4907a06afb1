"""Docstrings as Markdown for the reference: examples and trees as code, terms as lists, pages as links."""

import re
from typing import Any

import griffe

PARAMETERS = re.compile(r"^Parameters\n-+\n", re.M)
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
        """The parameters of a class are what its `__new__` takes, and of a named tuple its fields."""
        new = cls.members.pop("__new__", None)
        if isinstance(new, griffe.Function):
            parameters = new.parameters
        elif any(str(base) == "NamedTuple" for base in cls.bases):
            fields = [field for field in cls.members.values() if isinstance(field, griffe.Attribute)]
            parameters = griffe.Parameters(griffe.Parameter("self"), *map(parameter, fields))
        else:
            return
        cls.set_member("__init__", griffe.Function("__init__", parameters=parameters))


def parameter(field: griffe.Attribute) -> griffe.Parameter:
    """A field as a parameter."""
    default = None if field.value is None else str(field.value)
    kind = griffe.ParameterKind.positional_or_keyword
    return griffe.Parameter(field.name, annotation=field.annotation, kind=kind, default=default)


def rewritten(text: str) -> str:
    r"""A docstring that the parser of Google's style and Markdown understand.

    >>> rewritten("Add.\n\nParameters\n----------\n    a: one.")
    'Add.\n\nArgs:\n    a: one.'
    >>> rewritten(">>> add(1)\n2\n\nSee docs/theory.md.").split("\n")
    ['```pycon', '>>> add(1)', '2', '```', '', 'See [docs/theory.md](../theory.html).']
    >>> rewritten("At most r*B; see `2*x`, r* and μ_*.")
    'At most r∗B; see `2*x`, r∗ and μ_∗.'
    """
    text = PAGE.sub(r"[\g<0>](../\1.html)", PARAMETERS.sub("Args:\n", text))
    text = STAR.sub(lambda found: "∗" if found.group() == "*" else found.group(), text)
    text = TERMS.sub(lambda found: re.sub(r"^(?=\w)", "- ", found.group(), flags=re.M), text)
    text = TREE.sub(r"```text\n\g<0>```\n", text)
    return EXAMPLE.sub(r"```pycon\n\g<0>\n```", text)
