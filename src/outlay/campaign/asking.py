"""The daily verbs of a campaign: `ask` and `tell`, one at a time and many at once, each with its form for asyncio."""

import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, cast

from outlay.campaign.hand import OpenPull, Settling, settled
from outlay.campaign.ledger import commands as c
from outlay.campaign.news import News
from outlay.campaign.notes import metadata_of, tags_of
from outlay.campaign.replies import Answer, Pull, Receipt, Reply
from outlay.campaign.samples import triples
from outlay.campaign.settings import Amount
from outlay.campaign.steps import Steps, Until, later, verb
from outlay.campaign.terms import label, micros
from outlay.campaign.waiting import Line, Pauses
from outlay.checks import real, whole
from outlay.errors import BadParameter, NotNow

MOST_AT_ONCE = 10_000  # asks or tells in one call


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
                lost.
            ttl: seconds after which the pull expires, instead of the campaign's.
            wait: where no pull can be named at the moment, wait until one can; otherwise NotNow is raised.
            timeout: seconds to wait at most; then NotNow is raised after all.
            tags: a few words to find the pull by, see `pulls`.
            metadata: a small JSON object that is kept with it.

        Raises NotNow, with `retry_after` in seconds, if no pull can be named at the moment.
        """
        command = _ask(key, ttl, tags_of("ask", tags), metadata_of("ask", metadata))
        seconds = _timeout(wait, timeout)
        pull: Pull | None = (yield from self._waiting(command, seconds)) if wait else (yield command)
        return None if pull is None else OpenPull.of(pull, self)

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
        with another ttl.
        """
        n = whole("ask_many", "n", n, at_least=1, at_most=MOST_AT_ONCE)
        if key is not None:
            label("ask_many", "key", f"{key}/{n}")
        noted = tags_of("ask_many", tags), metadata_of("ask_many", metadata)
        replies: list[Reply] = yield [_ask(None if key is None else f"{key}/{i}", ttl, *noted) for i in range(n)]
        pulls = [OpenPull.of(reply, self) for reply in replies if isinstance(reply, Pull)]
        for reply in replies:
            if isinstance(reply, Exception) and not (pulls and isinstance(reply, NotNow)):
                raise reply
        return pulls

    @verb
    def tell_many(self, outcomes: Iterable[tuple[Pull | int, Amount, float]]) -> Steps[list[Receipt]]:
        """Record many outcomes, each (pull, cost, reward); if one is refused, the others count, and it raises."""
        rows = list(triples("tell_many", "outcomes", outcomes))
        tells = [self._tell(*row) for row in rows]
        whole("tell_many", "outcomes", len(tells), at_most=MOST_AT_ONCE)
        replies: list[Reply] = (yield [*tells]) if tells else []
        for (pull, _, _), reply in zip(rows, replies, strict=True):
            if isinstance(reply, Receipt):
                settled(pull)
        return cast("list[Receipt]", answers(replies))

    aask, aask_many, atell_many = later(ask), later(ask_many), later(tell_many)

    def __iter__(self) -> Iterator[OpenPull]:
        """Pull after pull, waiting where none can be named at the moment, until the campaign ends."""
        while (pull := self.ask(wait=True)) is not None:
            yield pull

    async def __aiter__(self) -> AsyncIterator[OpenPull]:
        """The same for asyncio."""
        while (pull := await self.aask(wait=True)) is not None:
            yield pull

    def _waiting(self, command: c.Ask, timeout: float | None) -> Steps[Pull | None]:
        """Ask until there is an answer: at once if nobody waits, else when those who came before have theirs.

        An ask with a key tries before it stands behind others: its pull may be there already, and they may wait for it.
        """
        end = None if timeout is None else time.monotonic() + timeout
        settling, line = self._news.settled, self._line
        refusal = NotNow(f"{len(line)} others wait for a pull", 1.0)
        if command.key is not None or not len(line):
            try:
                return (yield command)  # type: ignore[no-any-return]
            except NotNow as error:
                refusal = error
        turn, pauses = line.join(), Pauses(settling)
        try:
            while not turn.done():
                yield Until(turn, _left(end, refusal))
            while True:
                seen = settling.seen
                try:
                    return (yield command)  # type: ignore[no-any-return]
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


def _timeout(wait: object, timeout: object) -> float | None:
    if not isinstance(wait, bool):
        raise BadParameter("ask", "wait", "True or False", wait)
    if timeout is None:
        return None
    if not wait:
        raise BadParameter("ask", "timeout", "given together with wait=True", timeout)
    return real("ask", "timeout", timeout, at_least=0)


def _left(end: float | None, refusal: NotNow) -> float | None:
    """The seconds that are left; the refusal is raised where there are none."""
    if end is None:
        return None
    left = end - time.monotonic()
    if left <= 0:
        raise refusal
    return left
