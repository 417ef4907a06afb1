"""A connection that is cut after every byte of a request and of its answer: each verb is done once, and answered."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest

from outlay import Campaign, Client
from outlay.campaign import verify
from outlay.client import patience
from outlay.errors import PullOver
from tests.client.cutting import Cutting, Side
from tests.service.conftest import POLICY, running

MOST = 20_000  # bytes, more than any of these say
SIDES: tuple[Side, ...] = ("request", "answer")
Verb = Callable[[Client, int], Any]  # with a number that is another each time


def ask_and_tell(client: Client, number: int) -> None:
    pull = client.ask(metadata={"number": number})
    assert not client.tell(pull, cost=Decimal("0.25"), reward=1).late


def many(client: Client, number: int) -> None:
    pulls = client.ask_many(3, tags=[f"t{number}"])
    assert len(client.tell_many((pull, 1, 0.5) for pull in pulls)) == 3


def void(client: Client, number: int) -> None:
    client.void(client.ask(), f"number {number}")


def charge(client: Client, number: int) -> None:
    pull = client.ask(key=f"charged {number}")
    client.extend(pull, 600 + number)
    client.charge(pull)
    with pytest.raises(PullOver):
        client.ask(key=f"charged {number}")


def amend(client: Client, number: int) -> None:
    pull = client.ask()
    client.tell(pull, cost=1, reward=0)
    client.amend(pull, cost=2, reason=f"number {number}")


def manage(client: Client, number: int) -> None:
    client.set_budget(10**6 + number)
    client.add_arm("b", max_cost=1)  # once, and again without effect
    client.disable_arm("b")
    client.pause()
    client.resume()
    assert client.warm_start([("a", 0.5, 1.0)], f"log {number}") in (0, 1)  # 0 where the first answer was lost


def put_away(client: Client, number: int) -> None:
    client.archive()
    client.restore()
    assert client.status().events > number


def read(client: Client, number: int) -> None:
    assert client.status().name == "cut"
    assert client.pulls(limit=5) == []
    assert [entry.kind for entry in client.history()] == ["opened"]


DAILY: list[Verb] = [ask_and_tell, many, manage]
OTHERS: list[Verb] = [void, charge, amend, put_away, read]
CASES = [
    *((verb, 311) for verb in DAILY),
    *(pytest.param(verb, 1, marks=pytest.mark.soak) for verb in (*DAILY, *OTHERS)),
]


@contextmanager
def campaign_of(store: str) -> Iterator[None]:
    with Campaign({"a": 5}, 10**6, POLICY, store=store, name="cut"):
        yield


def cut_everywhere(verb: Verb, store: str, step: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Cut after each so-manieth byte until there are no more; return how often it was done."""
    monkeypatch.setattr(patience, "FIRST", 0.001)
    done = 0
    with running(store) as address, campaign_of(store):
        proxy = Cutting(int(address.rpartition(":")[2]))
        for side in SIDES:
            offset, cut = 0, True
            while cut and offset < MOST:
                with Client(f"http://127.0.0.1:{proxy.port}", "cut", patience=20) as client:
                    proxy.cut(side, offset)
                    verb(client, done)
                    cut = proxy.has_cut  # otherwise there are not so many bytes
                done += 1
                offset += step
        proxy.close()
    return done


def check(verb: Verb, store: str, done: int) -> None:
    """That the ledger holds what was done so often, and nothing twice."""
    with Campaign.open(store, "cut") as campaign:
        status, pulls = campaign.status(), list(campaign.pulls())
        kinds = [entry.kind for entry in campaign.history()]
    assert status.in_flight == 0
    wholes: dict[Verb, tuple[set[str], int, Decimal]] = {
        ask_and_tell: ({"told"}, done, Decimal("0.25") * done),
        many: ({"told"}, 3 * done, Decimal(3) * done),
        void: ({"void"}, done, Decimal(0)),
        charge: ({"expired"}, done, Decimal(5) * done),
        amend: ({"told"}, done, Decimal(2) * done),
    }
    expected = wholes.get(verb, (set(), 0, Decimal(0)))
    assert ({pull.standing for pull in pulls}, len(pulls), status.exact.spent) == expected
    if verb is manage:
        wanted = ("budgeted", "added", "disabled", "warmed")
        assert [kinds.count(kind) for kind in wanted] == [done - 1, 1, 1, done]
    assert verify(store, "cut").ok


@pytest.mark.parametrize(("verb", "step"), CASES)
def test_a_connection_that_is_cut_loses_nothing_and_does_nothing_twice(
    verb: Verb, step: int, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = cut_everywhere(verb, store, step, monkeypatch)
    assert done > (500 if step == 1 else 5)
    check(verb, store, done)
