"""The rules of a campaign one by one: how it ends and reopens, what is flagged and what is refused."""

import math
from typing import Any

import pytest
from msgspec.structs import replace

from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.events import ArmTerms, Exhausted, Opened, Settings, Terms
from outlay.campaign.ledger.learner import Learner
from outlay.campaign.ledger.state import Arm, State
from outlay.campaign.records import Pull, Receipt, entries, status_of
from outlay.campaign.settings import CampaignLimits, agreed
from outlay.campaign.stores.base import run
from outlay.errors import BadParameter, CampaignConflict, NotNow, PullOver
from outlay.policies import RoundRobin
from outlay.policies.protocol import as_data
from tests.campaign.stories import SECOND, START, opened


def terms(**changed: Any) -> Terms:
    given: dict[str, Any] = {
        "unit": "1",
        "mode": "until_exceeded",
        "seed": 0,
        "policy": as_data(RoundRobin()),
        "version": "test",
    }
    return Terms(**(given | changed))


def after(opening: e.Open, *commands: tuple[int, e.Command]) -> tuple[State, list[Any]]:
    """The state after commands, each at its second, and their replies."""
    state, replies = opened(opening)[0], []
    for second, command in commands:
        replies += run(state, [command], START + second * SECOND).replies
    return state, replies


def test_release_and_late_tells_would_break_the_hard_cap() -> None:
    """Two asks of 1 are released, three of 40 admitted, and a late tell of 1 makes it 121 of 120."""
    arms = (ArmTerms("small", 1), ArmTerms("large", 40))
    story: list[tuple[int, e.Command]] = [
        *((0, e.Ask(ttl=SECOND)), (0, e.DisableArm("large")), (0, e.Tell(2, 0, 0.0))),
        *((1, e.Ask(ttl=SECOND)), (1, e.Ask(ttl=SECOND)), (3, e.EnableArm("large")), (3, e.DisableArm("small"))),
        *((4, e.Ask()), (4, e.Ask()), (4, e.Ask()), (4, e.Ask())),
    ]

    def spent(expiry: str) -> tuple[int, int, int]:
        opening = Opened("cap", arms, 120, terms(mode="hard", expiry=expiry))
        state, replies = State(opening, [Arm(arm.name, arm.max_cost) for arm in arms], learner()), list[Any]()
        state.seq, state.at = 1, START
        for second, command in story:
            replies += run(state, [command], START + second * SECOND).replies
        large = [reply for reply in replies if isinstance(reply, Pull) and reply.arm == "large"]
        for pull in large:
            run(state, [e.Tell(pull.id, 40, 1.0)], state.at)
        small = [number for number, decision in state.pulls.items() if decision.status == "expired"]
        for number in small:
            run(state, [e.Tell(number, 1, 1.0)], state.at)
        return len(small), len(large), state.spent

    def learner() -> Learner:
        return Learner(RoundRobin(), 2, 120.0)

    assert spent("release") == (2, 3, 122)  # which no campaign can be opened on
    refused = run(None, [e.Open("cap", arms, 120, terms(mode="hard", expiry="release"))], START)
    assert isinstance(refused.replies[0], BadParameter)
    assert refused.records == []
    assert spent("charge") == (2, 2, 82)
    with pytest.raises(BadParameter, match=r'expiry of Campaign must be "charge" in hard mode'):
        agreed(["a"], CampaignLimits(120), RoundRobin(), "cap", Settings("hard", "1", ttl=1.0, expiry="release"))


def test_what_was_told_and_what_is_right_can_both_be_told_again() -> None:
    opening = e.Open("again", (ArmTerms("a"),), 100, terms())
    tells = [(0, e.Tell(2, cost, 1.0)) for cost in (5, 6, 7)]
    _, replies = after(opening, (0, e.Ask()), (0, e.Tell(2, 5, 1.0)), (0, e.Amend(2, 6, 1.0)), *tells)
    assert [(reply.cost, reply.duplicate) for reply in replies[-3:-1]] == [(6.0, True)] * 2
    assert isinstance(replies[-1], CampaignConflict)


