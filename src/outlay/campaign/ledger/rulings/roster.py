"""What comes of a change of the arms, and of samples of them that were made elsewhere."""

from outlay.campaign.ledger import commands as c
from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.agreement import MOST_ARMS, check_arm
from outlay.campaign.ledger.rulings.admission import Namer, learner_of
from outlay.campaign.ledger.rulings.asks import Ruling
from outlay.campaign.ledger.rulings.refusals import arm_index, check_reward
from outlay.campaign.ledger.state import State
from outlay.errors import CampaignConflict


def add_arm(state: State, command: c.AddArm, by: Namer | None) -> Ruling:
    """Another arm; the same again is none."""
    index = state.index(command.arm.name)
    check_arm("add_arm", command.arm)
    if index is not None:
        if state.arms[index].terms == command.arm:
            return [], None
        there, given = state.arms[index].terms, command.arm
        what, pair = "max_cost", [state.unit.shown(terms.max_cost) for terms in (there, given)]
        if pair[0] == pair[1]:
            what, pair = "cost", [str(terms.mean_cost) for terms in (there, given)]
        raise CampaignConflict(f"arm {given.name!r} is there already, with {what} {pair[0]}, not {pair[1]}")
    if len(state.arms) >= MOST_ARMS:
        raise CampaignConflict(f"the campaign has {len(state.arms):,} arms, and cannot have more")
    (by or learner_of(state)).check_wider()
    return [e.Added(command.arm)], None


def disable(state: State, command: c.DisableArm) -> Ruling:
    """An arm that is not to be pulled any more."""
    index = arm_index(state, "disable_arm", command.arm)
    return [e.Disabled(index)] if state.arms[index].enabled else [], None


def enable(state: State, command: c.EnableArm) -> Ruling:
    """One that may be pulled again."""
    index = arm_index(state, "enable_arm", command.arm)
    return [e.Enabled(index)] if not state.arms[index].enabled else [], None


def warm(state: State, command: c.Warm) -> Ruling:
    """Samples from elsewhere; a log that is known teaches nothing."""
    if command.key in state.warmed:
        return [], 0
    arms = {name: arm_index(state, "warm_start", name) for name in set(command.arms)}
    for reward in command.rewards:
        check_reward("warm_start", reward)
    return [e.Warmed(tuple(arms[name] for name in command.arms), *command[1:])], len(command.arms)
