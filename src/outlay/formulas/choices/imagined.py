"""A choice that counts pulls under way as made, whatever the number of arms: what campaigns have compiled.

The samples that are expected of pulls under way are imagined in the memory itself, the arm is named, and the memory is
set back, last first: nothing is copied. Everything here runs in the interpreter and compiled.
"""

from typing import Any, NamedTuple

import numpy as np

from outlay.beliefs import Sample
from outlay.formulas.choices.boxes import Floats, Ints
from outlay.formulas.choices.certificate import Certificate, forget_certificate, lazy_against, lazy_among
from outlay.formulas.choices.changes import report
from outlay.formulas.choices.choose import Counts, best_by_score, log_of

# `policies.protocol`, which may import this and not the other way round, says what these must be.
Policy = Any
Memory = Any  # with `imagine`, `keep` and `restore`

KNOWN, LAST = range(2)  # entries of Desk.marks: whether the certificate holds, how many arms were under way
ARM, COUNT = range(2)  # rows of Desk.flying


class Desk(NamedTuple):
    """What is remembered from one choice to the next; it belongs to one process and is never stored."""

    known: Certificate
    marks: Ints
    flying: Ints  # [arm or count, place]: what was under way at the last choice, arms in order
    changed: Ints  # room for the arms that look different

    @staticmethod
    def start(arms: int) -> "Desk":
        """Room for this many arms; nothing is certain yet."""
        room = np.zeros((2, arms), np.int64), np.zeros(3 * arms, np.int64)
        return Desk(Certificate.start(arms), np.zeros(2, np.int64), *room)


class Scoring(NamedTuple):
    """Names an arm by the scores of a policy."""

    policy: Policy

    def pick(self, memory: Memory, pulls: Counts, desk: Desk, changed: Ints) -> int:  # noqa: ARG002
        """`best_by_score`."""
        n = 0
        for arm in range(len(pulls)):
            n += pulls[arm]
        return best_by_score(self.policy, memory, pulls, log_of(n))


class Comparing(NamedTuple):
    """Names an arm by the comparisons of a policy with the leader."""

    policy: Policy

    def pick(self, memory: Memory, pulls: Counts, desk: Desk, changed: Ints) -> int:
        """`best_by_excess`, by certificate."""
        bring_up_to_date(memory, pulls, desk, changed)
        return lazy_against(self.policy, memory, pulls, desk.known)


class Opening(NamedTuple):
    """The same for a policy that opens arms one by one."""

    policy: Policy

    def pick(self, memory: Memory, pulls: Counts, desk: Desk, changed: Ints) -> int:
        """`best_of_opened`, by certificate."""
        bring_up_to_date(memory, pulls, desk, changed)
        return lazy_among(self.policy, memory, pulls, desk.known)


PICKERS = {"lazy score": Scoring, "score": Scoring, "excess": Comparing, "opening": Opening}  # by protocol.WAYS


def name_arm(
    picker: Any, memory: Memory, pulls: Counts, totals: Floats, unknown: float, flying: Ints, kept: Floats,
    desk: Desk, noted: Ints,
) -> int:  # fmt: skip
    """The arm to pull next.

    `pulls` and `totals` are each arm's samples and their sums of cost and reward; `unknown` is the cost that is
    expected of a pull before there are any. `flying` has the arms with pulls under way, in order, and how many each;
    `kept` has a row of room for each of them. `noted` are arms that something was learned of since the last choice.
    """
    return imagine_and_pick(picker, memory, pulls, totals, unknown, flying, kept, desk, noted)


def imagine_and_pick(
    picker: Any, memory: Memory, pulls: Counts, totals: Floats, unknown: float, flying: Ints, kept: Floats,
    desk: Desk, noted: Ints,
) -> int:  # fmt: skip
    """`name_arm`; compiled into it without counting references."""
    different = list_changed(pulls, flying, desk, noted)
    usual_cost, usual_reward = unknown, 0.0
    for i in range(flying.shape[1]):
        if pulls[flying[ARM, i]] == 0:
            usual_cost, usual_reward = mean_of_all(pulls, totals, unknown)
            break
    for i in range(flying.shape[1]):
        arm, count, samples = flying[ARM, i], flying[COUNT, i], pulls[flying[ARM, i]]
        cost, reward = usual_cost, usual_reward
        if samples > 0:
            cost, reward = float(totals[arm, 0]) / samples, float(totals[arm, 1]) / samples
        memory.keep(arm, count, kept[i])
        memory.imagine(arm, count, cost, reward)
        pulls[arm] += count
    choice = int(picker.pick(memory, pulls, desk, desk.changed[:different]))
    for i in range(flying.shape[1] - 1, -1, -1):
        arm, count = flying[ARM, i], flying[COUNT, i]
        pulls[arm] -= count
        memory.restore(arm, count, kept[i])
    return choice


def take_in_sample(memory: Memory, arm: int, cost: float, reward: float) -> None:
    """Learn one sample."""
    memory.observe(arm, cost, reward)


def mean_of_all(pulls: Counts, totals: Floats, unknown: float) -> Sample:
    """What a pull of any arm cost and earned on average, or (unknown, 0.0); sums are taken in the order of the arms."""
    samples, cost, reward = 0, 0.0, 0.0
    for arm in range(len(pulls)):
        samples += pulls[arm]
        cost += totals[arm, 0]
        reward += totals[arm, 1]
    if samples == 0:
        return unknown, 0.0
    return float(cost) / samples, float(reward) / samples


def list_changed(pulls: Counts, flying: Ints, desk: Desk, noted: Ints) -> int:
    """Write down, and count, the arms that look different from how they did at the last choice.

    They were noted, or others of their pulls are under way; without a sample, what is expected of an arm changes with
    every other's. `flying` takes the place of what was under way then.
    """
    last, changed, found = desk.flying, desk.changed, 0
    for arm in noted:
        changed[found] = arm
        found += 1
    i, j, before, now = 0, 0, desk.marks[LAST], flying.shape[1]
    while i < before or j < now:
        if j == now or (i < before and last[ARM, i] < flying[ARM, j]):
            changed[found] = last[ARM, i]
            found += 1
            i += 1
        elif i == before or flying[ARM, j] < last[ARM, i]:
            changed[found] = flying[ARM, j]
            found += 1
            j += 1
        else:
            if flying[COUNT, j] != last[COUNT, i] or pulls[flying[ARM, j]] == 0:
                changed[found] = flying[ARM, j]
                found += 1
            i += 1
            j += 1
    for j in range(now):
        last[ARM, j], last[COUNT, j] = flying[ARM, j], flying[COUNT, j]
    desk.marks[LAST] = now
    return found


def bring_up_to_date(memory: Memory, pulls: Counts, desk: Desk, changed: Ints) -> None:
    """Tell the certificate which arms look different, or begin one."""
    if desk.marks[KNOWN] == 0:
        forget_certificate(desk.known)
        desk.marks[KNOWN] = 1
    else:
        report(memory, pulls, desk.known, changed)