def test_the_end_and_the_draining() -> None:
    opening = e.Open("end", (ArmTerms("a", 40),), 100, terms(max_in_flight=5))
    state, replies = after(opening, *[(0, e.Ask())] * 3, (0, e.Tell(2, 90, 1.0)), (0, e.Ask()))
    assert isinstance(replies[-1], NotNow)  # 90 spent, 80 set aside
    state, replies = after(opening, *[(0, e.Ask())] * 3, (0, e.Tell(2, 101, 1.0)), (0, e.Ask(key="x")), (0, e.Ask()))
    assert replies[3].overrun
    assert replies[4:] == [None, None]
    assert (status_of(state).phase, status_of(state).ended) == ("draining", "exhausted")
    more = run(state, [e.Tell(3, 40, 1.0), e.Tell(4, 40, 1.0), e.Ask()], START)
    assert (status_of(state).phase, state.spent, more.replies[-1]) == ("closed", 181, None)
    refund = run(state, [e.Amend(2, 0, 1.0), e.Ask()], START)
    assert (state.spent, state.ended, refund.replies[-1]) == (80, "exhausted", None)  # not reopened by itself
    less = run(state, [e.SetBudget(99), e.Ask()], START)
    assert (state.ended, less.replies[-1]) == ("exhausted", None)
    reopened = run(state, [e.SetBudget(120), e.Ask()], START)
    pull = reopened.replies[-1]
    assert isinstance(pull, Pull)
    assert (state.ended, status_of(state).phase) == (None, "open")
    ended = run(state, [e.Close(), e.Ask(), e.SetBudget(1000), e.Tell(pull.id, 7, 0.5)], START)
    receipt = ended.replies[3]
    assert isinstance(receipt, Receipt)
    assert (ended.replies[1], type(ended.replies[2]), receipt.cost) == (None, CampaignConflict, 7.0)
    assert (status_of(state).phase, status_of(state).ended) == ("closed", "closed")


def test_a_hard_campaign_ends_when_no_arm_fits() -> None:
    arms = (ArmTerms("dear", 60), ArmTerms("cheap", 20))
    state, replies = after(e.Open("hard", arms, 100, terms(mode="hard")), *[(0, e.Ask())] * 5)
    assert [reply.arm for reply in replies[:3]] == ["dear", "cheap", "cheap"]
    assert [type(reply) for reply in replies[3:]] == [NotNow, NotNow]
    done = run(state, [e.Tell(2, 60, 1.0), e.Tell(3, 20, 1.0), e.Tell(4, 15, 1.0), e.Ask(), e.Ask()], START)
    assert (done.replies[-2:], state.spent, state.ended) == ([None, None], 95, "exhausted")
    assert [type(record.event) for record in done.records].count(Exhausted) == 1


@pytest.mark.parametrize("first", [e.Cancel(2), e.ExpirePulls()])
def test_in_hard_mode_whatever_crosses_the_cap_is_flagged(first: e.Command) -> None:
    """A pull that was voided, or was thought to be free, has nothing set aside."""
    free = isinstance(first, e.ExpirePulls)
    arms = (ArmTerms("a", None if free else 30), ArmTerms("b", 100))
    opening = e.Open("flag", arms, 100, terms(mode="hard", reservation=0))
    _, replies = after(opening, (0, e.Ask()), (0, first), (0, e.Ask()), (0, e.Tell(2, 30, 1.0)))
    assert [reply.arm for reply in replies if isinstance(reply, Pull)] == ["a", "b" if free else "a"]
    assert replies[-1].overrun
    assert replies[-1].late != free


def test_history_shows_money_as_users_do() -> None:
    cents = e.Open("cents", (ArmTerms("a", 250),), 10_000, terms(unit="0.01", reservation=125))
    (state, records), added = opened(cents), e.AddArm(ArmTerms("b", 75))
    for command in (added, e.Ask(), e.Tell(3, 150, 0.5), e.Amend(3, 175, 1.0, "typo"), e.SetBudget(20_000)):
        records += run(state, [command], START).records
    history = list(entries(records, state.unit, ["a"]))
    assert list(entries(records[2:], state.unit, ["a", "b"])) == history[2:]
    rows = [(row.kind, row.pull, row.arm, row.cost, row.reward) for row in history]
    assert rows == [
        ("opened", None, None, None, None),
        ("added", None, "b", None, None),
        ("asked", 3, "a", None, None),
        ("told", 3, "a", 1.5, 0.5),
        ("amended", 3, "a", 1.75, 1.0),
        ("budgeted", None, None, None, None),
    ]
    more = [row.more for row in history]
    assert (more[0]["budget"], more[0]["arms"]) == (100.0, [{"name": "a", "max_cost": 2.5}])
    assert more[0]["terms"]["reservation"] == 1.25
    assert (more[1], more[2]["reserved"], more[5]) == ({"max_cost": 0.75}, 2.5, {"budget": 200.0})
    assert more[4] == {"instead": {"cost": 1.5, "reward": 0.5, "sample_index": 0}, "reason": "typo"}


def test_no_more_than_a_database_can_count_is_spent() -> None:
    opening = e.Open("much", (ArmTerms("a"),), 2**53, terms())
    state, replies = after(opening, *[(0, e.Ask())] * 520)
    tells = run(state, [e.Tell(pull.id, 2**53, 0.0) for pull in replies], START).replies
    assert [isinstance(reply, Receipt) for reply in tells] == [True] * 512 + [False] * 8
    assert (state.spent, type(tells[-1])) == (2**62, BadParameter)
    more = run(state, [e.Amend(2, 0, 0.0), e.Tell(replies[-1].id, 2**53, 0.0)], START)
    assert isinstance(more.replies[-1], Receipt)


