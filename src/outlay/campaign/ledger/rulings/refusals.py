"""What a command is refused for, whatever it asks: decisions and arms that are not there, amounts out of range."""

from outlay.campaign.ledger.agreement import MOST_REWARD
from outlay.campaign.ledger.state import Decision, State
from outlay.errors import BadParameter, CampaignConflict, UnknownPull

MOST_SPENT = 2**62  # units a campaign can have spent: what a database's whole numbers hold
MOST_NAMED = 20  # arms in a message


def found(state: State, number: int) -> Decision:
    """The decision of this number, or UnknownPull."""
    decision = state.decisions.get(number)
    if decision is None:
        raise UnknownPull(state.name, number)
    return decision


def check_pending(decision: Decision, verb: str) -> None:
    """Refuse what can only be done to a pull under way."""
    if decision.standing != "open":
        raise CampaignConflict(f"pull {decision.number} is {decision.standing} and cannot {verb}")


def check_cost(state: State, owner: str, decision: Decision, cost: int) -> None:
    """Refuse a cost that the terms do not allow, or that would be too much for the sums."""
    if cost < 0 and not state.terms.negative_costs:
        raise BadParameter(owner, "cost", "≥ 0 in this campaign", state.unit.amount(cost))
    if max(abs(state.spent), abs(state.arms[decision.arm].spent)) + abs(cost) > MOST_SPENT:
        raise BadParameter(owner, "cost", "such that less than 2**62 units are spent", state.unit.amount(cost))


def check_reward(owner: str, reward: float) -> None:
    """Refuse a reward whose square would be too large for the sums."""
    if not abs(reward) <= MOST_REWARD:
        raise BadParameter(owner, "reward", f"from -{MOST_REWARD:g} to {MOST_REWARD:g}", reward)


def in_seconds(micros: int | None) -> str:
    """A time span for a message.

    >>> in_seconds(90_000_000), in_seconds(None)
    ('90 s', 'none')
    """
    return "none" if micros is None else f"{micros / 1e6:g} s"


def unknown_arm(state: State, owner: str, name: object) -> BadParameter:
    """What to raise where there is no such arm."""
    names = [arm.name for arm in state.arms[:MOST_NAMED]] + ["…"] * (len(state.arms) > MOST_NAMED)
    return BadParameter(owner, "arm", f"one of {', '.join(names)}", name)


def arm_index(state: State, owner: str, name: str) -> int:
    """The arm of this name, or BadParameter."""
    index = state.index(name)
    if index is None:
        raise unknown_arm(state, owner, name)
    return index
