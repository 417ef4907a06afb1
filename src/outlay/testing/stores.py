"""The contract of every store, as tests that any suite can run: outlay's own does, and yours can.

    class TestMine(StoreContract):
        def make_store(self, opening, clock):
            return MyLedger(opening, clock)

pytest finds the methods. Each fails with an AssertionError that says what was broken. The truth that a store is
compared with is the plain fold of the same commands, which needs no store.
"""

import threading
from collections.abc import Iterator, Sequence

from outlay.campaign.ledger import commands as c
from outlay.campaign.ledger.events import FORMAT, ArmTerms, Terms
from outlay.campaign.ledger.state import State
from outlay.campaign.records import Pull, PullFilter, Reply, status_of
from outlay.campaign.stores.base import Clock, Store, run

_SECOND = 1_000_000  # microseconds
_START = 1_700_000_000 * _SECOND
_THREADS, _ASKS = 4, 10


class StoreContract:
    """Define `make_store` in a subclass; each test asks for a new one, and closes it."""

    def make_store(self, opening: c.Open, clock: Clock) -> Store:
        """A store that is new and empty, with a campaign opened by this command; `clock` says what time it is.

        The policy of the opening is built in, so that the store finds it by its name.
        """
        raise NotImplementedError(f"{type(self).__name__} must define make_store(opening, clock)")

    def test_it_has_every_method_of_a_store(self) -> None:
        """See `Store`."""
        store = self._opened(_Hand())
        _demand(isinstance(store, Store), f"{type(store).__name__} lacks a method of Store")
        store.close()

    def test_replies_records_and_status_are_those_of_the_fold(self) -> None:
        """Command by command, through refusals, retries, expiry, corrections and the end."""
        hand, truth = _Hand(), _Truth()
        store = self._opened(hand)
        for wait, command in _story():
            hand.now_is += wait
            expected = truth.transact([command], hand.now_is)
            _same(f"the reply to {command}", _shown(store.transact([command])), _shown(expected))
        _same("the records", list(store.records()), truth.records)
        _same("the status", store.status(), status_of(truth.state))
        _same("the state", status_of(store.state()), status_of(truth.state))
        store.close()

    def test_a_batch_is_its_commands_one_by_one(self) -> None:
        """What one command does is known to the next; one that is refused does not stop the others."""
        hand, truth = _Hand(), _Truth()
        store = self._opened(hand)
        commands: list[c.Command] = [c.Ask("k"), c.Tell(2, 5, 1.0), c.Tell(99, 5, 1.0), c.Ask("k"), c.Pause(), c.Ask()]
        _same("the replies", _shown(store.transact(commands)), _shown(truth.transact(commands, hand.now_is)))
        _same("the records", list(store.records()), truth.records)
        _same("the replies to nothing", store.transact([]), [])
        store.close()

    def test_what_is_submitted_is_answered(self) -> None:
        """`submit` gives a future of what `transact` returns."""
        hand, truth = _Hand(), _Truth()
        store = self._opened(hand)
        replies = store.submit([c.Ask()]).result(timeout=60)
        _same("the reply", _shown(replies), _shown(truth.transact([c.Ask()], hand.now_is)))
        store.close()

    def test_records_can_be_read_from_anywhere(self) -> None:
        """`after` counts events that are left out; after the last there is none."""
        store = self._opened(_Hand())
        store.transact([c.Ask(), c.Ask(), c.Ask()])
        for after in range(6):
            _same(f"the events after {after}", [record.seq for record in store.records(after)], [1, 2, 3, 4][after:])
        store.close()

    def test_decisions_are_found_as_they_stand(self) -> None:
        """By how they stand, by key and by tag; after a number, and no more than wanted."""
        store = self._opened(_Hand())
        store.transact([c.Ask("one", tags=("t",)), c.Ask(tags=("t", "u")), c.Ask(), c.Ask(metadata={"n": 1})])
        store.transact([c.Tell(2, 5, 1.0), c.Void(3)])
        for wanted, numbers in (
            (PullFilter(), [2, 3, 4, 5]),
            (PullFilter(status="open"), [4, 5]),
            (PullFilter(status="told", key="one"), [2]),
            (PullFilter(tag="t"), [2, 3]),
            (PullFilter(tag="t", limit=1), [2]),
            (PullFilter(after=3, limit=1), [4]),
            (PullFilter(key="two"), []),
        ):
            _same(f"what is found of {wanted}", [decision.number for decision, _ in store.find(wanted)], numbers)
        ((decision, asked),) = store.find(PullFilter(after=4))
        _same("what was noted", (decision.standing, asked.metadata), ("open", {"n": 1}))
        store.close()

    def test_threads_get_different_pulls_and_no_number_is_left_out(self) -> None:
        """Except callers who ask with the same key: they get the same pull."""
        store = self._opened(_Hand())
        replies: list[Reply] = []

        def work() -> None:
            for i in range(_ASKS):
                replies.extend(store.transact([c.Ask(), c.Ask(f"shared {i}")]))

        threads = [threading.Thread(target=work) for _ in range(_THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        numbers = [reply.id for reply in replies if isinstance(reply, Pull)]
        _same("the number of pulls", len(numbers), 2 * _THREADS * _ASKS)
        _same("the number of decisions", len(set(numbers)), (_THREADS + 1) * _ASKS)
        _same("the numbers of the events", [r.seq for r in store.records()], list(range(1, len(set(numbers)) + 2)))
        store.close()

    def test_closing_again_does_nothing(self) -> None:
        """A campaign may be let go twice."""
        store = self._opened(_Hand())
        store.close()
        store.close()

    def _opened(self, hand: "_Hand") -> Store:
        return self.make_store(_OPENING, hand)


class _Hand(Clock):
    """A clock that is set by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.now_is = _START

    def now(self, wall: int | None = None, at_least: int = 0) -> int:  # noqa: ARG002 (no other clock counts)
        return max(self.now_is, at_least)


class _Truth:
    """The fold of the commands, without a store."""

    def __init__(self) -> None:
        done = run(None, [_OPENING], _START)
        _demand(done.state is not None, "the campaign of the contract cannot be opened")
        self._state, self.records = done.state, done.records

    @property
    def state(self) -> State:
        assert self._state is not None  # noqa: S101 (seen above)
        return self._state

    def transact(self, commands: Sequence[c.Command], now: int) -> list[Reply]:
        done = run(self._state, commands, now)
        self.records += done.records
        return done.replies


_OPENING = c.Open(
    "contract",
    (ArmTerms("small", 10), ArmTerms("large")),
    1000,
    Terms(
        *("1", "until_exceeded", 7, {"name": "RoundRobin", "parameters": {}}, "contract", 60 * _SECOND),
        propensity_draws=0,
        format=FORMAT,
    ),
)


def _story() -> Iterator[tuple[int, c.Command]]:
    """Commands of every kind, each with the time that passes before it."""
    first, second, third, fourth, noted = 2, 3, 4, 5, 18  # the decisions: the opening is event 1
    yield 0, c.Ask("one")
    yield 0, c.Ask()
    yield 0, c.Ask(ttl=5 * _SECOND)
    yield 0, c.Ask()
    yield _SECOND, c.Ask("one")
    yield 0, c.Ask("one", ttl=_SECOND)
    yield 0, c.Tell(first, 7, 0.5)
    yield 0, c.Charge(first)
    yield 0, c.Tell(first, 7, 0.5)
    yield 0, c.Tell(first, 8, 0.5)
    yield 0, c.Tell(1000, 8, 0.5)
    yield 0, c.Amend(first, 9, 0.25, "a slip")
    yield 0, c.Void(second, "never made")
    yield 0, c.Extend(fourth, 3600 * _SECOND)
    yield 10 * _SECOND, c.Sweep()
    yield 0, c.Tell(third, 30, 1.0)
    yield 0, c.Warm(("small", "large"), (4.0, 20.0), (0.5, 2.0), "log")
    yield 0, c.Warm(("small", "large"), (4.0, 20.0), (0.5, 2.0), "log")
    yield 0, c.AddArm(ArmTerms("new", 3))
    yield 0, c.DisableArm("new")
    yield 0, c.EnableArm("nobody")
    yield 0, c.EnableArm("new")
    yield 0, c.Pause()
    yield 0, c.Ask()
    yield 0, c.Resume()
    yield 0, c.Ask("noted", tags=("a", "b"), metadata={"user": 17})
    yield 0, c.Charge(noted)
    yield 0, c.Ask()
    yield -_SECOND, c.Ask()  # a clock that was set back
    yield 0, c.Tell(fourth, 2000, 1.0)
    yield 0, c.Ask()
    yield 0, c.SetBudget(3000)
    yield 0, c.Ask()
    yield 0, c.Close()
    yield 0, c.Ask()
    yield 0, c.SetBudget(4000)


def _shown(replies: list[Reply]) -> list[object]:
    """Replies in a form that compares: an error is its class and its words."""
    return [(type(reply), str(reply)) if isinstance(reply, Exception) else reply for reply in replies]


def _same(what: str, got: object, wanted: object) -> None:
    _demand(got == wanted, f"{what} must be {wanted!r}; got {got!r}")


def _demand(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(message)
