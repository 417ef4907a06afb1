"""A process to be killed: one interpreter that has imported everything, and forks a child for each trial.

What the child does it notes in a file, one line per step, before and after: what is noted as done was acknowledged.
"""

import json
import os
import random
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from outlay.campaign import Campaign
from outlay.campaign.ledger.events import Asked, Record, Rewarded, Told
from outlay.errors import NotNow, StoreError

TERMS: dict[str, Any] = {"arms": ["a", "b", "c"], "budget": 10**12, "unit": "1", "ttl": None, "first_pulls": None}
ROOT = Path(__file__).parents[2]


class Workers:
    """Children of one warm interpreter. `start` names a function of a module and its arguments, as JSON has them."""

    def __init__(self, **environment: str) -> None:
        self._environment = environment

    def __enter__(self) -> Self:
        self._mother = subprocess.Popen(
            [sys.executable, "-m", "tests.campaign.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=os.environ | self._environment, text=True,
        )  # fmt: skip
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._mother.communicate()

    def start(self, name: str, *arguments: Any) -> int:
        """The number of a new process."""
        return self._say([name, *arguments])

    def wait(self, process: int) -> int:
        """Its exit status: 0 where all went well, the negative signal where it was killed."""
        return os.waitstatus_to_exitcode(self._say(process))

    def run(self, name: str, *arguments: Any) -> None:
        """Start and wait; it must go well."""
        assert self.wait(self.start(name, *arguments)) == 0

    def _say(self, order: Any) -> int:
        assert self._mother.stdin is not None
        assert self._mother.stdout is not None
        print(json.dumps(order), file=self._mother.stdin, flush=True)
        return int(self._mother.stdout.readline())


class Notes:
    """The file of notes: each is written in one piece, and outlives the process."""

    def __init__(self, path: str | Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def __call__(self, *note: Any) -> None:
        line = json.dumps(note).encode() + b"\n"
        assert os.write(self._file, line) == len(line)


class Noted(NamedTuple):
    """What was noted: keys and outcomes that were sent, and which of them were acknowledged."""

    asking: set[str]
    asked: dict[str, int]  # decision by key
    telling: dict[int, tuple[int, float]]  # outcome by decision
    told: set[int]
    refused: list[str]

    @staticmethod
    def read(path: Path) -> "Noted":
        noted = Noted(set(), {}, {}, set(), [])
        for line in path.read_text().splitlines() if path.exists() else []:
            match json.loads(line):
                case ["asking", key]:
                    noted.asking.add(key)
                case ["asked", key, decision]:
                    assert noted.asked.setdefault(key, decision) == decision
                case ["telling", decision, cost, reward]:
                    assert noted.telling.setdefault(decision, (cost, reward)) == (cost, reward)
                case ["told", decision]:
                    noted.told.add(decision)
                case ["refused", message]:
                    noted.refused.append(message)
        return noted

    def check(self, records: list[Record]) -> None:
        """What was acknowledged is in the ledger, in the same words; what is there was sent."""
        there = {record.event.key: record.seq for record in records if isinstance(record.event, Asked)}
        assert sum(isinstance(record.event, Asked) for record in records) == len(there)
        assert self.asked.items() <= there.items()
        assert there.keys() <= self.asking
        told = [r.event for r in records if isinstance(r.event, Told)]
        rewarded = [r.event for r in records if isinstance(r.event, Rewarded)]
        rewards = {event.pull: event.reward for event in told} | {event.pull: event.reward for event in rewarded}
        assert len({event.pull for event in told}) == len(told)
        assert len({event.pull for event in rewarded}) == len(rewarded)
        outcomes = {event.pull: (event.cost, rewards[event.pull]) for event in told}
        assert self.told <= {pull for pull, (_, reward) in outcomes.items() if reward is not None}
        for pull, (cost, reward) in outcomes.items():  # a reward may not have come yet
            assert (cost, reward) in (self.telling[pull], (self.telling[pull][0], None))


def spend(store: str, notes: str, name: str, threads: int, pulls: int | None, terms: dict[str, Any] | None) -> None:
    """Ask and tell from several threads, for ever or so many times each, until the campaign ends."""
    note = Notes(notes)
    with Campaign(**TERMS | (terms or {}), store=store) as campaign:
        together([partial(_loop, campaign, note, f"{name}/{i}", pulls) for i in range(threads)])


def together(actions: list[Callable[[], None]]) -> None:
    """Run each in a thread of its own; the first error is raised when all have ended."""
    errors: list[BaseException] = []

    def guarded(action: Callable[[], None]) -> None:
        try:
            action()
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=guarded, args=(action,)) for action in actions]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for error in errors:
        raise error


def pull_once(campaign: Campaign, note: Notes, key: str, least: int = 1, most: int = 10**6) -> bool:
    """One ask and its tell, both tried until the store takes them; False when the campaign has ended."""
    rng = random.Random(key)
    note("asking", key)
    while True:
        try:
            pull = campaign.ask(key, context=told_of(campaign, key))
            break
        except NotNow as later:
            time.sleep(min(later.retry_after, 0.005))
        except StoreError as error:
            note("refused", str(error))
    if pull is None:
        return False
    note("asked", key, pull.id)
    tell_once(campaign, note, pull.id, rng.randint(least, most), rng.random())
    return True


def told_of(campaign: Campaign, key: str) -> list[float] | None:
    """What is told of the request with a key, where the campaign is told of requests."""
    rng = random.Random(key)
    return [rng.gauss(0, 1) for _ in range(campaign.context)] if isinstance(campaign.context, int) else None


def tell_once(campaign: Campaign, note: Notes, decision: int, cost: int, reward: float) -> None:
    """A tell, tried until the store takes it; of every third pull the reward comes after the cost."""
    note("telling", decision, cost, reward)
    while True:
        try:
            if decision % 3 == 0:
                campaign.tell(decision, cost)
                receipt = campaign.reward(decision, reward)
            else:
                receipt = campaign.tell(decision, cost, reward)
            break
        except StoreError as error:
            note("refused", str(error))
    assert (receipt.pull, receipt.cost, receipt.reward) == (decision, cost, reward)
    note("told", decision)


def finish(store: str, notes: Path, terms: dict[str, Any] | None = None) -> None:
    """Take up what a killed process left: ask again with its keys, tell again what it was telling."""
    noted, note = Noted.read(notes), Notes(notes)
    with Campaign(**TERMS | (terms or {}), store=store) as campaign:
        for key in sorted(noted.asking - noted.asked.keys()):
            pull_once(campaign, note, key)
        for key, decision in noted.asked.items():
            if decision not in noted.told:
                rng = random.Random(key)
                tell_once(campaign, note, decision, rng.randint(1, 10**6), rng.random())


def _loop(campaign: Campaign, note: Notes, name: str, pulls: int | None) -> None:
    done = 0
    while done != pulls and pull_once(campaign, note, f"{name}/{done}"):
        done += 1


def _child(action: Callable[..., None], arguments: list[Any]) -> None:
    status = 1
    try:
        action(*arguments)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _serve() -> None:
    for needed in ["alembic.command", "alembic.config", "psycopg", "outlay.campaign.stores.transaction"]:
        import_module(needed)
    for line in sys.stdin:
        order = json.loads(line)
        if isinstance(order, int):
            print(os.waitpid(order, 0)[1], flush=True)
            continue
        module, _, name = order[0].rpartition(".")
        action = getattr(import_module(module), name)
        if child := os.fork():
            print(child, flush=True)
        else:
            _child(action, order[1:])


if __name__ == "__main__":
    _serve()
