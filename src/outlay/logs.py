"""Logs of past pulls, on disk or in memory, read a stretch of rows at a time: the arm, cost and reward of each pull.

CSV, JSON lines and Parquet are told apart by their first bytes. Numbers of CSV come as text, so that a bad one can be
named with its row.
"""

import csv
import io
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from outlay.checks import checked_path, reading
from outlay.errors import BadFile, BadParameter, require

BLOCK = 2 << 20  # bytes of CSV that are parsed at a time; Arrow reads 32 of them ahead
BATCH = 1 << 17  # rows of Parquet or of a frame
_HEAD = 1 << 16
_SEPARATORS = ",;\t|"
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}  # by the first bytes
_NO_LOG = "is neither CSV (text in UTF-8; as it is, or packed by gzip, bzip2 or zstd) nor Parquet"
_PARQUET = b"PAR1"
_NO_MORE: Mapping[str, NDArray[np.float64]] = {}
MOST_MARKED = 1_000_000  # rows, up to which columns that nobody asked for are looked at

_MOST_LISTED = 20
OTHER = "other "  # before the name of a column that nobody asked for
CONTEXT = "context "  # before the name of a column that says something of the request
MOST_OTHERS = 4
_TIMES = ("time", "timestamp", "ts", "date", "datetime", "day", "when", "created", "logged", "started")
_INSTANCES = ("instance", "task", "question", "problem", "query", "prompt", "issue", "item", "case", "request", "id")

ArrowColumn = Any  # pyarrow has no types to name
Batches = Iterator[tuple[Any, float]]
Roles = Callable[[list[str]], dict[str, str]]  # the role of each column that is read, and how the log spells it

LARGEST = 1e100  # squares of larger numbers leave the range of floating point
LONGEST = 200  # characters of a name
_TRUTH = {"true": 1.0, "false": 0.0}
_CURRENCIES = "$€£¥"
_APART = "' \u00a0\u202f"  # beside points and commas, what may part thousands
_MONEY = re.compile(rf"([+-]?)[{_CURRENCIES}]?[{_APART}]?([+-]?)(\d[\d.,{_APART}]*?)[{_APART}]?[{_CURRENCIES}]?")
_UNCLEAR = re.compile(r"(?<![\d.,])[1-9]\d{0,2}[.,]\d{3}(?!\d)")  # thousands or decimals: 1,234, but not 0.002
EMPTY = ("", "na", "n/a", "#n/a", "nan", "-nan", "null", "none", "<na>")

_DATE = re.compile(r"\d{4}-\d\d-\d\d(\D|$)")


class Stretch(NamedTuple):
    """Some rows of a log, in its order, without those that have an empty cell."""

    names: list[str]  # of arms; some may have no row here
    codes: NDArray[np.int64]  # of each row, the index of its arm in `names`
    costs: NDArray[np.float64]
    rewards: NDArray[np.float64]
    left_out: NDArray[np.int64]  # the numbers of the rows that have an empty cell; a header is row 1
    done: float = 1.0  # the part of the log that has been read so far
    times: NDArray[np.float64] | None = None  # where a column of times is wanted
    dates: Mapping[str, NDArray[np.float64]] = _NO_MORE  # of columns that nobody asked for; nan where a cell is no date
    marks: Mapping[str, NDArray[np.float64]] = _NO_MORE  # equal where cells are equal, nan where empty; by column
    money: tuple[str, ...] = ()  # an example of each column so far whose cells were read as amounts of money
    chances: NDArray[np.float64] | None = None  # with which the arm was chosen, where a column of them is wanted
    contexts: Mapping[str, tuple[list[str], NDArray[np.int64]]] = {}  # by column: cells, and of each row the index


class NoColumn(BadFile):
    """A log has no column for some of the `roles` arm, cost, reward, time, instance, chance and context."""

    def __init__(self, sentence: str, roles: list[str]) -> None:
        super().__init__(sentence)
        self.roles = list(dict.fromkeys(role.split(" ")[0] for role in roles))


