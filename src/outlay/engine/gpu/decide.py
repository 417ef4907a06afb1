"""Which arm to pull next, on the GPU: the counterpart of `loop.decide`, where every arm is asked about."""

from collections.abc import Callable

from outlay.engine.gpu.random import Philox
from outlay.engine.run.loop import Drawing
from outlay.formulas.choices.choose import (
    Counts,
    Now,
    best_by_excess,
    best_by_sample,
    best_by_score,
    best_of_opened,
    log_of,
)
from outlay.policies.protocol import (
    Chooser,
    Compared,
    KindName,
    LeaderMemory,
    Memory,
    Opening,
    Policy,
    Sampled,
    Scored,
    SequentialMemory,
)


def decide(policy: Policy, memory: Memory, pulls: Counts, spent: float, n: int, rng: Philox) -> int:
    """The arm to pull next: one of the four below, by the way of the policy."""
    raise NotImplementedError("only compiled code decides on the device")


def decide_by_score(policy: Scored, memory: Memory, pulls: Counts, spent: float, n: int, rng: Philox) -> int:  # noqa: ARG001
    """`decide` for a policy with `score`."""
    return best_by_score(policy, memory, pulls, log_of(n))


def decide_by_sample(policy: Sampled, memory: Memory, pulls: Counts, spent: float, n: int, rng: Drawing) -> int:  # noqa: ARG001
    """`decide` for a policy with `sample`."""
    return best_by_sample(policy, memory, pulls, log_of(n), rng)


def decide_by_excess(policy: Compared, memory: LeaderMemory, pulls: Counts, spent: float, n: int, rng: Philox) -> int:  # noqa: ARG001
    """`decide` for a policy with `excess`."""
    return best_by_excess(policy, memory, pulls)


def decide_by_opening(
    policy: Opening,
    memory: SequentialMemory,
    pulls: Counts,
    spent: float,  # noqa: ARG001
    n: int,
    rng: Drawing,
) -> int:
    """`decide` for a policy with `excess` and `excess_of_new_arm`."""
    if n == 0:
        memory.shuffle(rng)
    return best_of_opened(policy, memory, pulls)


def decide_by_choose(policy: Chooser, memory: Memory, pulls: Counts, spent: float, n: int, rng: Drawing) -> int:  # noqa: ARG001
    """`decide` for a policy with `choose`."""
    return policy.choose(memory, Now(n, log_of(n), spent), rng)


# For each way of `protocol.POLICY_KINDS`; laziness is the business of another kernel.
DECIDE: dict[KindName, Callable[..., int]] = {
    "lazy score": decide_by_score,
    "score": decide_by_score,
    "sample": decide_by_sample,
    "excess": decide_by_excess,
    "opening": decide_by_opening,
    "choose": decide_by_choose,
}
