"""Ledgers that travel: export, import, backup; what is not whole is refused, and nothing of it is kept."""

import hashlib
import io
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outlay import Campaign, __version__
from outlay.campaign import backup, campaigns, export_ledger, import_ledger, transfer, verify
from outlay.errors import BadFile, BadParameter, CampaignConflict, OutlayError, StoreError
from tests.campaign.test_verify import busy

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    store = f"sqlite:///{tmp_path_factory.mktemp('source')}/spend.db"
    busy(store)
    return store


@pytest.fixture(scope="module")
def content(source: str) -> bytes:
    file = io.BytesIO()
    export_ledger(source, file)
    return file.getvalue()


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/new.db"


def exported(store: str, name: str = "default") -> bytes:
    file = io.BytesIO()
    export_ledger(store, file, name)
    return file.getvalue()


def forged(content: bytes, change: Callable[[Lines], object]) -> io.BytesIO:
    """The file with its lines changed, and its last line put right."""
    lines = [json.loads(line) for line in content.splitlines()[:-1]]
    change(lines)
    text = b"".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode() + b"\n" for line in lines)
    end = {"events": len(lines) - 1, "sha256": hashlib.sha256(text).hexdigest()}
    return io.BytesIO(text + json.dumps(end, separators=(",", ":")).encode() + b"\n")


def test_the_format(content: bytes) -> None:
    lines = content.splitlines(keepends=True)
    assert json.loads(lines[0]) == {"outlay": "ledger", "format": 1, "version": __version__, "campaign": "default"}
    assert [json.loads(line)["seq"] for line in lines[1:-1]] == list(range(1, len(lines) - 1))
    assert json.loads(lines[-1]) == {
        "events": len(lines) - 2,
        "sha256": hashlib.sha256(b"".join(lines[:-1])).hexdigest(),
    }
    assert forged(content, lambda lines: None).getvalue() == content


@pytest.mark.parametrize("size", [1, 7, 2000])
def test_there_and_back(content: bytes, store: str, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(transfer, "CHUNK", size)
    verdict = import_ledger(store, io.BytesIO(content))
    assert (verdict.ok, verdict.choices_checked) == (True, True)
    assert exported(store) == content


def test_by_way_of_another_database(content: bytes, store: str, postgres_url: str) -> None:
    assert import_ledger(postgres_url, io.BytesIO(content)).ok
    there = exported(postgres_url)
    assert there == content
    assert import_ledger(store, io.BytesIO(there), "again").ok
    assert verify(store, "again").ok


def test_under_another_name(content: bytes, store: str) -> None:
    assert import_ledger(store, io.BytesIO(content), "another").name == "another"
    assert import_ledger(store, io.BytesIO(content)).name == "default"
    assert [status.name for status in campaigns(store)] == ["another", "default"]
    one, other = (exported(store, name).splitlines() for name in ("default", "another"))
    assert other[2:-1] == one[2:-1]
    assert other[0] == one[0].replace(b"default", b"another")
    assert json.loads(other[1])["event"] == {**json.loads(one[1])["event"], "name": "another"}
    with Campaign.open(store, "another") as campaign:
        assert campaign.name == campaign.status().name == "another"


def test_a_campaign_goes_on_where_it_was(tmp_path: Path, store: str) -> None:
    old = f"sqlite:///{tmp_path}/old.db"
    with Campaign(["a", "b"], 10, store=old) as here:
        pull = here.ask("k")
        assert pull is not None
        export_ledger(old, tmp_path / "ledger.ndjson")
        import_ledger(store, tmp_path / "ledger.ndjson")
        with Campaign(["a", "b"], 10, store=store) as there:
            assert there.ask("k") == pull
            assert there.status() == here.status()
            assert there.tell(pull, 1, 1) == here.tell(pull, 1, 1)
            following, again = here.ask(), there.ask()
            assert following is not None
            assert again is not None
            assert (again.decision, again.arm) == (following.decision, following.arm)


def test_a_name_that_is_taken(content: bytes, store: str) -> None:
    import_ledger(store, io.BytesIO(content))
    with pytest.raises(CampaignConflict, match=r"new\.db has a campaign 'default' already"):
        import_ledger(store, io.BytesIO(content))
    assert verify(store).ok


def test_a_file_that_was_cut_at_any_byte(content: bytes, store: str) -> None:
    short = b"".join(content.splitlines(keepends=True)[:4])
    whole = forged(short + b"\n", lambda lines: None).getvalue()
    with pytest.raises(BadFile, match=r"it was cut|this is no ledger"):
        import_ledger(store, io.BytesIO(b""))
    for end in [*range(0, len(whole), 7), len(whole) - 1]:
        with pytest.raises(BadFile, match=r"^the file: (it was cut|this is no ledger)"):
            import_ledger(store, io.BytesIO(whole[:end]))
    for lines in range(1, len(content.splitlines())):
        with pytest.raises(BadFile, match="it was cut: its last line is missing"):
            import_ledger(store, io.BytesIO(b"".join(content.splitlines(keepends=True)[:lines])))
    assert campaigns(store) == []
    assert import_ledger(store, io.BytesIO(whole)).events == 3


def test_a_file_that_is_damaged(content: bytes, store: str) -> None:
    for place in range(0, len(content), 97):
        broken = bytearray(content)
        broken[place] ^= 1
        with pytest.raises(BadFile):
            import_ledger(store, io.BytesIO(bytes(broken)))
    lines = content.splitlines(keepends=True)
    swapped = [*lines[:5], lines[6], lines[5], *lines[7:]]
    for other in (lines[:5] + lines[6:], swapped, [*lines, lines[-1]], [*lines, b"\n"], lines[1:]):
        with pytest.raises(BadFile):
            import_ledger(store, io.BytesIO(b"".join(other)))
    assert campaigns(store) == []


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


def test_files(source: str, content: bytes, store: str, tmp_path: Path) -> None:
    path = tmp_path / "ledger.ndjson"
    assert export_ledger(source, path) == len(content.splitlines()) - 2
    assert path.read_bytes() == content
    with pytest.raises(BadFile, match=r"cannot write .*ledger\.ndjson: it is there already"):
        export_ledger(source, str(path))
    for where, reason in ((tmp_path / "no" / "x", "there is no folder"), (tmp_path, "it is there already")):
        with pytest.raises(BadFile, match=reason):
            export_ledger(source, where)
    with pytest.raises(BadParameter, match="path of export_ledger must be a path"):
        export_ledger(source, 5)  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="has no campaign 'nobody'"):
        export_ledger(source, tmp_path / "nobody", "nobody")
    with pytest.raises(BadFile, match=r"cannot read .*none: No such file"):
        import_ledger(store, tmp_path / "none")
    path.write_bytes(content[:-40])
    with pytest.raises(BadFile, match=r"ledger\.ndjson: it was cut"):
        import_ledger(store, path)
    assert campaigns(store) == []


