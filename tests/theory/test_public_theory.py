"""What `outlay.theory` exports: functions by their names, and no scipy until one needs it."""

import inspect

from outlay import report, theory


def test_the_docstring_is_the_table_of_contents():
    words = set((theory.__doc__ or "").replace(",", " ").replace("`", " ").split())
    assert set(theory.__all__) <= words


def test_no_name_is_hidden_by_a_file():
    """A function called like the file it is in would stand in for the file, or the file for it."""
    for package in (theory, report):
        for name in package.__all__:
            getattr(package, name)
        assert not any(inspect.ismodule(getattr(package, name)) for name in package.__all__)
