"""A connection that is cut after every byte of a request and of its answer: each verb is done once, and answered."""

from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal

import pytest

from outlay import Campaign, Client
from outlay import client as clients
from outlay.campaign import verify
from outlay.errors import PullOver
from tests.client.conftest import asked
from tests.client.cutting import Cutting, Side
from tests.service.conftest import POLICY, running

SIDES: tuple[Side, ...] = ("request", "answer")
MOST = 20_000  # bytes, more than any of these say
COST = Decimal("0.25")

# What is done by a client whose connection is cut, the `number`-th time; `sure` is one whose connection is not. Up to
# the yield it is prepared, and after it the connection is cut.
Verb = Callable[[Client, Client, int], Iterator[None]]


def ask(client: Client, sure: Client, number: int) -> Iterator[None]:
    yield
    pull = client.ask(metadata={"number": number})
    assert pull is not None
    sure.tell(pull, cost=COST, reward=1)


def tell(client: Client, sure: Client, number: int) -> Iterator[None]:
    pull = asked(sure)
    yield
    assert client.tell(pull, cost=COST, reward=number).reward == number


def ask_many(client: Client, sure: Client, number: int) -> Iterator[None]:
    yield
    pulls = client.ask_many(3, tags=[f"t{number}"])
    sure.tell_many((pull, COST, 0.5) for pull in pulls)


def tell_many(client: Client, sure: Client, number: int) -> Iterator[None]:
    pulls = sure.ask_many(3)
    yield
    assert len(client.tell_many((pull, COST, number) for pull in pulls)) == 3


def cancel(client: Client, sure: Client, number: int) -> Iterator[None]:
    pull = asked(sure)
    yield
    client.cancel(pull, f"number {number}")


def charge(client: Client, sure: Client, number: int) -> Iterator[None]:
    pull = asked(sure, key=f"charged {number}")
    yield
    client.charge(pull)
    with pytest.raises(PullOver):
        sure.ask(key=f"charged {number}")


def extend(client: Client, sure: Client, number: int) -> Iterator[None]:
    pull = asked(sure)
    yield
    client.extend(pull, 600 + number)
    sure.tell(pull, cost=COST, reward=1)


def amend(client: Client, sure: Client, number: int) -> Iterator[None]:
    pull = asked(sure)
    sure.tell(pull, cost=1, reward=0)
    yield
    client.amend(pull, cost=COST, reason=f"number {number}")


def set_budget(client: Client, sure: Client, number: int) -> Iterator[None]:
    yield
    client.set_budget(10**6 + number + 1)


def add_arm(client: Client, sure: Client, number: int) -> Iterator[None]:
    yield
    client.add_arm("b", max_cost=1)


def disable_arm(client: Client, sure: Client, number: int) -> Iterator[None]:
    sure.enable_arm("a")
    yield
    client.disable_arm("a")


def pause(client: Client, sure: Client, number: int) -> Iterator[None]:
    sure.resume()
    yield
    client.pause()


def archive(client: Client, sure: Client, number: int) -> Iterator[None]:
    sure.restore()
    yield
    client.archive()


def warm_start(client: Client, sure: Client, number: int) -> Iterator[None]:
    yield
    assert client.warm_start([("a", 0.5, 1.0)], f"log {number}") in (0, 1)  # 0 where the first answer was lost


def status(client: Client, sure: Client, number: int) -> Iterator[None]:
    yield
    assert client.status() == sure.status()


def history(client: Client, sure: Client, number: int) -> Iterator[None]:
    yield
    assert [entry.kind for entry in client.history()] == ["opened"]


# Of each verb, how often an event of which kind is there in the end, for each time that it was done.
VERBS: dict[Verb, dict[str, int]] = {
    ask: {"asked": 1, "told": 1},
    tell: {"asked": 1, "told": 1},
    ask_many: {"asked": 3, "told": 3},
    tell_many: {"asked": 3, "told": 3},
    cancel: {"asked": 1, "cancelled": 1},
    charge: {"asked": 1, "expired": 1},
    amend: {"asked": 1, "told": 1, "amended": 1},
    set_budget: {"budgeted": 1},
    disable_arm: {"disabled": 1},
    pause: {"paused": 1},
    archive: {"archived": 1},
    warm_start: {"warmed": 1},
    status: {},
    history: {},
}
DAILY: list[Verb] = [ask, tell, tell_many]
CASES = [
    *((verb, 211) for verb in DAILY),
    *(pytest.param(verb, 1, marks=pytest.mark.soak) for verb in (*VERBS, extend, add_arm)),
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
                    steps = verb(client, sure, done)
                    next(steps)
                    proxy.cut(side, offset)
                    assert next(steps, "over") == "over"
                    cut = proxy.has_cut  # otherwise there are not so many bytes
                done += 1
                offset += step
        proxy.close()
    return done


@pytest.mark.parametrize(("verb", "step"), CASES)
def test_a_connection_that_is_cut_loses_nothing_and_does_nothing_twice(
    verb: Verb, step: int, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = cut_everywhere(verb, store, step, monkeypatch)
    assert done > (200 if step == 1 else 3)
    with Campaign.open(store, "cut") as campaign:
        kinds = Counter(entry.kind for entry in campaign.history())
        found = campaign.status()
    assert found.in_flight == 0
    assert found.exact.spent == COST * (kinds["told"]) + 5 * kinds["expired"]
    expected = {kind: done * number for kind, number in VERBS.get(verb, {}).items()}
    assert {kind: kinds[kind] for kind in expected} == expected
    assert verb is not add_arm or kinds["added"] == 1
    assert verify(store, "cut").ok