def test_an_export_that_fails_leaves_nothing(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(transfer, "write", fail)
    with pytest.raises(OSError, match="No space left"):
        export_ledger(source, tmp_path / "ledger.ndjson")
    assert list(tmp_path.iterdir()) == []


def test_backup_while_in_use(tmp_path: Path) -> None:
    store, copy = f"sqlite:///{tmp_path}/a.db", tmp_path / "copy.db"
    with Campaign(["a", "b"], 100, store=store, name="one") as one, Campaign(["a"], 5, store=store, name="two") as two:
        one.ask_many(20)
        two.ask()
        backup(store, copy)
        pull = one.ask()
        assert pull is not None
        assert [status.in_flight for status in campaigns(f"sqlite:///{copy}")] == [20, 1]
        for name in ("one", "two"):
            assert verify(f"sqlite:///{copy}", name).ok
    with Campaign.open(f"sqlite:///{copy}", "one") as there:
        again = there.ask()
        assert again is not None
        assert (again.decision, again.arm) == (pull.decision, pull.arm)
    with pytest.raises(BadFile, match=r"copy\.db: it is there already"):
        backup(store, copy)
    with pytest.raises(StoreError, match="there is no file"):
        backup(f"sqlite:///{tmp_path}/none.db", tmp_path / "b.db")
    assert not (tmp_path / "b.db").exists()


def test_a_backup_that_fails_leaves_nothing(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(transfer.sqlite3, "connect", fail)  # type: ignore[attr-defined]
    with pytest.raises(StoreError, match=r"cannot copy .*spend\.db to .*copy\.db: disk I/O error"):
        backup(source, tmp_path / "copy.db")
    assert list(tmp_path.iterdir()) == []


def test_no_backup_of_a_server(postgres_url: str, tmp_path: Path) -> None:
    Campaign(["a"], 1, store=postgres_url).disconnect()
    with pytest.raises(OutlayError, match="for PostgreSQL use pg_dump, or export each campaign"):
        backup(postgres_url, tmp_path / "x.db")
