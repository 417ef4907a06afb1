"""The daily verbs of a campaign: `ask` and `tell`, one at a time, many at once, and for asyncio."""

from collections.abc import Iterable
from typing import cast

from outlay.campaign.ledger import commands as c
from outlay.campaign.ledger.state import State
from outlay.campaign.replies import Answer, Pull, Receipt, Reply
from outlay.campaign.samples import checked_reward, triples
from outlay.campaign.settings import Amount
from outlay.campaign.stores.protocol import Store
from outlay.campaign.terms import label, micros
from outlay.checks import real, whole
from outlay.errors import BadParameter, NotNow, PullOver

MOST_AT_ONCE = 10_000  # asks or tells in one call
LONGEST_WAIT = 1e6  # seconds


class Asking:
    """A mix-in with the verbs that spend; `Campaign` adds how it is opened, managed and read."""

    _ledger: Store
    _state: State  # as it was when the campaign was opened, for what never changes: its name, unit and terms

    def ask(self, key: str | None = None, ttl: float | None = None, *, timeout: float | None = None) -> Pull | None:
        """The next pull, or None when the campaign has ended.

        Args:
            key: a name for this ask; asking again with the same key gives the same pull, even if the first answer was
                lost, and raises `PullOver` once that pull is over.
            ttl: seconds after which the pull expires, instead of the campaign's.
            timeout: seconds to wait for the store, if others hold it.

        Raises NotNow, with `retry_after` in seconds, if no pull can be named at the moment; StoreBusy, if the store did
        not answer in time. A pull whose asker gave up, by a timeout or Ctrl-C, is voided, unless it has a key, by which
        it can be asked for again.
        """
        return _asked(self._ledger.transact([_ask(key, ttl)], _seconds("ask", timeout)))

    def tell(self, pull: Pull | int, cost: Amount, reward: float, *, timeout: float | None = None) -> Receipt:
        """Record what a pull cost and earned; a failed pull may have a cost, and has reward 0.

        Args:
            pull: as `ask` returned it, or the number of its decision.
            cost: what it cost; rounded up to the campaign's unit, and then the receipt says `rounded`.
            reward: what it earned.
            timeout: seconds to wait for the store, if others hold it; then StoreBusy, and it may be told again.

        Telling the same outcome again changes nothing; telling a different one raises `CampaignConflict` (see `amend`).
        A pull that has expired can still be told.
        """
        return _told(self._ledger.transact([self._tell(pull, cost, reward)], _seconds("tell", timeout)))

    async def aask(self, key: str | None = None, ttl: float | None = None) -> Pull | None:
        """`ask` for asyncio; where the task is cancelled, a pull without a key is voided."""
        return _asked(await self._ledger.atransact([_ask(key, ttl)]))

    async def atell(self, pull: Pull | int, cost: Amount, reward: float) -> Receipt:
        """`tell` for asyncio."""
        return _told(await self._ledger.atransact([self._tell(pull, cost, reward)]))

    def ask_many(self, n: int, key: str | None = None, ttl: float | None = None) -> list[Pull]:
        """Up to `n` pulls at once; fewer if the budget or `max_in_flight` allows fewer, none at the end.

        Raises NotNow if there is none although the campaign has not ended; CampaignConflict for a key that was used
        with another ttl. Asking again with the same key leaves out those that are over; `PullOver` if all are.
        """
        n = whole("ask_many", "n", n, at_least=1, at_most=MOST_AT_ONCE)
        ask = _ask(None, ttl)
        if key is None:
            asks = [ask] * n
        else:
            plain = label("ask_many", "key", f"{key}//{n}").rpartition("//")[0]
            asks = [ask._replace(key=c.one_of_many(plain, i, self._state.terms.format)) for i in range(n)]
        replies = self._ledger.transact(asks)
        pulls = [reply for reply in replies if isinstance(reply, Pull)]
        for reply in replies:
            if isinstance(reply, Exception) and not (pulls and isinstance(reply, (NotNow, PullOver))):
                raise reply
        return pulls

    def tell_many(self, outcomes: Iterable[tuple[Pull | int, Amount, float]]) -> list[Receipt]:
        """Record many outcomes, each (pull, cost, reward); if one is refused, the others count, and it raises."""
        tells = [self._tell(*row) for row in triples("tell_many", "outcomes", outcomes)]
        whole("tell_many", "outcomes", len(tells), at_most=MOST_AT_ONCE)
        return cast("list[Receipt]", self._do(*tells))

    def _tell(self, pull: Pull | int, cost: Amount, reward: float) -> c.Tell:
        units, rounded = self._state.unit.measured("tell", "cost", cost)
        arm = pull.arm if isinstance(pull, Pull) else None
        return c.Tell(number_of("tell", pull), units, checked_reward("tell", reward), arm, rounded)

    def _do(self, *commands: c.Command) -> list[Answer]:
        return _answers(self._ledger.transact(commands)) if commands else []


def number_of(owner: str, pull: object) -> int:
    """A decision's number, from its pull or from the number itself."""
    if isinstance(pull, Pull):
        return pull.decision
    try:
        return whole(owner, "pull", pull, at_least=1, at_most=2**63 - 1)
    except BadParameter:
        if isinstance(pull, (int, float)) and not isinstance(pull, bool):
            raise
        raise BadParameter(owner, "pull", "a Pull, as ask returns it, or the number of a decision", pull) from None


def _ask(key: str | None, ttl: float | None) -> c.Ask:
    return c.Ask(None if key is None else label("ask", "key", key), None if ttl is None else micros("ask", ttl))


def _seconds(owner: str, timeout: object) -> float | None:
    return None if timeout is None else real(owner, "timeout", timeout, at_least=0, at_most=LONGEST_WAIT)


def _answers(replies: list[Reply]) -> list[Answer]:
    """What the commands came to; the first error that one met is raised."""
    answers: list[Answer] = []
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply
        answers.append(reply)
    return answers


def _asked(replies: list[Reply]) -> Pull | None:
    (answer,) = _answers(replies)
    return cast("Pull | None", answer)


def _told(replies: list[Reply]) -> Receipt:
    (answer,) = _answers(replies)
    return cast("Receipt", answer)
