"""Records as tables of pandas, for those who have it."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from outlay.extras import needed

if TYPE_CHECKING:
    import pandas

R = TypeVar("R", bound=tuple[Any, ...])
FEW = 3  # records that a repr shows


class Rows(Iterable[R], Generic[R]):
    """Records, read from the ledger as they are needed: each loop over them, `len` and `frame` read anew.

    >>> from outlay.campaign import Campaign
    >>> history = Campaign(["a"], 5).history()
    >>> len(history), [entry.kind for entry in history], [entry.seq for entry in history]
    (1, ['opened'], [1])
    >>> history.frame()[["seq", "kind"]].to_dict("list")
    {'seq': [1], 'kind': ['opened']}
    """

    def __init__(self, kind: type[R], read: Callable[[], Iterator[R]]) -> None:
        self._kind, self._read = kind, read
        self._ahead: list[R] | None = None  # what `len` has read: `list` asks for that first, and then for the records
        self._under_way: Iterator[R] | None = None

    def __iter__(self) -> Iterator[R]:
        ahead, self._ahead = self._ahead, None
        return self._read() if ahead is None else iter(ahead)

    def __next__(self) -> R:
        """The next record: the first, when this is called for the first time."""
        self._under_way = self._under_way or self._read()
        return next(self._under_way)

    def __len__(self) -> int:
        if self._ahead is None:
            self._ahead = list(self._read())
        return len(self._ahead)

    def __bool__(self) -> bool:
        return any(True for _ in self._read())

    def __repr__(self) -> str:
        shown = [*map(repr, islice(self._read(), FEW + 1))]
        lines = "".join(f"\n  {line}" for line in [*shown[:FEW], *["…"] * (len(shown) > FEW)])
        return f"<rows of {self._kind.__name__}:{lines or ' none'}>"

    def frame(self) -> "pandas.DataFrame":
        """A column per field, a row per record; needs pandas."""
        return frame_of(self._kind, self, "frame")

    def listed(self) -> "Listed[R]":
        """All of them, read at once."""
        return Listed(self._kind, self)


class Listed(list[R], Generic[R]):
    """Records in a list, as the forms for asyncio return them."""

    def __init__(self, kind: type[R], rows: Iterable[R]) -> None:
        super().__init__(rows)
        self._kind = kind

    def frame(self) -> "pandas.DataFrame":
        """A column per field, a row per record; needs pandas."""
        return frame_of(self._kind, self, "frame")


def frame_of(kind: type[Any], rows: Iterable[tuple[Any, ...]], owner: str) -> "pandas.DataFrame":
    """The records as a DataFrame, or MissingExtra in one sentence."""
    with needed(owner):
        import pandas
    return pandas.DataFrame.from_records(list(rows), columns=list(kind._fields))
