"""What a campaign waits for: its store, a pull, a change; the hooks of users; and the log, `outlay.campaign`.

Every record of the log has the campaign's name as `record.campaign`. Nothing is printed unless the program sets logging
up.
"""

import asyncio
import inspect
import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, NamedTuple, get_args
from weakref import WeakValueDictionary, ref

from outlay.campaign.ledger import events as e
from outlay.campaign.records import Entry, Pull, Reply, entries
from outlay.campaign.stores.base import Store
from outlay.checks import word
from outlay.errors import BadParameter, NotNow, StoreBusy, StoreError
from outlay.sansio import Steps

Hook = Callable[[Entry], object]

SHORTEST, LONGEST = 0.05, 1.0  # seconds from one look to the next, where another process may have changed something
LEAST_STORE_SECONDS = 1.0  # seconds that a store has to answer, however soon a wait ends
EVERY = "*"
KINDS = tuple(str(kind.__struct_config__.tag) for kind in get_args(e.AnyEvent))
LOOK = 1.0  # seconds between two looks at what other processes wrote
LAST_CALL = 5.0  # seconds that a hook may still take while the campaign is disconnected

_log = logging.getLogger("outlay.campaign")
_log.addHandler(logging.NullHandler())  # a library prints nothing by itself


class WithTimeout(NamedTuple):
    """A step: a command that the store must answer in so many seconds, or StoreBusy is raised."""

    command: e.Command
    seconds: float | None


class WaitFor(NamedTuple):
    """A step: wait for a future, whatever comes of it, or for so many seconds."""

    future: Future[None]
    seconds: float | None = None


Step = e.Command | list[e.Command] | WithTimeout | WaitFor  # of a list the replies come back, errors among them


def perform(ledger: Store, campaign: str, step: Step) -> Any:
    """What comes of a step, in the caller's thread; refusals are logged."""
    if isinstance(step, WaitFor):
        with suppress(TimeoutError):
            step.future.result(step.seconds)
        return None
    commands, seconds = _parts(step)
    return _reply(campaign, step, ledger.transact(commands, seconds))


async def aperform(ledger: Store, campaign: str, step: Step) -> Any:
    """The same, awaited."""
    if isinstance(step, WaitFor):
        await asyncio.wait([asyncio.wrap_future(step.future)], timeout=step.seconds)
        return None
    commands, seconds = _parts(step)
    try:
        async with asyncio.timeout(seconds):  # wait_for would, before Python 3.12, give a cancelled task its pull
            replies = await ledger.atransact(commands)
    except TimeoutError:
        raise StoreBusy(f"campaign {campaign!r} did not answer within {seconds:g} s") from None
    return _reply(campaign, step, replies)


def _parts(step: e.Command | list[e.Command] | WithTimeout) -> tuple[Sequence[e.Command], float | None]:
    """The commands of a step, and the seconds that the store has for them."""
    if isinstance(step, WithTimeout):
        return (step.command,), step.seconds
    return (step if isinstance(step, list) else (step,)), None


def _reply(campaign: str, step: Step, replies: list[Reply]) -> Any:
    """The replies to a list of commands, errors among them; or the one to a command, raised if it is an error."""
    for reply in replies:
        if isinstance(reply, Exception):  # that no pull can be named now is no news while workers wait
            log(logging.DEBUG if isinstance(reply, NotNow) else logging.WARNING, campaign, "refused: %s", reply)
            if not isinstance(step, list):
                raise reply
    return replies if isinstance(step, list) else replies[0]


def answers(replies: Sequence[Reply]) -> list[Any]:
    """What the commands came to; the first error that one met is raised."""
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply
    return [*replies]


