"""Exported ledgers whose lines were changed, with a last line that fits: events that do not follow are refused."""

import io
import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec import DecodeError

from outlay import Campaign, __version__
from outlay.campaign import campaigns, import_ledger, verify
from outlay.campaign.ledger.events import NOTHING, from_json, link, to_json
from outlay.errors import BadFile, StoreError
from tests.campaign.busy import Lines, forged, sql


def event(number: int, **fields: Any) -> Callable[[Lines], None]:
    return lambda lines: lines[number]["event"].update(fields)


def first(kind: str, **fields: Any) -> Callable[[Lines], None]:
    def change(lines: Lines) -> None:
        next(line for line in lines[1:] if line["event"]["kind"] == kind)["event"].update(fields)

    return change


def again(number: int) -> Callable[[Lines], None]:
    return lambda lines: lines.append({**lines[number], "seq": len(lines), "at": lines[-1]["at"]})


def paused_again(lines: Lines) -> None:
    lines += [{"seq": len(lines) + i, "at": lines[-1]["at"], "event": {"kind": "paused"}} for i in range(2)]


def much_later(lines: Lines) -> None:
    lines.append({"seq": len(lines), "at": lines[-1]["at"] + 10**13, "event": {"kind": "paused"}})


def for_nothing(lines: Lines) -> None:
    del lines[2:]
    lines.append({"seq": 2, "at": lines[-1]["at"], "event": {"kind": "exhausted"}})


def long_ago(lines: Lines) -> None:
    """Another version may have chosen otherwise, and yet."""
    del lines[5:]
    lines[3]["event"]["policy"] = "BTS@0.0.1"
    lines[4]["event"]["pull"] = 77


def too_rich(lines: Lines) -> None:
    del lines[2:]
    lines[1]["event"]["budget"] = 2**63


FORGERIES: list[tuple[Callable[[Lines], object], str]] = [
    (lambda lines: lines[0].update(format=2), r"it was written by a newer outlay \(\d+\.\d+\.\d+\): upgrade outlay"),
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
    (event(1, budget=0), r"\(opened\) cannot be folded"),
    (again(1), r"\(opened\) is out of place: the first event opens a campaign, and no other"),
    (again(3), r"\(asked\) could not happen: pull 3, of key 'k0', is over \(told\)"),
    (again(4), r"\(told\) changes nothing"),
    (first("told", cost=-5), "decision|rules say"),
    (first("told", pull=77), r"could not happen: campaign 'default' has no pull 77"),
    (first("told", arm=0), r"\(told\) has arm 0, and the rules say 1"),
    (first("asked", reserved=1), r"\(asked\) has reserved 1, and the rules say 500000000"),
    (first("asked", arm=9), r"\(asked\) could not happen: its arm is disabled, or costs more than is left"),
    (first("asked", arm=-1), r"\(asked\) could not happen: its arm is disabled"),
    (first("disabled", arm=9), r"\(disabled\) cannot be folded"),
    (first("expired", charged=1), r"\(expired\) has charged 1, and the rules say"),
    (paused_again, r"\(paused\) changes nothing"),
    (much_later, r"\(paused\) comes where the rules say expired"),
    (long_ago, r"\(told\) could not happen: campaign 'default' has no pull 77"),
    (too_rich, r"budget in units of Campaign must be a whole number .*; got 9223372036854775808"),
    (for_nothing, r"\(exhausted\) comes where the rules say asked"),
    (first("warmed", costs=[1e15, 1.0]), r"\(warmed\) cannot be folded"),
    (lambda lines: lines[1]["event"]["terms"].update(unit="none"), r"\(opened\) cannot be folded: .*unit of Campaign"),
]


def opened(**fields: Any) -> Callable[[Lines], None]:
    """Nothing but an opening, with other terms."""

    def change(lines: Lines) -> None:
        del lines[2:]
        event = lines[1]["event"]
        for field, value in fields.items():
            (event if field in ("name", "arms", "budget") else event["terms"])[field] = value
        with suppress(DecodeError):  # as outlay would write it
            lines[1]["event"] = json.loads(to_json(from_json(json.dumps(event))))

    return change


def under_another_flag(lines: Lines) -> None:
    """Twice the budget is set aside, by a version that nobody knows."""
    del lines[3:]
    expires = lines[2]["at"] + 3600 * 10**6
    asked = {"kind": "asked", "arm": 1, "reserved": 0, "policy": "BTS@9.9.9", "expires": expires}
    lines.append({"seq": 3, "at": lines[2]["at"], "event": asked})


def deep(depth: int) -> Any:
    nested: Any = 1
    for _ in range(depth):
        nested = [nested]
    return nested


