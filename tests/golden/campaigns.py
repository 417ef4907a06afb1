"""A campaign with random terms, of which everything is done, at random, by someone who knows only what was answered."""

import tempfile
from pathlib import Path
from random import Random
from typing import Any

from outlay import Campaign, policies
from outlay.campaign import export_ledger
from outlay.errors import OutlayError
from outlay.policies import baselines

POLICIES: list[Any] = [
    *(policies.Thrifty(), policies.Frugal(), policies.Fieller(), policies.RoundRobin(), policies.MedianRate(0.5)),
    *(policies.KLRate("one", "sample"), baselines.BTS(40.0, 2.0), baselines.GaussianThompson(), baselines.KUBE(2.0)),
]
HOW_OFTEN = {
    **dict.fromkeys(["ask", "tell"], 70),
    **dict.fromkeys(["cancel", "charge", "extend", "amend"], 6),
    **dict.fromkeys(["set_budget", "set_requests", "add_arm", "disable_arm", "enable_arm", "warm_start", "resume"], 3),
    **dict.fromkeys(["pause", "archive", "restore"], 1),
    "close": 0.3,
}
SECOND = 10**9


def told(random: Random, now: list[int]) -> str:
    """The ledger of such a campaign, and a line for everything that was refused; `now` is set to nanoseconds."""
    mode = random.choice(["until_exceeded", "hard"])
    settings: dict[str, Any] = {
        "mode": mode,
        "unit": "0.25",
        "seed": random.randrange(2**40),
        "ttl": random.choice([None, 10.0, 30.0]),
        "expiry": "charge" if mode == "hard" else random.choice(["charge", "release"]),
        "reservation": random.choice([None, 2.5]),
        "default_reward": random.choice([0.0, 0.5]),
        "max_in_flight": random.choice([None, 1, 3]),
        "negative_costs": random.random() < 0.5,
        "propensity_draws": random.choice([0, 2]),
        "first_pulls": random.choice([None, 1, 2]),
        "window": random.choice([None, None, "day"]),
        "timezone": "Europe/Berlin",
        "requests": random.choice([None, None, 40]),
    }
    if settings["window"] is None:
        del settings["timezone"]
    most = {f"a{i}": random.choice([None, 0.5, 4.0]) for i in range(random.randint(2, 4))}
    policy = None if settings["requests"] else random.choice(POLICIES)
    if random.random() < 0.3:
        settings["fallback"] = "a0"
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{folder}/store.db"
        with Campaign(most, random.randint(40, 120), policy, store, name="story", **settings) as campaign:
            refused = _played(campaign, random, now)
        export_ledger(store, Path(folder) / "ledger", name="story")
        return (Path(folder) / "ledger").read_text(encoding="utf-8") + refused


def _played(campaign: Campaign, random: Random, now: list[int]) -> str:
    given: list[Any] = []
    open_ones: list[Any] = []
    refused = []
    for step in range(120):
        now[0] += random.choice([0, 0, 0, 0, 1, 1, 7, 45]) * SECOND + 1000
        if step == 80:
            now[0] += 86_400 * SECOND
        (verb,) = random.choices(list(HOW_OFTEN), list(HOW_OFTEN.values()))
        some = open_ones if open_ones and verb != "amend" and random.random() < 0.8 else given[-4:]
        pull = random.choice(some) if some else 10**6
        name, cost, reward = random.choice(["a0", "a1", "new"]), random.randint(-1, 16) / 4, random.randint(-8, 16) / 8
        details: dict[str, Any] = {
            "ask": {"key": random.choice([None, f"k{step // 10}"]), "tags": random.choice([(), ("one", "two")])},
            "tell": {"pull": pull, "cost": cost, "reward": reward},
            "amend": {"pull": pull, "cost": cost, "reward": random.choice([None, reward]), "reason": "a slip"},
            "cancel": {"pull": pull, "reason": "never made"},
            "charge": {"pull": pull},
            "extend": {"pull": pull, "ttl": random.choice([1, 100])},
            "set_budget": {"budget": random.randint(20, 150)},
            "set_requests": {"requests": random.randint(1, 80)},
            "add_arm": {"name": name, "max_cost": random.choice([None, 0.5, 4.0])},
            "disable_arm": {"name": name},
            "enable_arm": {"name": name},
            "warm_start": {"samples": [(name, 0.5, reward), ("a1", 1.25, 0.5)], "key": f"log {step // 40}"},
        }
        try:
            answer = getattr(campaign, verb)(**details.get(verb, {}))
        except OutlayError as error:
            refused.append(f"{step} {verb}: {type(error).__name__}")
        else:
            if verb == "ask" and answer is not None:
                given.append(answer)
                open_ones.append(answer)
            elif verb in ("tell", "cancel") and pull in open_ones:
                open_ones.remove(pull)
    return "".join(f"{line}\n" for line in refused)
