"""What the slow twin of a campaign's rules holds, and the sums that it makes of that, anew each time."""

from fractions import Fraction
from math import ceil
from typing import Any

from outlay.campaign.ledger import events as e

MOST_SPENT = 2**62


class Sums:
    def __init__(self, opening: e.Open, at: int) -> None:
        self.terms: Any = opening.terms
        self.budget, self.requests = opening.budget, opening.requests
        self.arms = [new_arm(terms.name, terms.max_cost) for terms in opening.arms]
        self.forecast: int | None = None
        self.decisions: dict[int, dict[str, Any]] = {}
        self.paused = False
        self.ended: str | None = None
        self.warmed: set[str] = set()
        self.events = 1
        self.at = at
        self.excused = 0  # by how much the cap may be crossed: costs that nobody could foresee

    def served(self) -> int:
        return len([d for d in self.decisions.values() if d["standing"] in ("paid", "told", "expired")])

    def all_served(self) -> bool:
        return self.requests is not None and self.served() >= self.requests

    def pending(self) -> list[int]:
        return [number for number, d in self.decisions.items() if d["standing"] == "open"]

    def reserved(self, arm: int | None = None) -> int:
        held = (self.decisions[number] for number in self.pending())
        return sum(int(decision["reserved"]) for decision in held if arm in (None, decision["arm"]))

    def counted(self, arm: int | None = None) -> list[dict[str, Any]]:
        return [d for d in self.decisions.values() if d["cost"] is not None and arm in (None, d["arm"])]

    def spent(self, arm: int | None = None) -> int:
        return sum(int(d["cost"]) for d in self.counted(arm))

    def reward(self, arm: int | None = None) -> Fraction:
        return sum((Fraction(d["reward"]) for d in self.counted(arm) if d["reward"] is not None), Fraction(0))

    def waiting(self, arm: int) -> tuple[int, int, int]:
        """Pulls that count with a reward, those that wait for one, and those that did not get it in time."""
        counted = self.counted(arm)
        paid = [d for d in counted if d["standing"] == "paid" and d["reward"] is None]
        return sum(d["reward"] is not None for d in counted), len(paid), sum(d["overdue"] for d in counted)

    def ceiling(self, arm: dict[str, Any], most: Any) -> int | None:
        said = [most.get(arm["name"]) if isinstance(most, dict) else most, arm["max_cost"]]
        return min([int(each) for each in said if each is not None], default=None)

    def reservation(self, arm: dict[str, Any], most: Any = None) -> int:
        ceiling = self.ceiling(arm, most)
        if ceiling is not None:
            return ceiling
        if self.known(arm):
            return ceil(dearest(arm) * (1 + Fraction(1, len(arm["heard"]))))
        if self.terms.reservation is not None:
            return int(self.terms.reservation)
        if self.terms.mode == "hard":
            return max(1, self.budget - self.spent() - self.reserved())
        return max(dearest(other) for other in self.arms)

    def known(self, arm: dict[str, Any]) -> bool:
        """Whether what was told says anything about the arm's cost."""
        return dearest(arm) > 0

    def admissible(self, most: Any = None) -> dict[int, int]:
        """Arm → what is to be set aside, for the arms that can be named now."""
        left = self.budget - self.spent() - self.reserved()
        wanted = {i: self.reservation(arm, most) for i, arm in enumerate(self.arms) if arm["enabled"]}
        fit = {i: held for i, held in wanted.items() if self.terms.mode != "hard" or held <= left}
        return {i: held for i, held in fit.items() if self.may_have_another(i, most)}

    def may_have_another(self, arm: int, most: Any = None) -> bool:
        """Whether an arm of unknown cost has not too many pulls under way; of a known one it may have any number."""
        first, under_way = self.terms.first_pulls, [n for n in self.pending() if self.decisions[n]["arm"] == arm]
        known = self.ceiling(self.arms[arm], most) is not None or self.known(self.arms[arm])
        if known or self.terms.reservation is not None or first is None:
            return True
        uncharged = self.terms.expiry == "release" or max(map(dearest, self.arms)) == 0
        untold = self.arms[arm]["untold"] if uncharged else 0
        return len(under_way) + int(untold) < int(first)

    def sweep(self, now: int) -> None:
        now = max(now, self.at)
        paid = [(d["due"], n) for n, d in self.decisions.items() if d["standing"] == "paid" and d["due"]]
        due = sorted((d["expires"], n) for n, d in self.decisions.items() if n in self.pending() and d["expires"])
        for _, number in [entry for entry in sorted(due + paid) if entry[0] <= now]:
            decision = self.decisions[number]
            self._wrote(now)
            if decision["standing"] == "paid":
                decision["standing"], decision["overdue"] = "told", True
                self._count(decision, decision["cost"], self.terms.missing_reward, told=False)
                continue
            decision["standing"] = "expired"
            if self.terms.expiry == "charge":
                self._count(decision, decision["reserved"], self.terms.default_reward, told=False)
            self._miss(decision)
        self._cross(now)

    def _count(self, decision: dict[str, Any], cost: int, reward: float | None, told: bool = True) -> None:
        arm = self.arms[decision["arm"]]
        reward = decision["reward"] if reward is None else reward  # what it was charged with stands in
        if decision["reward"] is None and reward is not None:
            decision["place"] = arm["samples"]
            arm["samples"] += 1
        if told:
            arm["heard"].append(cost)
        decision["cost"], decision["reward"] = cost, reward

    def _miss(self, decision: dict[str, Any]) -> None:
        self.arms[decision["arm"]]["untold"] += not decision["cost"]

    def _cross(self, now: int) -> None:
        if not self.ended and (self.spent() > self.budget or self.all_served()):
            self.ended = "exhausted"
            self._wrote(now)

    def _bad_cost(self, cost: int) -> bool:
        return (cost < 0 and not self.terms.negative_costs) or abs(self.spent()) + abs(cost) > MOST_SPENT

    def _wrote(self, now: int) -> None:
        self.events += 1
        self.at = max(now, self.at)


def new_arm(name: str, max_cost: int | None) -> dict[str, Any]:
    return {"name": name, "max_cost": max_cost, "enabled": True, "samples": 0, "heard": [], "untold": 0}


def dearest(arm: dict[str, Any]) -> int:
    return max([0, *map(int, arm["heard"])])
