"""Hooks: what a user wants called when something has happened in a campaign.

The ledger is the queue. A thread, started with the first hook, reads on from where it was whenever this process has
written something, and once a second for what others wrote. So every event comes once, in order, and after its commit;
and a hook may be slow, may raise, and may use the campaign.
"""

import inspect
import threading
from collections.abc import Callable
from typing import NamedTuple, get_args
from weakref import ref

from outlay.campaign import log
from outlay.campaign.ledger.events import AnyEvent
from outlay.campaign.records import Entry, entries
from outlay.campaign.stores.base import Store
from outlay.campaign.verbs.news import News
from outlay.checks import word
from outlay.errors import BadParameter, StoreError

Hook = Callable[[Entry], object]

EVERY = "*"
KINDS = tuple(str(kind.__struct_config__.tag) for kind in get_args(AnyEvent))
LOOK = 1.0  # seconds between two looks at what other processes wrote
PATIENCE = 5.0  # seconds that a hook may still take while the campaign is disconnected


class _Wish(NamedTuple):
    kind: str
    hook: Hook
    after: int  # the last event before the hook was given


class Hooks:
    """The hooks of one `Campaign`."""

    def __init__(self, ledger: Store, name: str, news: News) -> None:
        self._ledger, self._name, self._news = ledger, name, news
        self._wishes: list[_Wish] = []
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._after = 0
        self._arms: list[str] = []

    def add(self, kind: str, hook: Hook) -> Callable[[], None]:
        """Call `hook` with each event of this kind from now on; what is returned ends that."""
        kind = word("on", "kind", kind, (*KINDS, EVERY))
        given: object = hook
        if not callable(given) or inspect.iscoroutinefunction(given):
            raise BadParameter("on", "hook", "a function of one argument, the event, and not a coroutine", hook)
        state = self._ledger.state()
        wish = _Wish(kind, hook, state.seq)
        with self._lock:
            self._wishes.append(wish)
            if self._thread is None:
                self._after, self._arms = state.seq, [arm.name for arm in state.arms]
                self._thread = threading.Thread(
                    target=_work, args=(ref(self), self._news), name=f"outlay hooks {self._name}", daemon=True
                )
                self._thread.start()
        return lambda: self._drop(wish)

    def stop(self) -> None:
        """Call the hooks for what was written, then no more."""
        self._stopped = True
        self._news.written.announce()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(PATIENCE)

    def _drop(self, wish: _Wish) -> None:
        with self._lock:
            if wish in self._wishes:
                self._wishes.remove(wish)

    def deliver(self) -> bool:
        """Call the hooks for all events that are new; False where this was the last time."""
        last = self._stopped
        try:
            for entry in entries(self._ledger.records(self._after), self._ledger.state().unit, self._arms):
                self._after = entry.seq
                self._call(entry)
        except StoreError as error:
            log.unread(self._name, error)
        return not last

    def _call(self, entry: Entry) -> None:
        with self._lock:
            wishes = [w for w in self._wishes if w.kind in (entry.kind, EVERY) and entry.seq > w.after]
        for wish in wishes:
            try:
                wish.hook(entry)
            except BaseException as error:  # a user's code: whatever it raises, sys.exit too, the others go on
                log.broken_hook(self._name, entry.kind, wish.hook, error)


def _work(hooks: ref[Hooks], news: News) -> None:
    """The thread: it ends with the campaign, or when nobody has the campaign any more."""
    while True:
        seen = news.written.seen
        there = hooks()
        if there is None or not there.deliver():
            return
        del there
        change = news.written.after(seen)
        try:
            change.result(LOOK)
        except TimeoutError:
            news.written.forget(change)
