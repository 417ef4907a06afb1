"""A connection that is cut after every byte of a request and of its answer: each verb is done once, and answered."""

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from outlay import Campaign, Client
from outlay import client as clients
from outlay.campaign import verify
from outlay.campaign.pull import ClientPull
from tests.client.conftest import asked
from tests.client.cutting import Cutting, Side
from tests.service.conftest import POLICY, running

SIDES: tuple[Side, ...] = ("request", "answer")
MOST = 20_000  # bytes, more than any of these say
COST = Decimal("0.25")


class Verb(NamedTuple):
    """What is done by a client whose connection is cut, the n-th time; `sure` is one whose connection is not."""

    does: Callable[[Client, Any, int], Any]  # with what was prepared
    events: dict[str, int]  # how often an event of which kind is there in the end, for each time
    before: Callable[[Client], Any] = lambda sure: None
    holds: Callable[[Client, Any, Any], object] = lambda sure, prepared, answer: True


def told(sure: Client) -> ClientPull:
    pull = asked(sure)
    pull.tell(1, 0)
    return pull


ONE, THREE = {"asked": 1, "told": 1}, {"asked": 3, "told": 3}
VERBS = {
    "ask": Verb(
        lambda client, _, n: client.ask(metadata={"number": n}),
        ONE,
        holds=lambda sure, _, pull: sure.tell(pull, COST, 1),
    ),
    "tell": Verb(
        lambda client, pull, n: client.tell(pull, COST, n), ONE, asked, lambda _, pull, receipt: receipt.pull == pull.id
    ),
    "ask_many": Verb(
        lambda client, _, n: client.ask_many(3, tags=[f"t{n}"]),
        THREE,
        holds=lambda sure, _, pulls: sure.tell_many((pull, COST, 0.5) for pull in pulls),
    ),
    "tell_many": Verb(
        lambda client, pulls, n: client.tell_many((pull, COST, n) for pull in pulls),
        THREE,
        lambda sure: sure.ask_many(3),
        lambda _, pulls, receipts: len(receipts) == len(pulls) == 3,
    ),
    "cancel": Verb(lambda client, pull, n: client.cancel(pull, f"{n}"), {"asked": 1, "cancelled": 1}, asked),
    "charge": Verb(lambda client, pull, n: client.charge(pull), {"asked": 1, "expired": 1}, asked),
    "extend": Verb(
        lambda client, pull, n: client.extend(pull, 600 + n), ONE, asked, lambda sure, pull, _: sure.tell(pull, COST, 1)
    ),
    "amend": Verb(lambda client, pull, n: client.amend(pull, COST, None, f"{n}"), ONE | {"amended": 1}, told),
    "set_budget": Verb(lambda client, _, n: client.set_budget(10**6 + n + 1), {"budgeted": 1}),
    "add_arm": Verb(lambda client, _, n: client.add_arm("b", max_cost=1), {}),
    "disable_arm": Verb(
        lambda client, _, n: client.disable_arm("a"), {"disabled": 1}, lambda sure: sure.enable_arm("a")
    ),
    "pause": Verb(lambda client, _, n: client.pause(), {"paused": 1}, lambda sure: sure.resume()),
    "archive": Verb(lambda client, _, n: client.archive(), {"archived": 1}, lambda sure: sure.restore()),
    "warm_start": Verb(lambda client, _, n: client.warm_start([("a", 0.5, 1.0)], f"log {n}"), {"warmed": 1}),
    "status": Verb(lambda client, _, n: client.status(), {}, holds=lambda sure, _, status: status == sure.status()),
    "history": Verb(lambda client, _, n: client.history(), {}, holds=lambda sure, _, events: len(events) == 1),
}
CASES = [
    *((name, 211) for name in ("ask", "tell", "tell_many")),
    *(pytest.param(name, 1, marks=pytest.mark.soak) for name in VERBS),
]


def cut_everywhere(verb: Verb, store: str, step: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Cut after each so-manieth byte until there are no more; return how often it was done."""
    monkeypatch.setattr(clients, "FIRST", 0.001)
    done = 0
    with (
        running(store) as address,
        Campaign({"a": 5}, 10**6, POLICY, store=store, name="cut"),
        Client(address, "cut") as sure,
    ):
        proxy = Cutting(int(address.rpartition(":")[2]))
        for side in SIDES:
            offset, cut = 0, True
            while cut and offset < MOST:
                with Client(f"http://127.0.0.1:{proxy.port}", "cut", retry_for=20) as client:
                    prepared = verb.before(sure)
                    proxy.cut(side, offset)
                    assert verb.holds(sure, prepared, verb.does(client, prepared, done))
                    cut = proxy.has_cut  # otherwise there are not so many bytes
                done += 1
                offset += step
        proxy.close()
    return done


@pytest.mark.parametrize(("name", "step"), CASES)
def test_a_connection_that_is_cut_loses_nothing_and_does_nothing_twice(
    name: str, step: int, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = cut_everywhere(VERBS[name], store, step, monkeypatch)
    assert done > (200 if step == 1 else 3)
    with Campaign.open(store, "cut") as campaign:
        kinds = Counter(entry.kind for entry in campaign.history())
        found = campaign.status()
    assert found.in_flight == 0
    assert found.exact.spent == COST * (kinds["told"]) + 5 * kinds["expired"]
    expected = {kind: done * number for kind, number in VERBS[name].events.items()}
    assert {kind: kinds[kind] for kind in expected} == expected
    assert name != "add_arm" or kinds["added"] == 1
    assert verify(store, "cut").ok
