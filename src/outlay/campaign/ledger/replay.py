"""Every event decided again: which command it came from, and what the rules make of that command in its place."""

from collections import deque
from collections.abc import Sequence

import msgspec

from outlay import __version__
from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.allocate import ArmChooser, NoRoom, admissible, arms_of, choose, with_room
from outlay.campaign.ledger.apply import apply
from outlay.campaign.ledger.decide import decide, noticed
from outlay.campaign.ledger.state import State
from outlay.campaign.ledger.validation import check_event, check_time
from outlay.errors import OutlayError, StoreError
from outlay.policies.protocol import Policy


class Replay:
    """Walks along a ledger; `version` is that of the outlay that wrote the last event which tells.

    With `choosing`, the policy chooses again where the campaign has it; otherwise arms are taken as given. A propensity
    may be an estimate from a hundred choices more: it is not made again. Which arm a policy names may change from one
    version of outlay to the next, and `others` lists, by version, the events where it did; the rules of money never
    change for a ledger, whatever version it says has written it.
    """

    def __init__(self, choosing: bool = True) -> None:
        self.version = __version__
        self.others: dict[str, list[int]] = {}
        self._choosing = choosing
        self._due: deque[e.AnyEvent] = deque()  # what must come next

    def fold(self, state: State | None, record: e.Record, policy: Policy | None = None) -> tuple[State, str | None]:
        """The state after the next event, and what is wrong with that event, if something is.

        Raises ValueError, in a sentence, where it cannot be folded.
        """
        seq, event = record.seq, record.event
        title = f"event {seq} ({_kind(event)})"
        if seq != (wanted := state.seq + 1 if state else 1):
            raise ValueError(f"event {wanted} is missing")
        if isinstance(event, e.Opened) != (state is None):
            raise ValueError(f"{title} is out of place: the first event opens a campaign, and no other")
        self.version = _version(event) or self.version
        doubt = None
        try:
            check_event(event)
            check_time(record.at)
            doubt = None if state is None else self._doubt(state, record)
            return apply(state, record, policy), doubt and f"{title} {doubt}"
        except (ArithmeticError, LookupError, TypeError, ValueError, StoreError) as error:
            raise ValueError(f"{title} {doubt or f'cannot be folded: {type(error).__name__} {error}'}") from error

    def _doubt(self, state: State, record: e.Record) -> str | None:
        event = record.event
        if record.at < state.at:
            return "is dated before the one it follows"
        try:
            wanted = self._wanted(state, event, record.at)
        except (OutlayError, NoRoom) as error:
            self._due.clear()
            return f"could not happen: {error}"
        said = _difference(event, wanted)
        if said:
            self._due.clear()
        elif self._choosing and self.version != __version__ and _chooses_otherwise(state, record):
            self.others.setdefault(self.version, []).append(record.seq)
        return said

    def _wanted(self, state: State, event: e.AnyEvent, at: int) -> e.AnyEvent | None:
        """What belongs here: what the last event shows, the rest of its command, what is overdue, or what comes next.

        Which changes a policy notices may change from one version of outlay to the next, as its choices may.
        """
        if self._choosing and state.learner and self.version == __version__:
            if (changed := noticed(state)) is not None:
                return changed
        elif isinstance(event, e.Changed):
            return event
        if not self._due:
            self._due.extend(decide(state, e.ExpirePulls(), at)[0])
        if not self._due:
            self._due.extend(decide(state, _command(state, event, at), at, self._chooser(state, event))[0])
        return self._due.popleft() if self._due else None

    def _chooser(self, state: State, event: e.AnyEvent) -> ArmChooser | None:
        if self._choosing and state.learner and self.version == __version__:
            return state.learner
        return _Given(event) if isinstance(event, (e.Asked, e.Exhausted, e.Added)) else None


class _Given:
    """Stands in for a learner: it chooses what was chosen, and takes the arms that were added."""

    def __init__(self, event: e.Asked | e.Exhausted | e.Added) -> None:
        self._event = event

    def choose(self, allowed_arms: Sequence[int], *_: object) -> int:
        if isinstance(self._event, e.Asked) and self._event.arm not in allowed_arms:
            raise OutlayError("its arm is disabled, or costs more than is left")
        return self._event.arm if isinstance(self._event, e.Asked) else allowed_arms[0]

    def check_wider(self) -> None:
        pass