class LogColumns(NamedTuple):
    """The names of the three columns in the log."""

    arm: str = "arm"
    cost: str = "cost"
    reward: str = "reward"

    def found(self, present: list[str], where: str, owner: str) -> "LogColumns":
        """The columns as the log spells them: spaces around a name and capitals do not matter.

        `where` is what the log is called, `owner` whose parameters the names are.

        >>> LogColumns(cost="usd").found(["id", "Arm", "USD", "reward"], "log.csv", "advise")
        LogColumns(arm='Arm', cost='USD', reward='reward')
        >>> LogColumns().found(["arm", "price", "reward"], "log.csv", "advise")
        Traceback (most recent call last):
        outlay.logs.NoColumn: log.csv has no column 'cost'; it has arm, price, reward: name the one for the cost
        """
        chosen = LogColumns(**_present(self._asdict(), present, where, owner))
        if len(set(chosen)) < len(chosen):
            raise BadParameter(owner, "arm, cost and reward", "three different columns", ", ".join(chosen))
        return chosen


class MoreColumns(NamedTuple):
    """Other columns of interest: when a row was logged, on what (a task, a question), with what contexts."""

    time: str | None = None
    instance: str | None = None
    others: bool = False  # whether further columns, which may turn out to be one of these, are read as well
    chance: str | None = None  # with which the arm of the row was chosen
    contexts: tuple[str, ...] = ()  # what was known of the request before its arm was chosen

    def found(self, taken: LogColumns, present: list[str], where: str, owner: str) -> dict[str, str]:
        """What to call each further column, and how the log spells it.

        >>> taken, present = LogColumns("model", "usd", "solved"), ["Day", "model", "usd", "solved", "task"]
        >>> MoreColumns(time="day", others=True).found(taken, present, "log.csv", "advise")
        {'time': 'Day', 'other task': 'task'}
        """
        roles = {"time": self.time, "instance": self.instance, "chance": self.chance}
        asked = {role: name for role, name in roles.items() if name is not None}
        found = _present(asked | {f"{CONTEXT}{name}": name for name in self.contexts}, present, where, owner)
        for role, name in found.items():
            if name in taken:
                wanted = "a column other than those of the arm, the cost and the reward"
                raise BadParameter(owner, role.split(" ")[0], wanted, name)
        if self.contexts and len(set(found.values())) < len(found):
            wanted = "different columns, none of them that of the time, the instance or the chance"
            raise BadParameter(owner, "context", wanted, ", ".join(self.contexts))
        if self.others and self.instance is None:
            rest = [name for name in dict.fromkeys(present) if name not in taken and name not in found.values()]
            rest = [name for name in rest if present.count(name) == 1]
            likely = sorted(rest, key=lambda name: not any(word in name.lower() for word in _INSTANCES))
            timely = [name for name in likely if self.time is None and sounds_like_time(name)][:1]
            found |= {f"{OTHER}{name}": name for name in dict.fromkeys(likely[:MOST_OTHERS] + timely)}
        return found


@runtime_checkable
class PandasFrame(Protocol):
    """What is used of a pandas frame."""

    @property
    def columns(self) -> Iterable[object]:
        """The names of the columns."""

    @property
    def iloc(self) -> Any:
        """The columns, by their index."""


@runtime_checkable
class ArrowTable(Protocol):
    """What is used of an Arrow table."""

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""

    def select(self, columns: list[str], /) -> Any:
        """Some of the columns."""


Source = str | Path | PandasFrame | ArrowTable


def name_of(source: object) -> str:
    """What to call the log in a sentence."""
    return str(source).encode(errors="replace").decode() if isinstance(source, (str, Path)) else "the frame"