def test_a_key_whose_pull_is_over_gives_no_second_pull() -> None:
    """A voided pull has nothing set aside: given out again it was told past the cap, 15 of 10."""
    opening = e.Open("keys", (ArmTerms("a", 5),), 10, terms(mode="hard"))
    state, replies = after(opening, (0, e.Ask("j")), (0, e.Ask("j")), (0, e.Cancel(2)), (0, e.Ask("j")))
    assert replies[0] == replies[1]
    over = replies[3]
    assert isinstance(over, PullOver)
    assert isinstance(over, CampaignConflict)
    assert (over.key, over.pull, over.pull.status) == ("j", replace(replies[0], status="cancelled"), "cancelled")
    more = run(state, [e.Ask("k"), e.Tell(4, 5, 1.0), e.Ask("k"), e.Ask(), e.Ask()], START).replies
    assert isinstance(more[2], PullOver)
    assert more[2].pull.status == "told"
    assert isinstance(more[4], NotNow)
    assert (state.spent, state.reserved) == (5, 5)


def test_an_expired_pull_is_over_for_ask_and_not_for_tell() -> None:
    opening = e.Open("keys", (ArmTerms("a", 5),), 10, terms(mode="hard", ttl=SECOND))
    _, replies = after(opening, (0, e.Ask("j")), (2, e.Ask("j")), (2, e.Tell(2, 3, 1.0)))
    assert isinstance(replies[1], PullOver)
    assert replies[1].pull.status == "expired"
    assert replies[2].late


@pytest.mark.parametrize("reward", [1.1e100, -1.1e100, math.inf, math.nan])
def test_a_default_reward_is_such_that_squares_have_a_sum(reward: float) -> None:
    (reply,) = run(None, [e.Open("x", (ArmTerms("a"),), 9, terms(default_reward=reward))], START).replies
    assert isinstance(reply, BadParameter)
    assert reply.name == "default_reward"


def test_a_correction_past_a_hard_cap_is_flagged() -> None:
    """Told 1, 4 and 5 of at most 5 each; the first was 5 in truth, which makes it 14 of 10."""
    opening = e.Open("cap", (ArmTerms("a", 5),), 10, terms(mode="hard"))
    story: list[tuple[int, e.Command]] = []
    for number, cost in ((2, 1), (4, 4), (6, 5)):
        story += [(0, e.Ask()), (0, e.Tell(number, cost, 1.0))]
    state, replies = after(opening, *story, (0, e.Amend(2, 5, 1.0)), (0, e.Amend(2, 5, 1.0)), (0, e.Amend(4, 3, 1.0)))
    flags = [(reply.overrun, reply.duplicate) for reply in replies[-3:]]
    assert flags == [(True, False), (True, True), (False, False)]
    assert (state.spent, state.ended) == (13, "exhausted")


@pytest.mark.parametrize("most", [1, 3, None])
def test_first_pulls_of_an_arm_of_unknown_cost_are_few_at_a_time(most: int | None) -> None:
    """Nothing can be set aside for them: fifty under way had spent 50 of 1."""
    opening = e.Open("first", (ArmTerms("a"), ArmTerms("b"), ArmTerms("c", 1)), 10, terms(first_pulls=most))
    state, replies = after(opening, (0, e.DisableArm("c")), *[(0, e.Ask())] * 50)
    pulls = [reply for reply in replies if isinstance(reply, Pull)]
    assert len(pulls) == (50 if most is None else 2 * most)
    if most is None:
        return
    assert str(replies[-1]) == (
        f"first pulls of every arm whose cost is not known are under way, and first_pulls is {most}: ask again in 1 s"
    )
    a = [pull.id for pull in pulls if pull.arm == "a"]
    more = run(state, [e.Tell(a[0], 0, 0.0), e.Ask(), e.Ask()], START).replies  # a call that failed says nothing
    assert [type(reply) for reply in more] == [Receipt, Pull, NotNow]
    more = run(state, [e.Tell(more[1].id, 2, 1.0), *[e.Ask()] * 20], START).replies  # type: ignore[union-attr]
    named = [reply for reply in more if isinstance(reply, Pull)]
    assert {pull.arm for pull in named} == {"a"}
    assert {pull.reserved for pull in named} <= {3.0, 4.0}
    assert state.spent + state.reserved <= 10 + 4
    more = run(state, [e.EnableArm("c"), e.SetBudget(100), e.Ask(), e.Ask()], START).replies
    assert "c" in {pull.arm for pull in more if isinstance(pull, Pull)}  # whose cost is known