def _chooses_otherwise(state: State, record: e.Record) -> bool:
    """Whether an arm was named that the policy, where it is at hand, does not name."""
    if not isinstance(record.event, e.Asked) or state.learner is None or record.event.fallback:
        return False
    event = record.event
    arms = with_room(state, admissible(state, event.most, arms_of(state, event.arms)), event.most, event.room)
    return choose(state, arms, record.seq, context=event.context)[0] != event.arm


def _command(state: State, event: e.AnyEvent, at: int) -> e.Command:
    """The command that an event says it came from."""
    match event:
        case e.Asked():
            notes = event.key, event.ttl, event.tags, event.metadata
            return e.Ask(*notes, event.most, event.fallback, event.room, event.arms, event.context)
        case e.Told():
            return e.Tell(event.pull, event.cost, event.reward, None, event.rounded)
        case e.Rewarded():
            return e.Reward(event.pull, 0.0 if event.reward is None else event.reward)  # one that is missing was due
        case e.Cancelled():
            return e.Cancel(event.pull, event.reason)
        case e.Expired():
            return e.Charge(event.pull)  # what is overdue was due before
        case e.Extended():
            return e.Extend(event.pull, event.expires - at)
        case e.Amended():
            same = event.reward == event.instead.reward  # perhaps what stands in for one, which cannot be amended
            return e.Amend(event.pull, event.cost, None if same else event.reward, event.reason, event.rounded)
        case e.Budgeted():
            return e.SetBudget(event.budget)
        case e.Requested():
            return e.SetRequests(event.requests)
        case e.Expected():
            return e.Expect(event.requests)
        case e.Archived():
            return e.Archive()
        case e.Restored():
            return e.Restore()
        case e.Added():
            return e.AddArm(event.arm)
        case e.Disabled():
            return e.DisableArm(state.arms[event.arm].name)
        case e.Enabled():
            return e.EnableArm(state.arms[event.arm].name)
        case e.Warmed():
            names = tuple(state.arms[arm].name for arm in event.arms)
            return e.WarmStart(names, event.costs, event.rewards, event.key, event.source)
        case e.Paused():
            return e.Pause()
        case e.Resumed():
            return e.Resume()
        case e.Closed():
            return e.Close()
        case e.Exhausted():
            return e.Ask()  # which found that no arm fits; all else that exhausts is in what is due
    return e.ExpirePulls()  # Opened comes first, and a window that is over was due before


def _difference(event: e.AnyEvent, wanted: e.AnyEvent | None) -> str | None:
    if wanted is None:
        return "changes nothing"
    if type(event) is not type(wanted):
        return f"comes where the rules say {_kind(wanted)}"
    if isinstance(event, e.Asked) and isinstance(wanted, e.Asked):
        policy = f"{wanted.policy.rpartition('@')[0]}@{_version(event)}"
        wanted = msgspec.structs.replace(wanted, policy=policy, propensity=event.propensity)
    if isinstance(wanted, e.Expired) or (isinstance(wanted, e.Rewarded) and wanted.missing):
        assert isinstance(event, e.Expired | e.Rewarded)  # noqa: S101 (it is of the same type)
        wanted = msgspec.structs.replace(wanted, unlearned=event.unlearned)
    for field in event.__struct_fields__:
        got, want = getattr(event, field), getattr(wanted, field)
        if repr(got) != repr(want):
            return f"has {field} {_shown(got)}, and the rules say {_shown(want)}"
    return None


def _version(event: e.AnyEvent) -> str | None:
    if isinstance(event, e.Opened):
        return event.terms.version
    return event.policy.rpartition("@")[2] if isinstance(event, e.Asked) else None


def _kind(event: e.AnyEvent) -> str:
    return str(event.__struct_config__.tag)


def _shown(value: object) -> str:
    return "none" if value is None else str(value)