def stretches(source: object, columns: LogColumns, owner: str, more: MoreColumns | None = None) -> Iterator[Stretch]:
    """The rows of a file (CSV, JSON lines, Parquet) or of a frame (pandas, Arrow), for `owner`; BadFile in a sentence.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"arm": ["a", "b"], "cost": [1, 2], "reward": [0.5, None]})
    >>> [(rows.names, rows.costs.tolist(), rows.left_out) for rows in stretches(frame, LogColumns(), "advise")]
    [(['a', 'b'], [1.0], array([2]))]
    """
    where, more = name_of(source), more or MoreColumns()

    def roles(present: list[str]) -> dict[str, str]:
        found = columns.found(present, where, owner)
        return found._asdict() | more.found(found, present, where, owner)

    if isinstance(source, (PandasFrame, ArrowTable)):
        with _explained(where):
            yield from _converted(_frame_batches(source, roles), columns, where, first=1)
        return
    if not isinstance(source, (str, Path)) or source == "":
        raise BadParameter(owner, "log", "the path of a file, a pandas frame or an Arrow table", source)
    path = checked_path(owner, source)
    with reading(path), _explained(where):
        start = _start(path)
        if start == _PARQUET:
            yield from _converted(_parquet_batches(path, roles), columns, where, first=1)
            return
        with _opened(path, start) as (_, unpacked):
            head: bytes = unpacked.read(_HEAD)
        if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
            yield from _converted(_json_batches(path, start, roles), columns, where, first=1)
        else:
            separator = _separator(path, head, columns)
            yield from _converted(_csv_batches(path, start, separator, roles), columns, where, first=2)


def _start(path: Path) -> bytes:
    if path.is_dir():
        raise BadFile(f"{path} is a folder; a log is one CSV, JSON lines or Parquet file")
    if not path.exists():
        raise BadFile(f"there is no file {path}")
    if not path.is_file():
        raise BadFile(f"{path} is not an ordinary file, which a log must be: it is read more than once")
    with path.open("rb") as file:
        start = file.read(len(_PARQUET))
    if not start:
        raise BadFile(f"{path} is empty")
    return start


def _converted(batches: Batches, columns: LogColumns, where: str, first: int) -> Iterator[Stretch]:
    """Batches of columns, named by their roles, as numbers and names; `first` is the number of the first row."""
    empty, amounts = True, {role: Amounts() for role in ("cost", "reward")}
    for batch, done in batches:
        arms, codes = names(batch.column("arm"), f"{columns.arm} of {where}", first)
        costs = numbers(batch.column("cost"), f"{columns.cost} of {where}", first, amounts["cost"])
        rewards = numbers(batch.column("reward"), f"{columns.reward} of {where}", first, amounts["reward"])
        good = (codes >= 0) & ~np.isnan(costs) & ~np.isnan(rewards)
        when = None
        if "time" in batch.schema.names:
            when = times(batch.column("time"), f"time of {where}", first)
            good &= ~np.isnan(when)
            when = when[good]
        found = {
            name: marks(batch.column(name))[good]
            for name in batch.schema.names
            if name == "instance" or (name.startswith(OTHER) and first < MOST_MARKED)
        }
        others = [name.removeprefix(OTHER) for name in batch.schema.names if name.startswith(OTHER)]
        timely = [] if when is not None else filter(sounds_like_time, others)
        maybe = {name: dates(batch.column(OTHER + name))[good] for name in timely}
        chances = _chances(batch.column("chance"), where, first, good) if "chance" in batch.schema.names else None
        contexts = {
            name.removeprefix(CONTEXT): _context(batch.column(name), f"{name} of {where}", first, good)
            for name in batch.schema.names
            if name.startswith(CONTEXT)
        }
        left_out = first + np.flatnonzero(~good)
        money = [f"{getattr(columns, role)} {own.example}" for role, own in amounts.items() if own.example]
        kept = arms, codes[good], costs[good], rewards[good], left_out, done, when, maybe, found, tuple(money)
        yield Stretch(*kept, chances, contexts)
        first, empty = first + len(good), empty and not len(good)
    if empty:
        raise BadFile(f"{where} has no rows")


@contextmanager
def _explained(where: str) -> Iterator[None]:
    """What Arrow refuses, as BadFile."""
    require("reading a log", "pyarrow")
    import pyarrow as pa

    try:
        yield
    except pa.ArrowException as error:
        reason = " ".join(str(error).split()).removeprefix("CSV parse error: ").replace("Row #", "row ")
        if reason.startswith("Empty CSV file"):
            reason = "it has a header and no rows, or a quote in it is not closed"
        if reason.startswith("straddling object"):
            reason = f"a row is longer than {BLOCK >> 20} MB, or a quote is not closed"
        raise BadFile(f"{where} cannot be read: {reason[:200]}") from None


