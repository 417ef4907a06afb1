"""Exported ledgers whose lines were changed, with a last line that fits: events that do not follow are refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outlay import Campaign, __version__
from outlay.campaign import campaigns, import_ledger
from outlay.errors import BadFile
from tests.campaign.busy import Lines, forged


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/new.db"


def event(number: int, **fields: Any) -> Callable[[Lines], None]:
    return lambda lines: lines[number]["event"].update(fields)


def first(kind: str, **fields: Any) -> Callable[[Lines], None]:
    def change(lines: Lines) -> None:
        next(line for line in lines[1:] if line["event"]["kind"] == kind)["event"].update(fields)

    return change


def after_the_end(lines: Lines) -> None:
    lines.append({**lines[3], "seq": len(lines), "at": lines[-1]["at"]})


def again(lines: Lines) -> None:
    lines.append({**lines[1], "seq": len(lines), "at": lines[-1]["at"]})


def told_again(lines: Lines) -> None:
    lines.append({**lines[4], "seq": len(lines), "at": lines[-1]["at"]})


def paused_again(lines: Lines) -> None:
    lines += [{"seq": len(lines) + i, "at": lines[-1]["at"], "event": {"kind": "paused"}} for i in range(2)]


def much_later(lines: Lines) -> None:
    lines.append({"seq": len(lines), "at": lines[-1]["at"] + 10**13, "event": {"kind": "paused"}})


def for_nothing(lines: Lines) -> None:
    del lines[2:]
    lines.append({"seq": 2, "at": lines[-1]["at"], "event": {"kind": "exhausted"}})


def long_ago(lines: Lines) -> None:
    """Another version may have had other rules, and yet."""
    del lines[5:]
    lines[3]["event"]["policy"] = "BTS@0.0.1"
    lines[4]["event"]["decision"] = 77


def too_rich(lines: Lines) -> None:
    del lines[2:]
    lines[1]["event"]["budget"] = 2**63


FORGERIES: list[tuple[Callable[[Lines], object], str]] = [
    (lambda lines: lines[0].update(format=2), r"it was written by a newer outlay \(0\.2\.0\): upgrade outlay"),
    (lambda lines: lines[0].update(outlay="result"), "this is no ledger of outlay"),
    (lambda lines: lines[0].pop("campaign"), "this is no ledger of outlay"),
    (lambda lines: lines.pop(1), "event 1 is missing"),
    (lambda lines: lines.pop(7), "event 7 is missing"),
    (lambda lines: lines[7].update(seq=1), "event 7 is missing"),
    (lambda lines: lines[7].update(at=1), r"event 7 \(asked\) is dated before the one it follows"),
    (lambda lines: lines[7].pop("at"), "line 8 is no event"),
    (lambda lines: lines[7].update(event={"kind": "dreamt"}), "line 8 is no event"),
    (event(7, dream=True), "line 8 says more than this version of outlay understands"),
    (lambda lines: lines.__delitem__(slice(1, None)), "there is no event in it"),
    (lambda lines: lines.insert(7, {"event": 1}), "line 8 is neither an event nor the last line"),
    (event(1, budget=0), "could not happen|rules say"),
    (again, r"\(opened\) is out of place: the first event opens a campaign, and no other"),
    (after_the_end, r"\(asked\) changes nothing"),
    (told_again, r"\(told\) changes nothing"),
    (first("told", cost=-5), "decision|rules say"),
    (first("told", decision=77), r"could not happen: campaign 'default' has no decision 77"),
    (first("told", arm=0), r"\(told\) has arm 0, and the rules say 1"),
    (first("asked", reserved=1), r"\(asked\) has reserved 1, and the rules say 500000000"),
    (first("asked", arm=9), r"\(asked\) could not happen: its arm is disabled, or costs more than is left"),
    (first("asked", arm=-1), r"\(asked\) could not happen: its arm is disabled"),
    (first("disabled", arm=9), r"\(disabled\) cannot be folded"),
    (first("expired", charged=1), r"\(expired\) has charged 1, and the rules say"),
    (paused_again, r"\(paused\) changes nothing"),
    (much_later, r"\(paused\) comes where the rules say expired"),
    (long_ago, "it names a decision that was never made, or a number too large"),
    (too_rich, "it names a decision that was never made, or a number too large"),
    (for_nothing, r"\(exhausted\) comes where the rules say asked"),
    (first("warmed", costs=[1e15, 1.0]), r"\(warmed\) cannot be folded"),
    (lambda lines: lines[1]["event"]["terms"].update(unit="none"), r"\(opened\) cannot be folded: .*unit of Campaign"),
]


@pytest.mark.parametrize(("change", "reason"), FORGERIES)
def test_events_that_do_not_follow(content: bytes, store: str, change: Callable[[Lines], object], reason: str) -> None:
    Campaign(["a"], 1, store=store, name="there before").disconnect()
    with pytest.raises(BadFile, match=reason) as caught:
        import_ledger(store, forged(content, change))
    assert "\n" not in str(caught.value)
    assert [status.name for status in campaigns(store)] == ["there before"]


def test_a_choice_that_the_policy_would_not_make_is_told_not_refused(content: bytes, store: str) -> None:
    """Another machine may round a logarithm otherwise: what was chosen was chosen."""

    def swap(lines: Lines) -> None:
        del lines[3:]
        assert lines[2]["event"]["kind"] == "warmed"
        expires = lines[2]["at"] + 3600 * 10**6
        asked = {"kind": "asked", "arm": 0, "reserved": 500000000, "policy": f"BTS@{__version__}", "expires": expires}
        lines.append({"seq": 3, "at": lines[2]["at"], "event": asked})

    verdict = import_ledger(store, forged(content, swap))
    assert verdict.problems == ("event 3 (asked) has arm 0, and the rules say 1",)

    def swap_long_ago(lines: Lines) -> None:
        swap(lines)
        lines[3]["event"]["policy"] = "BTS@0.0.1"

    verdict = import_ledger(store, forged(content, swap_long_ago), "old")
    assert verdict.ok
    assert verdict.notes == (
        f"1 events written by outlay 0.0.1 are not what {__version__} would write; the first is 3",
    )
