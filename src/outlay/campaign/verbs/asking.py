"""The daily verbs of a campaign: `ask` and `tell`, one at a time and many at once, each with its form for asyncio."""

import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, cast

from outlay.campaign.ledger import commands as c
from outlay.campaign.ledger.agreement import MOST_AT_ONCE
from outlay.campaign.notes import metadata_of, tags_of
from outlay.campaign.pull import AnyPull, OpenPull, forgotten, settled
from outlay.campaign.records import Answer, Pull, PullFilter, Receipt, Reply
from outlay.campaign.samples import triples
from outlay.campaign.settings import Amount
from outlay.campaign.terms import label, micros
from outlay.campaign.verbs.hand import Settling
from outlay.campaign.verbs.news import News
from outlay.campaign.verbs.steps import Steps, Until, later, once, seconds_of, verb
from outlay.campaign.verbs.waiting import Line, Pauses
from outlay.checks import whole
from outlay.errors import BadParameter, NotNow, PullOver, StoreBusy

FORGOTTEN = 5.0  # seconds that a loop waits for a pull before it asks itself why
AT_LEAST = 1.0  # seconds that a store has to answer, however soon a wait ends


class Asking(Settling):
    """A mix-in with the verbs that spend; `Campaign` adds how it is opened, managed and read."""

    _news: News
    _line: Line  # of those who wait for a pull

    @verb
    def ask(
        self,
        key: str | None = None,
        ttl: float | None = None,
        *,
        wait: bool = False,
        timeout: float | None = None,
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
    ) -> Steps[OpenPull | None]:
        """The next pull, or None when the campaign has ended.

        Args:
            key: a name for this ask; asking again with the same key gives the same pull, even if the first answer was
                lost, and raises `PullOver` once that pull is over.
            ttl: seconds after which the pull expires, instead of the campaign's.
            wait: where no pull can be named at the moment, wait until one can; otherwise NotNow is raised.
            timeout: seconds to wait at most, for a pull or for a store that others hold.
            tags: a few words to find the pull by, see `pulls`.
            metadata: a small JSON object that is kept with it.

        Raises NotNow, with `retry_after` in seconds, if no pull can be named at the moment; StoreBusy, if the store did
        not answer in time. A pull whose asker gave up, by a timeout or Ctrl-C, is cancelled, unless it has a key, by
        which it can be asked for again.
        """
        command = _ask(key, ttl, tags_of("ask", tags), metadata_of("ask", metadata))
        seconds = seconds_of("ask", timeout)
        if not isinstance(wait, bool):
            raise BadParameter("ask", "wait", "True or False", wait)
        pull: Pull | None = yield from self._waiting(command, seconds) if wait else once(command, seconds)
        return None if pull is None else OpenPull.of(pull, self, self._state.name)

    @verb
    def ask_many(
        self,
        n: int,
        key: str | None = None,
        ttl: float | None = None,
        *,
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
    ) -> Steps[list[OpenPull]]:
        """Up to `n` pulls at once; fewer if the budget or `max_in_flight` allows fewer, none at the end.

        Raises NotNow if there is none although the campaign has not ended; CampaignConflict for a key that was used
        with another ttl. Asking again with the same key leaves out those that are over; `PullOver` if all are.
        """
        n = whole("ask_many", "n", n, at_least=1, at_most=MOST_AT_ONCE)
        if key is not None:
            key = label("ask_many", "key", f"{key}//{n}").rpartition("//")[0]
        one = _ask(None, ttl, tags_of("ask_many", tags), metadata_of("ask_many", metadata))
        keys = [None if key is None else c.one_of_many(key, i) for i in range(n)]
        replies: list[Reply] = yield [one._replace(key=key) for key in keys]
        pulls = [OpenPull.of(reply, self, self._state.name) for reply in replies if isinstance(reply, Pull)]
        for reply in replies:
            if isinstance(reply, Exception) and not (pulls and isinstance(reply, (NotNow, PullOver))):
                raise reply
        return pulls

    @verb
    def tell_many(self, outcomes: Iterable[tuple[AnyPull, Amount, float]]) -> Steps[list[Receipt]]:
        """Record many outcomes, each (pull, cost, reward), in one transaction.

        All are checked before any is told: for one that cannot be a tell, such as a cost that is no number,
        BadParameter is raised, and none is told. Where the ledger refuses some (told before with another outcome, or no
        pull of this campaign), the others are told, and the first refusal is raised. To tell all of them again is
        harmless.
        """
        return cast("list[Receipt]", answers([*(yield from self._tell_each("tell_many", outcomes))]))

    @verb
    def tell_each(self, outcomes: Iterable[tuple[AnyPull, Amount, float]]) -> Steps[list[Receipt | Exception]]:
        """The same, but for each outcome its receipt, or why the ledger refused it."""
        return (yield from self._tell_each("tell_each", outcomes))

    aask, aask_many, atell_many = later(ask), later(ask_many), later(tell_many)
    atell_each = later(tell_each)

    def __iter__(self) -> Iterator[OpenPull]:
        """Pull after pull, waiting where none can be named at the moment, until the campaign ends.

        Where it waits for long, and pulls of this loop are still under way, a warning names them.
        """
        given: list[OpenPull] = []
        while (pull := self._next(given)) is not None:
            given = [*(each for each in given if not each._settled), pull]
            yield pull

    async def __aiter__(self) -> AsyncIterator[OpenPull]:
        """The same for asyncio."""
        given: list[OpenPull] = []
        while (pull := await self._anext(given)) is not None:
            given = [*(each for each in given if not each._settled), pull]
            yield pull

    @verb
    def _next(self, given: list[OpenPull]) -> Steps[OpenPull | None]:
        """The next pull of a loop that was given these."""
        pull: Pull | None
        try:
            pull = yield from self._waiting(c.Ask(), FORGOTTEN)
        except (NotNow, StoreBusy):
            forgotten(self._state.name, self._open_ones(given))
            pull = yield from self._waiting(c.Ask(), None)
        return None if pull is None else OpenPull.of(pull, self, self._state.name)

    _anext = later(_next)

    def _open_ones(self, given: list[OpenPull]) -> list[OpenPull]:
        """Those that nobody has settled, here or elsewhere."""
        mine = [pull for pull in given if not pull._settled]
        under_way = {found.number for found, _ in self._ledger.find(PullFilter("open"))} if mine else set()
        return [pull for pull in mine if pull.id in under_way]

    def _tell_each(
        self, owner: str, outcomes: Iterable[tuple[AnyPull, Amount, float]]
    ) -> Steps[list[Receipt | Exception]]:
        rows = list(triples(owner, "outcomes", outcomes))
        tells = [self._tell(*row) for row in rows]
        whole(owner, "outcomes", len(tells), at_most=MOST_AT_ONCE)
        replies: list[Receipt | Exception] = (yield [*tells]) if tells else []
        for (pull, _, _), reply in zip(rows, replies, strict=True):
            if isinstance(reply, Receipt):
                settled(pull)
        return replies

    def _waiting(self, command: c.Ask, timeout: float | None) -> Steps[Pull | None]:
        """Ask until there is an answer: at once if nobody waits, else when those who came before have theirs.

        An ask with a key tries before it stands behind others: its pull may be there already, and they may wait for it.
        """
        end = None if timeout is None else time.monotonic() + timeout
        settling, line = self._news.settled, self._line
        refusal = NotNow(f"{len(line)} others wait for a pull", 1.0)
        if command.key is not None or not len(line):
            try:
                return cast("Pull | None", (yield from once(command, _at_the_store(end))))
            except NotNow as error:
                refusal = error
        turn, pauses = line.join(), Pauses(settling)
        try:
            while not turn.done():
                yield Until(turn, _left(end, refusal))
            while True:
                seen = settling.seen
                try:
                    return cast("Pull | None", (yield from once(command, _at_the_store(end))))
                except NotNow as error:
                    refusal = error
                left = _left(end, refusal)
                yield from pauses.next(seen, refusal.retry_after if left is None else min(left, refusal.retry_after))
        finally:
            line.leave(turn)


def answers(replies: list[Reply]) -> list[Answer]:
    """What the commands came to; the first error that one met is raised."""
    found: list[Answer] = []
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply
        found.append(reply)
    return found


def _ask(key: str | None, ttl: float | None, tags: tuple[str, ...], metadata: dict[str, Any] | None) -> c.Ask:
    named = None if key is None else label("ask", "key", key)
    return c.Ask(named, None if ttl is None else micros("ask", ttl), tags, metadata)


def _at_the_store(end: float | None) -> float | None:
    """The seconds that the store has to answer, where a wait ends then."""
    return None if end is None else max(AT_LEAST, end - time.monotonic())


def _left(end: float | None, refusal: NotNow) -> float | None:
    """The seconds that are left; the refusal is raised where there are none."""
    if end is None:
        return None
    left = end - time.monotonic()
    if left <= 0:
        raise refusal
    return left
