"""`verify`: a ledger against itself. The events are folded again, each is decided again, and every row is compared.

Pulls that are settled and agree with their rows are let go; a later event that names one reads its row again. So
memory holds what is under way and what is in doubt, however long the ledger.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

import msgspec

from outlay import __version__
from outlay.campaign.ledger import snapshot
from outlay.campaign.ledger.events import NOTHING, Asked, Opened, Record, from_json, to_json
from outlay.campaign.ledger.replay import Replay
from outlay.campaign.ledger.state import PullState, State
from outlay.campaign.ledger.validation import label
from outlay.campaign.settings import PolicyGiven, check_same_policy, chosen
from outlay.campaign.stores.engines import reading
from outlay.campaign.stores.queries import CHUNK, Line, Row, StoredCampaign, load_pulls, snapshots
from outlay.errors import BadParameter
from outlay.policies.protocol import Policy

MOST_SAID = 100  # problems that are spelled out


class Verdict(NamedTuple):
    """What `verify` found: `problems`, which should not exist, and `notes`, which are no cause for concern.

    `choices_checked`: whether the policy was available to make its choices again.
    """

    name: str
    events: int
    pulls: int
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    choices_checked: bool
    head: str = ""  # the hash of the last event, which holds those of all before it

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return not self.problems


def verify(
    store: str, name: str = "default", policy: PolicyGiven = None, *, expected_head: str | None = None
) -> Verdict:
    """Replay a campaign: fold and decide every event again, and compare the outcome with what is stored.

    Args:
        store: the address of the database.
        name: of the campaign.
        policy: the policy, where it is not built in; without it choices are not checked.
        expected_head: the hash of an event, as a receipt, an export or an earlier verdict had it; that nothing up to
            this event was changed, even by someone who made all rows and hashes fit.

    Another version of outlay may have chosen other arms: where it did, a note says so.
    """
    name = label("verify", "name", name)
    given = chosen(policy)
    if expected_head is not None and not re.fullmatch("[0-9a-f]{64}", str(expected_head)):
        allowed = "64 hexadecimal digits, as a receipt or an export has them"
        raise BadParameter("verify", "expected_head", allowed, expected_head)
    with reading(store, "verify") as connection:
        check = _Check(StoredCampaign(connection, name), given, expected_head)
        check.walk()
        return check.verdict()


class _Check:
    def __init__(self, stored: StoredCampaign, policy: Policy | None, expected_head: str | None) -> None:
        self._expected = expected_head  # None once it was met
        self._stored, self._name, self._policy = stored, str(stored.row["name"]), policy
        self._state: State | None = None
        self._replay = Replay()
        self._asked = 0
        self._problems: list[str] = []
        self._unsaid = 0
        self._whole = True  # so far every event could be folded
        self._broken = False  # the chain of events
        self._snapshots = dict(snapshots(stored.connection, stored.number))  # those that were not met yet: a few

    def walk(self) -> None:
        lines = self._stored.lines()
        while self._whole and (chunk := list(islice(lines, CHUNK))):
            self._fold(chunk)
        if not self._whole or self._state is None:
            self._say("nothing after that was checked" if self._problems else "there is no event")
            return
        if self._expected is not None:
            self._say(f"no event has the hash {self._expected}: the ledger was rewritten or cut, or is another")
        self._compare_rows(self._state)

    def verdict(self) -> Verdict:
        state = self._state
        more = [f"{self._unsaid} more problems"] if self._unsaid else []
        checked = state is not None and state.learner is not None
        notes = [
            f"{len(found)} choices of outlay {version} are not those of {__version__}; the first is event {found[0]}"
            for version, found in self._replay.others.items()
        ]
        if state is not None and not checked:
            policy = state.terms.policy["name"]
            notes.append(f"choices were not checked: {policy} is not built in, and was not given")
        events = state.seq if state else 0
        head = state.head if state else NOTHING
        return Verdict(self._name, events, self._asked, (*self._problems, *more), tuple(notes), checked, head)

    def _say(self, problem: str) -> None:
        if len(self._problems) < MOST_SAID:
            self._problems.append(problem)
        else:
            self._unsaid += 1

    def _fold(self, chunk: list[Line]) -> None:
        """Take in some events, and compare the pulls that they settled."""
        records = list(self._read(chunk))
        if self._state is not None:
            load_pulls(self._stored.connection, self._stored.number, self._state, records)
        for record in records:
            if not self._step(record):
                self._whole = False
                return
        state = self._state
        if state is not None:
            named = {number for record in records if (number := record.about()) is not None}
            held = {
                number: state.pulls[number]
                for number in named & state.pulls.keys() - state.pending.keys() - state.awaiting.keys()
            }
            for number in held.keys() - self._differing(held).keys():
                state.evict_pull(number)

    def _read(self, chunk: list[Line]) -> Iterator[Record]:
        for seq, at, body, before in chunk:
            try:
                event = from_json(body)
            except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
                self._say(f"event {seq} cannot be read: {error}")
                self._whole = False
                return
            if to_json(event) != body:
                self._say(f"event {seq} is not written as outlay writes it")
            yield Record(seq, at, event, before)

    def _step(self, record: Record) -> bool:
        event = record.event
        if record.before != (self._state.head if self._state else NOTHING) and not self._broken:
            self._say(f"event {record.seq} carries another hash than that of the one before it: an event was changed")
            self._broken = True  # as all that follow will
        try:
            state, doubt = self._replay.fold(self._state, record, self._policy)
        except ValueError as error:
            self._say(str(error))
            return False
        self._state = state
        if state.head == self._expected:
            self._expected = None
        if doubt:
            self._say(doubt)
        if isinstance(event, Opened):
            if self._policy is not None:
                check_same_policy(event, self._policy)
            if event.name != self._name:
                self._say(f"event 1 opens {event.name!r}, and the campaign's row says {self._name!r}")
        self._asked += isinstance(event, Asked)
        if (body := self._snapshots.pop(record.seq, None)) is not None:
            ours = snapshot.dump(state)
            if ours is not None and snapshot.version_of(body) in (snapshot.WRITER, None) and body != ours:
                self._say(f"the snapshot at event {record.seq} is not the fold of the events")
        return True

    def _differing(self, pulls: Mapping[int, PullState]) -> dict[int, str]:
        """Of some pulls, those that are not what their rows say, with the difference."""
        found: dict[int, str] = {}
        numbers = iter(sorted(pulls))
        while some := list(islice(numbers, CHUNK)):
            there = self._stored.pulls(some)
            for number in some:
                ours = {"campaign": self._stored.number, **msgspec.structs.asdict(pulls[number])}
                if said := _difference(ours, there.get(number)):
                    found[number] = said
        return found

    def _compare_rows(self, state: State) -> None:
        """Every row that is not compared yet, with what the events come to."""
        for number, difference in self._differing(state.pulls).items():
            self._say(f"pull {number}: {difference}")
        kept = self._stored.count_pulls()
        if kept > self._asked:
            self._say(f"there are {kept} rows of pulls, and {self._asked} were made")
        for seq in sorted(self._snapshots):
            self._say(f"there is a snapshot at event {seq}, and {state.seq} events")
        ours = {name: getattr(state, name) for name in self._stored.row if name not in ("id", "name")}
        if said := _difference(ours, self._stored.row):
            self._say(f"the campaign's row: {said}")
        there = self._stored.arms()
        for number, arm in enumerate(state.arms):
            here = {"campaign": self._stored.number, "number": number, **msgspec.structs.asdict(arm)}
            if said := _difference(here, there.pop(number, None)):
                self._say(f"arm {number} ({arm.name}): {said}")
        for number in there:
            self._say(f"there is a row of an arm {number}, which was never opened")


def _difference(ours: Row, row: Row | None) -> str | None:
    """Where a row is not, bit for bit, what the events come to."""
    if row is None:
        return "its row is missing"
    for name, value in ours.items():
        if repr(value) != repr(row[name]):
            return f"{name} is {row[name]!r}, and the events come to {value!r}"
    return None