def sounds_like_time(name: str) -> bool:
    """Whether a column of this name may say when a row was logged, if its cells are dates.

    >>> [name for name in ("created_at", "requestTime", "Date", "release_date", "format") if sounds_like_time(name)]
    ['created_at', 'requestTime', 'Date']
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|[\s-]+", "_", name.strip()).lower()
    return words in _TIMES or words.endswith(("_at", "_time", "_timestamp"))


def _present(asked: dict[str, str], present: list[str], where: str, owner: str) -> dict[str, str]:
    """Each column as the log spells it: exactly so, or but for spaces and capitals; NoColumn names the missing ones."""
    found: dict[str, list[str]] = {}
    for role, name in asked.items():
        if not isinstance(name, str):
            raise BadParameter(owner, role, "the name of a column", name)
        alike = [there for there in present if there.strip().lower() == name.strip().lower()]
        found[role] = [there for there in alike if there == name] or alike
    more = len(present) - _MOST_LISTED
    it_has = f"it has {', '.join(present[:_MOST_LISTED])}" + f" and {more} more" * (more > 0)
    if missing := [role for role, group in found.items() if not group]:
        none = " and no ".join(repr(asked[role]) for role in missing)
        wanted = "the one" if len(missing) == 1 else "those"
        name = f"name {wanted} for the {' and the '.join(missing)}"
        raise NoColumn(f"{where} has no column {none}; {it_has}: {name}", missing)
    for role, group in found.items():
        if len(group) > 1:
            raise BadFile(f"{where} has {len(group)} columns for the {role}, {', '.join(group)}; {it_has}")
    return {role: group[0] for role, group in found.items()}


@contextmanager
def _opened(path: Path, start: bytes) -> Iterator[tuple[Any, Any]]:
    """The file, and what can be read of it: itself, or what is packed in it; `start` are its first bytes."""
    import pyarrow as pa

    packing = next((name for magic, name in _PACKED.items() if start.startswith(magic)), None)
    with pa.OSFile(os.fsencode(path)) as file:
        yield file, file if packing is None else pa.CompressedInputStream(file, packing)


def _csv_batches(path: Path, start: bytes, separator: str, roles: Roles) -> Batches:
    import pyarrow as pa
    from pyarrow import csv as arrow

    parse = arrow.ParseOptions(delimiter=separator, newlines_in_values=True)
    read = arrow.ReadOptions(block_size=BLOCK, use_threads=False)  # with threads it cannot say in which row it failed
    with _opened(path, start) as (_, unpacked):
        present = arrow.open_csv(unpacked, read, parse).schema.names
    found = roles(present)
    coded = pa.dictionary(pa.int32(), pa.string())
    text = {name: pa.string() if role in ("cost", "reward", "time") else coded for role, name in found.items()}
    convert = arrow.ConvertOptions(include_columns=list(found.values()), column_types=text)
    with _opened(path, start) as (file, unpacked):
        for count, batch in enumerate(arrow.open_csv(unpacked, read, parse, convert), 1):
            yield batch.rename_columns(list(found)), min(file.tell(), count * BLOCK) / file.size()


def _parquet_batches(path: Path, roles: Roles) -> Batches:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pa.OSFile(os.fsencode(path)) as source, pq.ParquetFile(source, buffer_size=1 << 20, pre_buffer=False) as file:
        found, rows = roles(file.schema_arrow.names), 0
        for batch in file.iter_batches(BATCH, columns=list(found.values())):
            rows += batch.num_rows
            yield batch.select(list(found.values())).rename_columns(list(found)), rows / file.metadata.num_rows


def _frame_batches(frame: PandasFrame | ArrowTable, roles: Roles) -> Batches:
    import pyarrow as pa

    present = list(map(str, frame.columns)) if isinstance(frame, PandasFrame) else frame.column_names
    found, rows = roles(present), 0
    if isinstance(frame, PandasFrame):
        series = {role: frame.iloc[:, present.index(name)] for role, name in found.items()}
        table = pa.table({role: _column(values, values.isna()) for role, values in series.items()})
    else:
        table = frame.select(list(found.values())).rename_columns(list(found))
    for batch in table.to_batches(BATCH):
        rows += batch.num_rows
        yield batch, rows / table.num_rows


def _separator(path: Path, head: bytes, columns: LogColumns) -> str:
    """The separator that makes the three columns out of the header, or else the most frequent one."""
    try:
        text = head.decode("utf-8-sig", errors="strict" if len(head) < _HEAD else "ignore")
    except UnicodeDecodeError:
        raise BadFile(f"{path} {_NO_LOG}") from None
    header = re.split(r"[\r\n]", text.lstrip(), maxsplit=1)[0]
    if "\0" in header or not header:
        raise BadFile(f"{path} {_NO_LOG}")
    often = sorted(_SEPARATORS, key=header.count, reverse=True)
    wanted = {str(name).strip().lower() for name in columns}
    for separator in often:
        if wanted <= {cell.strip() for cell in next(csv.reader([header.lower()], delimiter=separator))}:
            return separator
    return often[0]


def _json_batches(path: Path, start: bytes, roles: Roles) -> Batches:
    """A file of JSON lines. Its columns are the keys of the first rows; a key that a row lacks is an empty cell."""
    import pyarrow as pa

    with _opened(path, start) as (file, unpacked):
        lines = io.BufferedReader(unpacked, 1 << 20)  # closes the file when nothing refers to it any more
        rows, found = _rows(lines, path), None
        while part := list(islice(rows, BATCH)):
            if found is None:
                found = roles(list(dict.fromkeys(key for row in part for key in row)))
            cells = {role: [row.get(name) for row in part] for role, name in found.items()}
            batch = {role: _column(column, [cell is None for cell in column]) for role, column in cells.items()}
            yield pa.RecordBatch.from_pydict(batch), min(1.0, file.tell() / file.size())


def _rows(lines: io.BufferedReader, path: Path) -> Iterator[dict[str, Any]]:
    import msgspec

    decoder = msgspec.json.Decoder(dict[str, Any])
    for number, line in enumerate(lines, 1):
        text = line.removeprefix(b"\xef\xbb\xbf").strip()
        if not text:
            continue
        try:
            yield decoder.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BadFile(f"{path} cannot be read: line {number:,} is not one JSON object: {error}"[:300]) from None


def _column(cells: Any, empty: Iterable[bool]) -> Any:
    """Cells as an Arrow column; of mixed kinds as text."""
    import pyarrow as pa

    try:
        return pa.array(cells, from_pandas=True)
    except (pa.ArrowException, ValueError, OverflowError):
        return pa.array([None if none else str(cell) for cell, none in zip(cells, empty, strict=True)])


class Amounts:
    """How a column writes amounts of money, as far as its cells have shown it."""

    def __init__(self) -> None:
        self.point, self.sign = "", ""  # the decimal mark and the currency, once a cell has shown them
        self.example = ""  # of a cell that was read as money

    def learn(self, text: str) -> None:
        """Note what a cell shows; ValueError where others show something else."""
        for sign in set(text) & set(_CURRENCIES):
            if self.sign not in ("", sign):
                raise ValueError(f"amounts in {self.sign}")
            self.sign = sign
        marks = [char for char in text if char in ".,"]
        if not marks or (len(marks) == 1 and _UNCLEAR.search(text)):
            return
        point = marks[-1] if marks.count(marks[-1]) == 1 else ".,".strip(marks[-1])  # thousands are parted twice
        if self.point not in ("", point):
            raise ValueError(f"decimals with a {'point' if point == ',' else 'comma'}")
        self.point = point

    def read(self, text: str) -> float:
        """The amount; ValueError where it is none, or may be two."""
        found, point = _MONEY.fullmatch(text), self.point or "."
        unclear = not self.point and self.sign in ("", "€") and _UNCLEAR.search(text)
        if found is None or unclear or (found[1] and found[2]):
            raise ValueError(text)
        whole, _, decimals = found[3].partition(point)
        parts = re.split(rf"[{_APART}{'.,'.strip(point)}]", whole)
        if len(parts) > 1 and (len(parts[0]) > 3 or any(len(part) != 3 for part in parts[1:])):
            raise ValueError(text)
        value = float(f"{found[1]}{found[2]}{''.join(parts)}.{decimals}")
        self.example = self.example or f"({_cut(text)} as {value:.15g})"
        return value


def numbers(column: ArrowColumn, what: str, first: int, amounts: Amounts) -> NDArray[np.float64]:
    """The cells as numbers, nan where empty; `first` is the number of the first row."""
    import pyarrow as pa

    _check_kind(column, what, "numbers")
    try:
        found = _patiently(column, what, first, amounts) if amounts.point == "," else column.cast(pa.float64())
    except pa.ArrowException:
        found = _patiently(column, what, first, amounts)
    values: NDArray[np.float64] = found.to_numpy(zero_copy_only=False).astype(np.float64)
    if bad := np.flatnonzero(np.abs(values) > LARGEST)[:1].tolist():
        said = f"row {first + bad[0]:,} has {values[bad[0]]:g}"
        raise BadFile(f"the {what} must be a finite number within ±1e100 in every row; {said}")
    if not amounts.point and (np.floor(values) < values).any():
        amounts.point = "."
    return values


def names(column: ArrowColumn, what: str, first: int) -> tuple[list[str], NDArray[np.int64]]:
    """The different names, and for each row the index of its name; −1 where the cell is empty."""
    _check_kind(column, what, "names")
    given, codes = _coded(column)
    for index, name in enumerate(given):
        if len(name) > LONGEST or not name.isprintable():
            row = first + int(np.argmax(codes == index))
            wanted = f"a name of at most {LONGEST} printable characters"
            raise BadFile(f"the {what} must be {wanted}; row {row:,} has {_cut(name)}")
    unique = {name: index for index, name in enumerate(sorted(set(given) - {""}))}
    indices = np.array([unique.get(name, -1) for name in given] + [-1])
    return list(unique), indices[codes]


def marks(column: ArrowColumn) -> NDArray[np.float64]:
    """A number for each cell, equal where cells are equal (but for 1 chance in 2⁵²) and nan where they are empty."""
    import pyarrow as pa
    from pandas.util import hash_array

    if not pa.types.is_dictionary(column.type) and not _is_known(column.type):
        return np.full(len(column), np.nan)
    given, codes = _coded(column)
    hashes = (hash_array(np.array(given, object), categorize=False) >> np.uint64(12)).astype(np.float64)
    hashes[[text.lower() in EMPTY for text in given]] = np.nan
    found: NDArray[np.float64] = np.append(hashes, np.nan)[codes]
    return found


def _chances(column: ArrowColumn, where: str, first: int, good: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The cells of good rows as chances; BadFile where one is none."""
    found = numbers(column, f"chance of {where}", first, Amounts())
    if bad := np.flatnonzero(good & ~((found > 0.0) & (found <= 1.0)))[:1].tolist():
        row = f"row {first + bad[0]:,} has {'none' if np.isnan(found[bad[0]]) else f'{found[bad[0]]:g}'}"
        raise BadFile(f"the chance of {where} must be above 0 and at most 1 in every row; {row}")
    return found[good]


