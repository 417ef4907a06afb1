"""What a class of parameters refuses when it is made, and what happens to inherited ones."""

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from outlay.parameters import Parameters, choice, derived, number
from outlay.policies import Fieller
from outlay.policies.baselines import CUCB


class Base(Parameters):
    width: float = number(default=1.0)
    depth: float = number(default=7.0)


class Optional(Base):
    width: float | None = number(default=None)  # type: ignore[assignment]

    known: float = derived(lambda given: 1.0 if given.width is None else given.width)


def test_a_field_that_leaves_the_tuple_reads_what_was_given() -> None:
    assert (Optional(3.0).width, Optional().width, Optional(3.0).known, Optional(3.0).depth) == (3.0, None, 3.0, 7.0)
    assert Optional(3.0) != Optional(4.0)
    assert Optional(3.0)._replace(width=None) == Optional()


def test_nothing_can_be_deleted() -> None:
    policy = Fieller(form="plugin")
    with pytest.raises(AttributeError):
        del policy.form
    assert repr(policy) == "Fieller(alpha=1.0, form='plugin')"


def shadowed() -> type:
    class Shadowed(CUCB):
        alpha = 0.5

    return Shadowed


def method() -> type:
    class Method(CUCB):
        def alpha(self) -> float:  # type: ignore[misc, override]
            return 0.5

    return Method


def late() -> type:
    class Late(Fieller):
        needed: float = number()  # type: ignore[misc]

    return Late


def bare() -> type:
    class Bare(Parameters):
        width: float

    return Bare


def taken() -> type:
    class Taken(Parameters):
        arguments: float = number()  # type: ignore[assignment]

    return Taken


def misspelt() -> Any:
    return number(over=1)


def unset() -> Any:
    class Unset(Parameters):
        width: float = number()
        size: float = derived()

    return Unset(1.0)


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (shadowed, "alpha of Shadowed is a parameter: declare it anew"),
        (method, "alpha of Method is a parameter: declare it anew"),
        (late, "needed of Late needs a default, since alpha, which is before it, has one"),
        (bare, "width of Bare is not declared: write width"),
        (taken, "arguments cannot be the name of a parameter of Taken"),
        (misspelt, "a limit of a parameter is one of above, at_least, below, at_most; got over"),
        (unset, "complete of Unset must set size, which it declares as derived"),
    ],
)
def test_a_mistake_in_a_declaration_is_a_sentence(made: Callable[[], object], sentence: str) -> None:
    with pytest.raises(TypeError, match=f"^{sentence}"):
        made()


def test_constants_of_a_class_are_no_parameters() -> None:
    class Constants(Parameters):
        LIMIT: ClassVar[int] = 3
        width: float = number(default=1.0)
        form = "plain"
        kind: str = choice("a", "b", default="a")

    assert Constants().arguments() == {"width": 1.0, "kind": "a"}