class WaitQueue:
    """Those who wait for a pull, in the order in which they came, threads and tasks of asyncio alike.

    If each of fifty workers asked after every tell, forty-nine would be refused. So the first asks alone, when
    something may have changed; when it leaves with its pull, the next one becomes first, and asks at once. Calls that
    can cost another amount, or use other arms, stand in another line: where one does not fit, a smaller one may.
    """

    def __init__(self, notifier: "Notifier") -> None:
        self._notifier = notifier
        self._lock = threading.Lock()
        self._lines: defaultdict[str, deque[Future[None]]] = defaultdict(deque)  # the first is done: it is its turn

    def ask(self, command: e.Ask, timeout: float | None, store: float | None = None) -> Steps[Pull | None]:
        """Ask until there is an answer: at once if nobody waits, else when those who came before have theirs.

        In between it waits for a change, and looks again after a while, which is longer each time until there was one:
        another process may have changed something. Who asks with a key tries before standing behind others: its pull
        may be there already, and they may wait for it. The `store` has so many seconds for an answer, or what is left.
        """
        end = None if timeout is None else time.monotonic() + timeout
        refusal = NotNow(f"{len(self)} others wait for a pull", 1.0)

        def attempt() -> WithTimeout:
            if store is not None or end is None:
                return WithTimeout(command, store)
            return WithTimeout(command, max(LEAST_STORE_SECONDS, end - time.monotonic()))

        def left() -> float | None:
            seconds = None if end is None else end - time.monotonic()
            if seconds is not None and seconds <= 0:
                raise refusal
            return seconds

        name = repr((command.most, command.arms))
        if command.key is not None or name not in self._lines:
            try:
                pull: Pull | None = yield attempt()
                return pull
            except NotNow as error:
                refusal = error
        turn, pause = self._join(name), SHORTEST
        try:
            while not turn.done():
                yield WaitFor(turn, left())
            while True:
                change = self._notifier.next_change()
                try:
                    try:
                        pull = yield attempt()
                        return pull
                    except NotNow as error:
                        refusal = error
                    yield WaitFor(change, min(pause, refusal.retry_after, left() or pause))
                finally:
                    self._notifier.forget(change)
                pause = SHORTEST if change.done() else min(LONGEST, 2 * pause)
        finally:
            self._leave(name, turn)

    def ask_within(self, command: e.Ask, seconds: float, timeout: float | None) -> Steps[Pull | None]:
        """The same for so long at most; then the fallback is named, if one was agreed and can be.

        A store that others hold has `timeout` seconds, or LEAST_STORE_SECONDS; then StoreBusy is raised.
        """
        store = LEAST_STORE_SECONDS if timeout is None else timeout
        if seconds > 0:
            try:
                return (yield from self.ask(command, seconds, store))
            except NotNow:
                pass
        pull: Pull | None = yield WithTimeout(command._replace(or_fallback=True), store)
        return pull

    def _join(self, name: str) -> Future[None]:
        """A place in the line: done when it is one's turn."""
        turn: Future[None] = Future()
        with self._lock:
            line = self._lines[name]
            line.append(turn)
            if turn is line[0]:
                turn.set_result(None)
        return turn

    def _leave(self, name: str, turn: Future[None]) -> None:
        with self._lock:
            line = self._lines[name]
            line.remove(turn)
            if not line:
                del self._lines[name]
            elif not line[0].done():
                line[0].set_result(None)

    def __len__(self) -> int:
        return sum(map(len, [*self._lines.values()]))