def _context(
    column: ArrowColumn, what: str, first: int, good: NDArray[np.bool_]
) -> tuple[list[str], NDArray[np.int64]]:
    """The different cells as text, and of each good row the index of its own; BadFile where one is empty."""
    _check_kind(column, what, "numbers or names")
    texts, codes = _coded(column)
    empty = good & np.array([*(text.lower() in EMPTY for text in texts), True])[codes]
    if empty.any():
        row = f"row {first + int(np.argmax(empty)):,} is empty"
        raise BadFile(f"the {what} must say something in every row; {row}: fill it in, or leave the column out")
    return texts, codes[good]


def _check_kind(column: ArrowColumn, what: str, wanted: str) -> None:
    """Numbers, text and truth can be read as names or numbers; times, lists and bytes cannot."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not _is_known(kind):
        raise BadFile(f"the {what} must be {wanted}; the column is of the kind {kind}")


def _is_known(kind: Any) -> bool:
    import pyarrow as pa

    known = pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_null
    texts = pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view
    return any(is_kind(kind) for is_kind in (*known, *texts))


def _patiently(column: ArrowColumn, what: str, first: int, amounts: Amounts) -> ArrowColumn:
    """Cell by cell: spaces around a number, True, False, the usual words for nothing, and money are allowed."""
    import pyarrow as pa

    texts = ["" if cell is None else str(cell).strip() for cell in column.to_pylist()]
    for row, text in enumerate(texts, first):
        try:
            if _MONEY.fullmatch(text):
                amounts.learn(text)
        except ValueError as other:
            raise BadFile(f"the {what} must be written alike; row {row:,} has {_cut(text)}, others {other}") from None
    values: list[float | None] = []
    for row, text in enumerate(texts, first):
        if (small := text.lower()) in EMPTY or small in _TRUTH:
            values.append(_TRUTH.get(small))
            continue
        try:
            plain = "_" not in text and not (amounts.point == "," and "." in text)  # Python would read 1_0
            number = float(text if plain else "none")
        except ValueError:
            try:
                number = amounts.read(text)
            except ValueError:
                hint = ": decimals or thousands?" if _MONEY.fullmatch(text) and _UNCLEAR.search(text) else ""
                raise BadFile(f"the {what} must be a number in every row; row {row:,} has {_cut(text)}{hint}") from None
        values.append(math.inf if number != number else number)
    return pa.array(values, pa.float64())


def times(column: ArrowColumn, what: str, first: int) -> NDArray[np.float64]:
    """The cells as numbers that rise with time, nan where empty; `first` is the number of the first row.

    Numbers stay as they are; dates become seconds since 1970, in UTC where they name no zone.

    >>> import pyarrow as pa
    >>> times(pa.array(["1970-01-02", "1970-01-01T00:01:00Z", ""]), "time of log.csv", 2)
    array([8.64e+04, 6.00e+01,      nan])
    """
    import pyarrow as pa

    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        stamps = column.cast(pa.timestamp("us")).cast(pa.int64()).cast(pa.float64(), safe=False)
        return np.asarray(stamps.to_numpy(zero_copy_only=False) / 1e6, np.float64)
    try:
        values = column.cast(pa.float64()).to_numpy(zero_copy_only=False).astype(np.float64)
    except pa.ArrowException:
        values = np.array([_seconds(cell, what, row) for row, cell in enumerate(column.to_pylist(), first)])
    return np.where(np.isinf(values), np.nan, values)


def dates(column: ArrowColumn) -> NDArray[np.float64]:
    """The cells that are dates, as seconds since 1970; nan for all others, so also for numbers."""
    import pyarrow as pa

    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        return times(column, "", 0)
    texts, codes = _coded(column)
    stamps = np.array([*(_stamp(text) if _DATE.match(text) else math.nan for text in texts), math.nan])
    return np.asarray(stamps[codes])


def _coded(column: ArrowColumn) -> tuple[list[str], NDArray[np.int64]]:
    """The different cells as text, "" for nan, and for each row the index of its own; −1 where it is empty."""
    import pyarrow as pa

    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    cells, codes = encoded.dictionary.to_pylist(), encoded.indices.cast(pa.int64()).fill_null(-1)
    texts = ["" if cell is None or cell != cell else str(cell).strip() for cell in cells]
    return texts, codes.to_numpy(zero_copy_only=False)


def _stamp(text: str) -> float:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return math.nan
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _seconds(cell: object, what: str, row: int) -> float:
    text = "" if cell is None else str(cell).strip()
    if text.lower() in EMPTY:
        return math.nan
    try:
        return float(text)
    except ValueError:
        found = _stamp(text)
    if not math.isnan(found):
        return found
    raise BadFile(f"the {what} must be a number or a date like 2026-01-31 in every row; row {row:,} has {_cut(text)}")


def _cut(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")
