"""Many processes, each of many threads, and one hard budget on a server."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from outlay.campaign import Campaign
from outlay.campaign.ledger.events import Asked, Exhausted, Rewarded, Told
from tests.campaign.checker import checked
from tests.campaign.test_postgres_faults import assert_all_is_there
from tests.campaign.worker import TERMS, Noted, Notes, Workers, pull_once, together

PROCESSES, THREADS = 8, 4
DEAREST = 1000
CASES = [(True, "any"), (False, "equal"), (False, "any")]
LONG = 2_000_000  # a budget for the soak


@pytest.mark.parametrize(
    ("declared", "costs", "budget"),
    [*((*case, 20_000) for case in CASES[:2]), *(pytest.param(*case, LONG, marks=pytest.mark.soak) for case in CASES)],
)
def test_many_processes_and_a_hard_budget(
    workers: Workers, postgres_url: str, tmp_path: Path, declared: bool, costs: str, budget: int
) -> None:
    """It is never passed by one unit, unless by what a pull cost above what was set aside for it."""
    terms = {"arms": dict.fromkeys("abc", DEAREST if declared else None), "budget": budget, "mode": "hard"}
    name, least = "tests.campaign.test_hard_budget.spend_hard", DEAREST if costs == "equal" else 1
    children = [workers.start(name, postgres_url, str(tmp_path / "notes"), i, least, terms) for i in range(PROCESSES)]
    assert [workers.wait(child) for child in children] == [0] * PROCESSES
    records = checked(postgres_url)
    assert_all_is_there(Noted.read(tmp_path / "notes"), postgres_url)
    spent, excess, held = 0, 0, dict[int, int]()
    for record in records:
        event = record.event
        if isinstance(event, Asked):
            held[record.seq] = event.reserved
            assert spent + sum(held.values()) <= budget
            excess = 0
        elif isinstance(event, Told):
            spent += event.cost
            over = event.cost - held.pop(event.pull)
            assert event.overrun == (over > 0)
            excess += max(0, over)
            assert spent + sum(held.values()) <= budget + excess
            assert not (event.overrun and (declared or costs == "equal"))
    settled = [record for record in records if not isinstance(record.event, Rewarded)]  # rewards may come at any time
    assert isinstance(settled[-1].event, Exhausted)
    assert budget - (1 if declared else 2) * DEAREST < spent <= budget + excess
    shares = Counter(str(r.event.key).split("/")[0] for r in records if isinstance(r.event, Asked))
    print(f"pulls of each process: {sorted(shares.values())}")


def spend_hard(store: str, notes: str, name: int, least: int, terms: dict[str, Any]) -> None:
    """In a process of its own: ask and tell until nothing is left."""
    note = Notes(notes)

    def work(thread: int) -> None:
        done = 0
        while pull_once(campaign, note, f"{name}/{thread}/{done}", least, DEAREST):
            done += 1

    with Campaign(**TERMS | terms, store=store) as campaign:
        together([partial(work, i) for i in range(THREADS)])
