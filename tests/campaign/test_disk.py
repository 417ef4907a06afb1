"""Disk calls that fail: nothing acknowledged is lost, refusals are a plain sentence, and the store goes on after."""

import ctypes
import os
import re
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from errno import EIO, ENOSPC
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from outlay.campaign import Campaign
from outlay.errors import StoreError
from tests.campaign.checker import checked
from tests.campaign.worker import TERMS, Noted, Notes, Workers, finish, pull_once

COMPILER = shutil.which("cc")
PULLS = 3
FOR_EVER = 2**40
# One call, or all from there on; then going on in the same process, or in another after the end of this one.
TROUBLES = list(product([1, FOR_EVER], [ENOSPC, EIO], [False, True]))
LAST = 160  # opening, three pulls, a late reward and closing make about that many calls
TRIES = 3  # after which there is room on the disk again
EVERY = list(product(range(1, LAST + 1), range(len(TROUBLES))))
# Each of the first calls, which make the file what it is, and some of the others, with one trouble each.
SOME = [(first, i % len(TROUBLES)) for i, first in enumerate([*range(1, 9), *range(9, LAST + 1, 11)])]
SENTENCE = re.compile(r"/\S+\.db: [a-z][ a-zA-Z/]+")


@pytest.fixture(scope="module")
def with_a_failing_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    """Processes whose disk calls can be made to fail."""
    if COMPILER is None:
        pytest.skip("there is no C compiler to build the failing disk with")
    library = tmp_path_factory.mktemp("disk") / "failing_disk.so"
    source = Path(__file__).with_name("failing_disk.c")
    built = subprocess.run(
        [COMPILER, "-shared", "-fPIC", "-o", library, source, "-ldl"], capture_output=True, text=True
    )
    if built.returncode:
        pytest.skip(f"the failing disk cannot be built here: {built.stderr}")
    with Workers(LD_PRELOAD=str(library)) as workers:
        yield workers


@pytest.mark.parametrize("cases", [SOME, pytest.param(EVERY, marks=pytest.mark.soak)], ids=["some", "every"])
def test_calls_that_fail(with_a_failing_disk: Workers, tmp_path: Path, cases: list[tuple[int, int]]) -> None:
    """The n-th write, sync or truncation of the database, its log or its index fails, for every n."""
    refusals = 0
    for first, i in cases:
        length, error, dies = TROUBLES[i]
        place = tmp_path / f"{first}-{i}"
        name = "tests.campaign.test_disk.with_failing_calls"
        with_a_failing_disk.run(name, str(place), first, first + length - 1, error, dies)
        refusals += check(place, dies)
    assert refusals > len(cases) // 2


def test_calls_are_counted(with_a_failing_disk: Workers, tmp_path: Path) -> None:
    """The sweep reaches from the first call of all to the last."""
    with_a_failing_disk.run("tests.campaign.test_disk.with_failing_calls", str(tmp_path / "all"), 0, 0, 0, False)
    assert check(tmp_path / "all", False) == 0
    calls = int((tmp_path / "all.calls").read_text())
    assert LAST // 2 < calls <= LAST


@pytest.mark.parametrize(
    "cases",
    [
        [(size, size % 4 == 0) for size in range(0, 200_000, 33_333)],
        pytest.param(list(product(range(0, 200_000, 1_111), [False, True])), marks=pytest.mark.soak),
    ],
    ids=["some", "every"],
)
def test_files_that_cannot_grow(workers: Workers, tmp_path: Path, cases: list[tuple[int, bool]]) -> None:
    """Writes are cut short at a size that no file may pass."""
    refusals = 0
    for size, dies in cases:
        place = tmp_path / f"{size}-{dies}"
        workers.run("tests.campaign.test_disk.with_small_files", str(place), size, dies)
        refusals += check(place, dies)
    assert refusals > 5


def check(place: Path, dies: bool) -> int:
    """Take up what a process left that died, and see that all is there; return how often the store refused."""
    store, notes = f"sqlite:///{place}.db", place.with_name(f"{place.name}.notes")
    if dies:
        noted = Noted.read(notes)
        if noted.asking:
            noted.check(checked(store))
        finish(store, notes)
    noted = Noted.read(notes)
    noted.check(checked(store))
    assert noted.asking == noted.asked.keys()
    assert noted.told == set(noted.asked.values())
    for message in noted.refused:
        assert SENTENCE.fullmatch(message), message
    return len(noted.refused)


def with_failing_calls(place: str, first: int, last: int, error: int, dies: bool) -> None:
    """In a process of its own: work while some calls fail."""
    disk = ctypes.CDLL(None)
    disk.disk_fail.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_int]
    disk.disk_calls.restype = ctypes.c_long
    disk.disk_fail(first, last, error)
    work(place, lambda: disk.disk_fail(0, 0, 0), dies)
    Path(f"{place}.calls").write_text(str(disk.disk_calls()))


def with_small_files(place: str, size: int, dies: bool) -> None:
    """In a process of its own: work while no file may be larger than this. (Python ignores SIGXFSZ.)"""
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, unlimited[1]))
    work(place, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, unlimited), dies)


def work(place: str, heal: Callable[[], Any], dies: bool) -> None:
    """A few pulls; after some refusals the disk is healed, or the process ends at the first."""
    note = Held(f"{place}.notes", heal, dies)
    campaign = None
    while campaign is None:
        try:
            campaign = Campaign(**TERMS, store=f"sqlite:///{place}.db")
        except StoreError as error:
            note("refused", str(error))
    for i in range(PULLS):
        pull_once(campaign, note, str(i))
    campaign.disconnect()
    note.write()


class Held(Notes):
    """Notes that are held back until the disk is well."""

    def __init__(self, path: str, heal: Callable[[], Any], dies: bool) -> None:
        super().__init__(path)
        self._heal, self._dies = heal, dies
        self._held: list[Any] = []

    def __call__(self, *note: Any) -> None:
        self._held.append(note)
        refused = sum(held[0] == "refused" for held in self._held)
        if refused and self._dies:
            self.write()
            os._exit(0)
        if refused == TRIES:
            self._heal()

    def write(self) -> None:
        """Write what was held back."""
        self._heal()
        for note in self._held:
            super().__call__(*note)
