"""What a type checker says of calls that users write: mistakes are refused, and what works is accepted.

mypy reads the snippets below once, as a file of a user's. A line that must be refused names the error in a comment;
every other line must pass. Settings and cache are those of `make lint`, so that after it this takes seconds.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SNIPPETS = '''
from typing import Any, NamedTuple

import numpy as np

import outlay
import outlay.campaign
from outlay import Campaign, Problem, arms, policies, simulate
from outlay.policies import Policy

problem = Problem([arms.Constant(1.0, 1.0), arms.Constant(1.0, 2.0)])


class Mine(NamedTuple):
    """A user's ten lines."""

    alpha: float = 1.0

    def score(self, belief: outlay.Belief, log_n: float) -> float:
        return belief.mean_reward + self.alpha * log_n


class Chance(NamedTuple):
    spread: float = 1.0

    def sample(self, belief: outlay.Belief, log_n: float, rng: np.random.Generator) -> float:
        return belief.mean_reward + self.spread * rng.standard_normal()


class Seeing(NamedTuple):
    arm: int = 0

    def choose(self, memory: Any, now: policies.Now, rng: np.random.Generator) -> int:
        return self.arm


class Nothing(NamedTuple):
    alpha: float = 1.0


contenders: dict[str, Policy] = {"mine": Mine(), "theirs": policies.Frugal()}
simulate(problem, policies.Frugal(), [10.0])
simulate(problem, policies.UCBB1(1.0, 1.0, 0.0), budget=10.0)
simulate(problem, [policies.Frugal(), policies.RoundRobin(), Mine()], [10.0])
simulate(problem, {"a": policies.Frugal(), "b": Mine()}, [10.0])
simulate(problem, contenders, np.array([10.0]), backend="dask", workers=2)
simulate(problem, [Mine(), Chance(), Seeing()], [10.0], progress=print)
simulate(problem, "Frugal", [10.0])  # arg-type
simulate(problem, ["Frugal"], [10.0])  # list-item
simulate(problem, policies.Frugal, [10.0])  # arg-type
simulate(problem, arms.Constant(1.0, 1.0), [10.0])  # arg-type
simulate(problem, Nothing(), [10.0])  # arg-type
simulate(problem, {1: Mine()}, [10.0])  # dict-item
simulate("G", Mine(), [10.0])  # arg-type
simulate(problem, Mine(), [10.0], backend="thread")  # arg-type
simulate(problem, Mine(), [10.0], progress="yes")  # arg-type

result = simulate(problem, Mine(), [10.0])
result.regret("realised")
result.regret(kind="x")  # arg-type

policies.KLRate("plus", evidence="sample")
policies.KLRate("pluss")  # arg-type

Campaign(arms=["a", "b"], budget=5.0, mode="hard")
Campaign(arms=["a", "b"], budget=5.0, policy=Mine())
Campaign(arms=["a", "b"], budget=5.0, mode="harrd")  # arg-type


async def spend(campaign: Campaign) -> None:
    async for pull in campaign:
        async with pull.on_error("void"):
            receipt = await pull.atell(0.5, reward=True)
            cost: float = receipt.cost
    maybe = await campaign.aask("key", wait=True, timeout=5, tags=["a"], metadata={"n": 1})
    if maybe is not None:
        await campaign.aamend(maybe, cost, 1.0, reason="invoice")
    await campaign.aset_budget(9)
    budget: float = (await campaign.astatus()).budget
    pulls: list[outlay.campaign.PullStatus] = await campaign.apulls(standing="open")
    await campaign.apulls(standing="pending")  # arg-type
    await campaign.atell(1, "2", 3)  # arg-type
    await campaign.aask(wait="yes")  # arg-type
    await campaign.avoid()  # call-arg
    wrong: str = await campaign.astatus()  # assignment


campaign = Campaign(["a"], 5)
for each in campaign:
    with each:
        each.tell(1, 1)
    each.on_error("ignore")  # arg-type
campaign.void("a")  # arg-type
campaign.ask(tags=[1])  # list-item
lost: None = campaign.ask()  # assignment
'''
LINES = SNIPPETS.splitlines()
MISTAKES = {number: line.partition("  # ") for number, line in enumerate(LINES, 1) if re.search(r"  # [a-z-]+$", line)}


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> dict[int, set[str]]:
    """Line → the errors that mypy has there."""
    file = tmp_path_factory.mktemp("types") / "snippets.py"
    file.write_text(SNIPPETS)
    command = [sys.executable, "-m", "mypy", str(file)]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[int, set[str]] = {}
    for number, code in re.findall(r"snippets\.py:(\d+): error: .*\[([a-z-]+)\]$", done.stdout, re.M):
        found.setdefault(int(number), set()).add(code)
    return found


def test_every_other_line_is_accepted(refused: dict[int, set[str]]) -> None:
    assert {LINES[number - 1]: codes for number, codes in refused.items() if number not in MISTAKES} == {}


@pytest.mark.parametrize(
    ("number", "error"),
    [pytest.param(number, error, id=call) for number, (call, _, error) in MISTAKES.items()],
)
def test_a_mistake_is_refused(refused: dict[int, set[str]], number: int, error: str) -> None:
    assert refused.get(number) == {error}
