"""Records as tables of pandas, for those who have it."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from outlay.extras import needed

if TYPE_CHECKING:
    import pandas

R = TypeVar("R", bound=tuple[Any, ...])


class Rows(Iterator[R], Generic[R]):
    """Records one after another; `frame` makes those that are left a DataFrame.

    >>> from outlay.campaign import Campaign
    >>> Campaign(["a"], 5).history().frame()[["seq", "kind"]].to_dict("list")
    {'seq': [1], 'kind': ['opened']}
    """

    def __init__(self, kind: type[R], rows: Iterable[R]) -> None:
        self._kind, self._rows = kind, iter(rows)

    def __next__(self) -> R:
        return next(self._rows)

    def frame(self) -> "pandas.DataFrame":
        """A column per field, a row per record; needs pandas."""
        return frame_of(self._kind, self._rows, "frame")


def frame_of(kind: type[Any], rows: Iterable[tuple[Any, ...]], owner: str) -> "pandas.DataFrame":
    """The records as a DataFrame, or MissingExtra in one sentence."""
    with needed(owner):
        import pandas
    return pandas.DataFrame.from_records(list(rows), columns=list(kind._fields))