CANNOT_BE = r"\(opened\) cannot be folded: .*"
FORGED_TERMS: list[tuple[Callable[[Lines], object], str]] = [
    (opened(mode="hard", expiry="release"), CANNOT_BE + 'expiry of Campaign must be "charge" in hard mode'),
    (opened(budget=-5), CANNOT_BE + "budget in units of Campaign must be a whole number"),
    (opened(arms=[{"name": "a"}, {"name": "a"}]), CANNOT_BE + "arms of Campaign must be different names"),
    (opened(arms=[{"name": "\x1b[31mred"}]), CANNOT_BE + "arm of Campaign must be 1 to 200 printable characters"),
    (opened(unit="1e-9 "), CANNOT_BE + "unit of Campaign must be written as a decimal number in its shortest form"),
    (opened(version="\x07"), CANNOT_BE + "version of Campaign"),
    (opened(policy={"name": "BTS"}), CANNOT_BE + "policy of Campaign must be a name and parameters"),
    (opened(policy={"name": "BTS", "parameters": {"wrong": 1}}), CANNOT_BE + "unexpected keyword"),
    (opened(policy={"name": "Mine", "parameters": {"x": deep(50)}}), CANNOT_BE + "policy of Campaign"),
    (first("added", arm={"name": "\x1b[31mred"}), r"\(added\) .*arm of add_arm must be 1 to 200 printable"),
    (first("added", arm={"name": "new", "max_cost": -3}), r"\(added\) .*max_cost in units of add_arm"),
    (first("budgeted", budget=-3), r"\(budgeted\) .*budget in units of set_budget must be"),
    (first("cancelled", reason="\x1b[31mred"), r"\(cancelled\) .*reason of Cancelled must be at most 300 printable"),
    (first("asked", key="k" * 301), r"\(asked\) .*key of Asked must be at most 300 printable"),
    (first("told", cost=2**60), r"\(told\) .*cost in units of Told must be"),
    (under_another_flag, r"event 3 \(asked\) has reserved 0, and the rules say 500000000"),
]


@pytest.mark.parametrize(("change", "reason"), FORGERIES + FORGED_TERMS)
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
    assert verdict.notes == (f"1 choices of outlay 0.0.1 are not those of {__version__}; the first is event 3",)


def test_lines_are_read_no_further_than_any_line_can_be(content: bytes, store: str) -> None:
    """A file may be a line without an end: not all of it is taken into memory."""
    header = content.splitlines(keepends=True)[0]

    class Endless(io.RawIOBase):
        taken = 0

        def __init__(self, start: bytes) -> None:
            self.rest = start

        def readline(self, size: int | None = -1, /) -> bytes:
            assert size is not None
            assert size > 0
            self.taken = max(self.taken, size)
            line, self.rest = self.rest, b""
            return line or b" " * size

    for start, line, most in ((b"", 1, 10**5), (header, 2, 10**8)):
        file = Endless(start)
        with pytest.raises(BadFile, match=f"line {line} is longer than any line of a ledger|this is no ledger"):
            import_ledger(store, file)  # type: ignore[arg-type]
        assert file.taken <= most


def test_a_campaign_on_forged_terms_is_neither_opened_nor_verified(tmp_path: Path) -> None:
    """Whoever can write to the database can make every hash fit; what cannot be agreed to cannot be run."""
    store = f"sqlite:///{tmp_path}/spend.db"
    Campaign({"a": 5}, 120, "RoundRobin", store, mode="hard", unit="1").disconnect()
    ((at, body),) = sql(tmp_path / "spend.db", "SELECT at, body FROM event")
    terms = to_json(from_json(body.replace('"mode":"hard"', '"mode":"hard","expiry":"release"')))
    sql(tmp_path / "spend.db", "UPDATE event SET body = ?", terms)
    sql(tmp_path / "spend.db", "UPDATE campaign SET head = ?", link(NOTHING, 1, at, terms))
    reason = "stands on terms that cannot be: expiry of Campaign must be .charge. in hard mode"
    with pytest.raises(StoreError, match=reason):
        Campaign.open(store)
    with pytest.raises(StoreError, match=reason):
        Campaign({"a": 5}, 120, "RoundRobin", store, mode="hard", unit="1")
    assert re.search(
        r"event 1 \(opened\) .*expiry of Campaign must be .charge. in hard mode", verify(store).problems[0]
    )


def test_parameters_in_parameters_without_end(content: bytes, store: str) -> None:
    header, opening, *_ = content.splitlines(keepends=True)
    nested = opening.replace(b'"parameters":{', b'"parameters":{"x":' + b"[" * 10**5 + b"]" * 10**5 + b",", 1)
    assert nested != opening
    with pytest.raises(BadFile, match="line 2 is no event"):
        import_ledger(store, io.BytesIO(header + nested))
