"""The slow, obvious twin of a campaign's rules: plain dicts, every sum made anew each time, nothing of `src` but names.

It does not choose: it is told which arm a policy named, and says whether that arm could be named.
"""

from typing import Any

from outlay.campaign.ledger import events as e
from tests.campaign.slow_sums import Sums, new_arm

NEW, SAME, OVER, END, EXHAUSTED, NOT_NOW = "new", "same", "over", "end", "exhausted", "not now"
DONE, DUPLICATE, CONFLICT, UNKNOWN, BAD = "done", "duplicate", "conflict", "unknown", "bad"
UNTOLD, TOO_DEAR = "untold", "too dear"


class Twin(Sums):
    """The commands, one method for each."""

    def do(self, command: Any, now: int, named: tuple[int, int] | None) -> tuple[str, int | None]:
        """What the command comes to; `named` is the decision and the arm that a policy named, if it did."""
        answer = getattr(self, "_" + type(command).__name__.lower())(command, max(now, self.at), named)
        return answer if isinstance(answer, tuple) else (answer, None)

    def _ask(self, command: e.Ask, now: int, named: tuple[int, int] | None) -> Any:
        if command.key is not None:
            for number, decision in self.decisions.items():
                if decision["key"] == command.key and decision["asked_ttl"] != command.ttl:
                    return CONFLICT
                if decision["key"] == command.key:
                    return (SAME if decision["standing"] == "open" else OVER), number
        if self.ended == "closed":
            return END
        names = {*(command.most if isinstance(command.most, dict) else ()), *(command.arms or ())}
        if not names <= {arm["name"] for arm in self.arms}:
            return BAD
        if self.ended:
            return END
        most = self.terms.max_in_flight
        serving = [i for i, arm in enumerate(self.arms) if command.arms is None or arm["name"] in command.arms]
        if self.paused or not any(self.arms[i]["enabled"] for i in serving):
            return NOT_NOW
        if most is not None and len(self.pending()) >= most:
            return NOT_NOW
        if self.spent() + self.reserved() > self.budget:
            return NOT_NOW
        if self.requests is not None and self.served() + len(self.pending()) >= self.requests and self.pending():
            return NOT_NOW
        if self.all_served():
            self.ended = "exhausted"
            self._wrote(now)
            return EXHAUSTED
        arms = {i: held for i, held in self.admissible(command.most).items() if i in serving}
        if not arms:
            left = self.budget - self.spent()
            enabled = [i for i in serving if self.arms[i]["enabled"]]
            held = [i for i in serving if not self.may_have_another(i, command.most)]
            narrower = command.most is not None or command.arms is not None
            if held and self.pending():
                return NOT_NOW
            if narrower and self.terms.mode == "hard":
                least = min(self.reservation(self.arms[i], command.most) for i in enabled)
                free = left - self.reserved()
                any_fits = any(self.reservation(arm) <= free for arm in self.arms)
                if least > max(0, left) and (left > 0 or any_fits):
                    return TOO_DEAR
            if self.pending():
                return NOT_NOW
            if set(held) & set(enabled):
                return UNTOLD
            if narrower and self.admissible():
                return TOO_DEAR
            if narrower and any(arm["enabled"] and not self.may_have_another(i) for i, arm in enumerate(self.arms)):
                return UNTOLD
            if self.pending() or any(self.reservation(arm) <= left for arm in self.arms):
                return NOT_NOW
            self.ended = "exhausted"
            self._wrote(now)
            return EXHAUSTED
        assert named is not None, "an arm could have been named"
        number, arm = named
        assert arm in arms
        ttl = self.terms.ttl if command.ttl is None else command.ttl
        self.decisions[number] = {
            "arm": arm, "reserved": arms[arm], "key": command.key, "asked_ttl": command.ttl, "standing": "open",
            "expires": None if ttl is None else now + ttl, "cost": None, "reward": None, "told": None, "late": False,
            "overrun": False, "place": None, "due": None, "overdue": False,
            "unknown": self.ceiling(self.arms[arm], command.most) is None and not self.known(self.arms[arm]),
        }  # fmt: skip
        self._wrote(now)
        assert number == self.events
        return NEW, number

    def _tell(self, command: e.Tell, now: int, _: Any) -> str:
        decision = self.named(command.pull)
        if decision is None:
            return UNKNOWN
        said = command.cost, command.reward
        if decision["standing"] in ("paid", "told"):
            same_cost = command.cost in (decision["told"][0], decision["cost"])
            if said == decision["told"] or (same_cost and command.reward is None):
                return DUPLICATE
            if same_cost and (decision["standing"] == "paid" or decision["overdue"]):
                return self._reward(e.Reward(command.pull, command.reward or 0.0), now, None)
            return DUPLICATE if said == (decision["cost"], decision["reward"]) else CONFLICT
        if self._bad_cost(command.cost):
            return BAD
        held = 0 if decision["standing"] == "cancelled" else decision["reserved"]
        decision["late"] = decision["standing"] != "open"
        in_use = self.served() + len(self.pending())
        beyond = decision["standing"] == "cancelled" and self.requests is not None and in_use >= self.requests
        decision["overrun"] = beyond or self._above(decision, command.cost, held)
        if decision["overrun"] or self.terms.mode != "hard":
            released = decision["standing"] == "expired" and decision["cost"] is None
            self.excused += max(0, command.cost - (0 if released else held))
        decision["standing"], decision["told"] = "paid" if command.reward is None else "told", said
        if command.reward is None and self.terms.reward_within is not None:
            decision["due"] = now + self.terms.reward_within
        self.arms[decision["arm"]]["untold"] = 0
        self._wrote(now)
        self._count(decision, *said)
        self._cross(now)
        return DONE

    def named(self, name: Any) -> dict[str, Any] | None:
        by_key = [d for d in self.decisions.values() if d["key"] == name]
        return self.decisions.get(name) if isinstance(name, int) else by_key[0] if by_key else None

    def _reward(self, command: e.Reward, now: int, _: Any) -> str:
        decision = self.named(command.pull)
        if decision is None:
            return UNKNOWN
        if decision["standing"] not in ("paid", "told"):
            return CONFLICT
        if decision["standing"] == "told" and not decision["overdue"]:
            return DUPLICATE if command.reward in (decision["told"][1], decision["reward"]) else CONFLICT
        decision["standing"], decision["overdue"] = "told", False
        decision["told"] = decision["told"][0], command.reward
        self._wrote(now)
        self._count(decision, decision["cost"], command.reward, told=False)
        return DONE

    def _amend(self, command: e.Amend, now: int, _: Any) -> str:
        decision = self.named(command.pull)
        if decision is None:
            return UNKNOWN
        no_reward = decision["standing"] == "paid" or decision["overdue"]
        if decision["standing"] not in ("paid", "told") or (command.reward is not None and no_reward):
            return CONFLICT
        cost = decision["cost"] if command.cost is None else command.cost
        reward = decision["reward"] if command.reward is None else command.reward
        if (decision["cost"], decision["reward"]) == (cost, reward):
            return DUPLICATE
        if self._bad_cost(cost):
            return BAD
        more = cost - decision["cost"]
        hard, promised = self.terms.mode == "hard", self.spent() + self.reserved()
        above = self._above(decision, cost, decision["reserved"])
        flagged = more > 0 and (above or (hard and promised + more > self.budget))
        still = decision["overrun"] and above
        decision["overrun"] = flagged or still
        if flagged or not hard:
            self.excused += max(0, more)
        self._wrote(now)
        self._count(decision, cost, reward)
        self._cross(now)
        return DONE

    def _above(self, decision: dict[str, Any], cost: int, held: int) -> bool:
        """Whether it cost more than was promised for it; outside of hard mode nothing may have been."""
        hard, known = self.terms.mode == "hard", self.arms[decision["arm"]]["max_cost"] is not None
        return bool(cost > held and (hard or known or decision["reserved"] > 0))

    def _cancel(self, command: e.Cancel, now: int, _: Any) -> str:
        decision = self.named(command.pull)
        if decision is None:
            return UNKNOWN
        if decision["standing"] == "cancelled":
            return DUPLICATE
        if decision["standing"] != "open":
            return CONFLICT
        decision["standing"] = "cancelled"
        self._wrote(now)
        return DONE

    def _charge(self, command: e.Charge, now: int, _: Any) -> str:
        decision = self.named(command.pull)
        if decision is None:
            return UNKNOWN
        if decision["standing"] == "expired" and decision["cost"] is not None:
            return DUPLICATE
        if decision["standing"] != "open":
            return CONFLICT
        decision["standing"] = "expired"
        self._wrote(now)
        self._count(decision, decision["reserved"], self.terms.default_reward, told=False)
        self._miss(decision)
        self._cross(now)
        return DONE

    def _extend(self, command: e.Extend, now: int, _: Any) -> str:
        decision = self.named(command.pull)
        if decision is None:
            return UNKNOWN
        if decision["standing"] != "open":
            return CONFLICT
        decision["expires"] = now + command.ttl
        self._wrote(now)
        return DONE

    def _setbudget(self, command: e.SetBudget, now: int, _: Any) -> str:
        if self.ended == "closed":
            return CONFLICT
        if command.budget == self.budget:
            return DUPLICATE
        more = command.budget > self.budget
        self.excused += max(0, self.budget - command.budget)
        self.budget = command.budget
        return self._limited(more, now)

    def _setrequests(self, command: e.SetRequests, now: int, _: Any) -> str:
        if self.ended == "closed":
            return CONFLICT
        if command.requests == self.requests:
            return DUPLICATE
        more = self.requests is not None and command.requests > self.requests
        self.requests = command.requests
        return self._limited(more, now)

    def _limited(self, more: bool, now: int) -> str:
        """A new limit: more of it reopens a campaign that was exhausted."""
        self._wrote(now)
        if self.ended and more and self.spent() <= self.budget and not self.all_served():
            self.ended = None
        self._cross(now)
        return DONE

    def _expect(self, command: e.Expect, now: int, _: Any) -> str:
        in_all = self.served() + len(self.pending()) + command.requests
        if in_all == self.forecast:
            return DUPLICATE
        self.forecast = in_all
        self._wrote(now)
        return DONE

    def _addarm(self, command: e.AddArm, now: int, _: Any) -> str:
        for arm in self.arms:
            if arm["name"] == command.arm.name:
                return DUPLICATE if arm["max_cost"] == command.arm.max_cost else CONFLICT
        self.arms.append(new_arm(command.arm.name, command.arm.max_cost))
        self._wrote(now)
        return DONE

    def _disablearm(self, command: e.DisableArm, now: int, _: Any) -> str:
        return self._switch(command.arm, False, now)

    def _enablearm(self, command: e.EnableArm, now: int, _: Any) -> str:
        return self._switch(command.arm, True, now)

    def _switch(self, name: str, enabled: bool, now: int) -> str:
        for arm in self.arms:
            if arm["name"] == name:
                if arm["enabled"] == enabled:
                    return DUPLICATE
                arm["enabled"] = enabled
                self._wrote(now)
                return DONE
        return BAD

    def _warmstart(self, command: e.WarmStart, now: int, _: Any) -> str:
        if command.key in self.warmed:
            return DUPLICATE
        by_name = {arm["name"]: arm for arm in self.arms}
        if not set(command.arms) <= set(by_name):
            return BAD
        for name, cost in zip(command.arms, command.costs, strict=True):
            by_name[name]["samples"] += 1
            by_name[name]["heard"].append(int(cost))
        self.warmed.add(command.key)
        self._wrote(now)
        return DONE

    def _pause(self, command: e.Pause, now: int, _: Any) -> str:
        return self._set_paused(True, now)

    def _resume(self, command: e.Resume, now: int, _: Any) -> str:
        if self.ended == "closed":
            return CONFLICT
        return self._set_paused(False, now)

    def _set_paused(self, paused: bool, now: int) -> str:
        if self.paused == paused:
            return DUPLICATE
        self.paused = paused
        self._wrote(now)
        return DONE

    def _close(self, command: e.Close, now: int, _: Any) -> str:
        if self.ended == "closed":
            return DUPLICATE
        self.ended = "closed"
        self._wrote(now)
        return DONE

    def _expirepulls(self, command: e.ExpirePulls, now: int, _: Any) -> str:
        return DUPLICATE  # `run` has swept already