class Notifier:
    """Says that a campaign's ledger has changed, to whoever waits for it in this process.

    Changes are many and waiters few, so `announce` takes the lock only if somebody waits. None is missed by who is in
    the list before looking at the ledger.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._waiting: list[Future[None]] = []

    def hear(self, records: Sequence[e.Record]) -> None:
        """These events were committed by this process: what somebody should know of is logged."""
        for record in records:
            event = record.event
            if isinstance(event, e.Told) and event.overrun:
                log(logging.WARNING, self._name, "pull %d cost more than was set aside for it (overrun)", event.pull)
            elif isinstance(event, e.Expired):
                ending = "released" if event.charged is None else "charged"
                log(logging.WARNING, self._name, "pull %d expired, its reservation is %s", event.pull, ending)
            elif isinstance(event, e.Exhausted):
                why = "the budget is spent, no arm fits what is left of it, or every request is served"
                log(logging.INFO, self._name, f"exhausted: {why}")
            elif isinstance(event, e.Renewed):
                log(logging.INFO, self._name, "began a window: its budget is whole again")
            elif isinstance(event, (e.Closed, e.Archived, e.Restored)):
                log(logging.INFO, self._name, type(event).__name__.lower())
        self.announce()

    def announce(self) -> None:
        """Whoever waits is to look again."""
        if self._waiting:
            with self._lock:
                waiting, self._waiting = self._waiting, []
            for future in waiting:
                future.set_result(None)

    def next_change(self) -> Future[None]:
        """Done as soon as there is a change; `forget` it when it is no longer wanted."""
        future: Future[None] = Future()
        with self._lock:
            self._waiting.append(future)
        return future

    def forget(self, future: Future[None]) -> None:
        """Nobody waits for it any more."""
        with self._lock, suppress(ValueError):  # it is done
            self._waiting.remove(future)


_shared: WeakValueDictionary[tuple[str, str], Notifier] = WeakValueDictionary()
_lock = threading.Lock()


def notifier_of(store: str | None, name: str) -> Notifier:
    """That of a campaign: all who opened it in this process, at the same address, share it."""
    if store is None:
        return Notifier(name)
    with _lock:
        return _shared.setdefault((store, name), Notifier(name))


class _Hook(NamedTuple):
    kind: str
    function: Hook
    after: int  # the last event before the hook was given


class Hooks:
    """What the users of one `Campaign` want called when something has happened in it.

    The ledger is the queue. A thread, started with the first hook, reads on from where it was whenever this process has
    written something, and once a second for what others wrote. So every event comes once, in order, and after its
    commit; and a hook may be slow, may raise, and may use the campaign.
    """

    def __init__(self, ledger: Store, name: str, notifier: Notifier) -> None:
        self._ledger, self._name, self._notifier = ledger, name, notifier
        self._hooks: list[_Hook] = []
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._after = 0
        self._arms: list[str] = []

    def add(self, kind: str, function: Hook) -> Callable[[], None]:
        """Call the function with each event of this kind from now on; what is returned ends that."""
        kind = word("on", "kind", kind, (*KINDS, EVERY))
        given: object = function
        if not callable(given) or inspect.iscoroutinefunction(given):
            raise BadParameter("on", "hook", "a function of one argument, the event, and not a coroutine", function)
        state = self._ledger.state()
        hook = _Hook(kind, function, state.seq)
        with self._lock:
            self._hooks.append(hook)
            if self._thread is None:
                self._after, self._arms = state.seq, [arm.name for arm in state.arms]
                self._thread = threading.Thread(
                    target=_work, args=(ref(self), self._notifier), name=f"outlay hooks {self._name}", daemon=True
                )
                self._thread.start()

        def drop() -> None:
            with self._lock:
                if hook in self._hooks:
                    self._hooks.remove(hook)

        return drop

    def stop(self) -> None:
        """Call the hooks for what was written, then no more."""
        self._stopped = True
        self._notifier.announce()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(LAST_CALL)

    def deliver(self) -> bool:
        """Call the hooks for all events that are new; False where this was the last time."""
        last = self._stopped
        try:
            for entry in entries(self._ledger.records(self._after), self._ledger.state().unit, self._arms):
                self._after = entry.seq
                self._call(entry)
        except StoreError as error:
            log(logging.WARNING, self._name, "cannot be read for its hooks: %s", error)
        return not last

    def _call(self, entry: Entry) -> None:
        with self._lock:
            wanted = [hook for hook in self._hooks if hook.kind in (entry.kind, EVERY) and entry.seq > hook.after]
        for hook in wanted:
            try:
                hook.function(entry)
            except BaseException as error:  # a user's code: whatever it raises, sys.exit too, the others go on
                message = "has a hook, %r, that raised on %s"
                log(logging.ERROR, self._name, message, hook.function, entry.kind, error=error)


def _work(hooks: ref[Hooks], notifier: Notifier) -> None:
    """The thread: it ends with the campaign, or when nobody has the campaign any more."""
    while True:
        change = notifier.next_change()
        try:
            there = hooks()
            if there is None or not there.deliver():
                return
            del there
            with suppress(TimeoutError):
                change.result(LOOK)
        finally:
            notifier.forget(change)


def log(level: int, campaign: str, message: str, *values: object, error: BaseException | None = None) -> None:
    """Write something about a campaign to the log."""
    _log.log(level, f"campaign %r {message}", campaign, *values, exc_info=error, extra={"campaign": campaign})
