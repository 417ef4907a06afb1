"""`outlay campaign`: JSON in, JSON out, an exit code for each thing that can happen, and one line for what is wrong."""

import csv
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.campaign_runs import NEW, Run, events, line, lines, misused, refused

from outlay import Campaign
from outlay.campaign import verify


def test_from_beginning_to_end(outlay: Run) -> None:
    status = line(outlay("new", "--arm", "small", "--arm", "large=0.5", "--budget", "1"))
    assert list(status) == [
        *("name", "phase", "ended", "budget", "spent", "reserved", "left", "reward", "pulls", "in_flight"),
        *("events", "policy", "mode", "unit", "exact", "requests", "used", "expected", "outlook"),
        *("window", "fallback", "outside", "archived", "awaited", "overdue", "currency"),
        "arms",
    ]
    nothing, all_of_it = "0.000000000", "1.000000000"
    assert status["exact"] == {"budget": all_of_it, "spent": nothing, "reserved": nothing, "left": all_of_it}
    assert [(arm["name"], arm["max_cost"]) for arm in status["arms"]] == [("small", None), ("large", 0.5)]
    assert line(outlay("new", "--arm", "small", "--arm", "large=0.5", "--budget", "1")) == status
    pull = line(outlay("ask"))
    assert list(pull) == ["id", "arm", "reserved", "expires", "propensity", "status", "fallback"]
    assert pull["expires"].endswith("+00:00")
    receipt = line(outlay("tell", pull["id"], "--cost", "0.1", "--reward", "1"))
    assert len(receipt.pop("head")) == 64
    flags = dict.fromkeys(("duplicate", "late", "overrun", "rounded"), False)
    assert receipt == {"pull": 2, "arm": pull["arm"], "cost": 0.1, "reward": 1.0, **flags}
    assert line(outlay("tell", pull["id"], "--cost", "0.1", "--reward", "1"))["duplicate"]
    pulls = lines(outlay("ask", "--n", "2", "--key", "job"))
    assert lines(outlay("ask", "--n", "2", "--key", "job")) == pulls
    one = line(outlay("ask", "--key", "single", "--ttl", "60"))
    assert line(outlay("ask", "--key", "single", "--ttl", "60")) == one
    outlay("cancel", one["id"])
    told = "\n".join(json.dumps({**pull, "cost": 0.5, "reward": 0.25}) for pull in pulls) + "\n\n"
    assert [receipt["cost"] for receipt in lines(outlay("tell", "-", stdin=told))] == [0.5, 0.5]
    status = line(outlay("status"))
    assert (status["phase"], status["spent"], status["pulls"]) == ("closed", 1.1, 3)
    for arguments in (["ask"], ["ask", "--n", "3"]):
        assert line(outlay(*arguments), code=3) is None
    verdict = line(outlay("verify"))
    assert (verdict["events"], verdict["pulls"], verdict["problems"]) == (status["events"], 4, [])
    assert line(outlay("verify", "--expected-head", verdict["head"])) == verdict
    rewritten = line(outlay("verify", "--expected-head", "0" * 64), code=1)
    assert rewritten["problems"][0].startswith(f"no event has the hash {'0' * 64}")


def test_all_terms(outlay: Run) -> None:
    line(
        outlay(
            *("new", "--name", "all", "--store", "sqlite:///x.db", "--arm", "a=1", "--arm", "b=c=", "--budget", "9.25"),
            *("--policy", "UCBB2", "--param", "cost_bound=1", "--param", "reward_bound=2.5", "--mode", "hard"),
            *("--unit", "0.01", "--ttl", "never", "--seed", "7", "--expiry", "charge", "--reservation", "0.5"),
            *("--default-reward", "0.125", "--max-in-flight", "3", "--propensity-draws", "5", "--no-refunds"),
            *("--first-pulls", "2", "--window", "day", "--timezone", "America/New_York"),
        )
    )
    assert not Path("outlay.db").exists()
    first = lines(outlay("history", "--name", "all", "--store", "sqlite:///x.db"))[0]["more"]
    assert first["arms"] == [{"name": "a", "max_cost": 1.0}, {"name": "b=c"}]
    terms = first["terms"]
    assert terms.pop("version")
    assert terms.pop("policy")["parameters"]["reward_bound"] == 2.5
    assert (first["budget"], terms) == (
        9.25,
        {
            "unit": "0.01",
            "mode": "hard",
            "seed": 7,
            "reservation": 0.5,
            "default_reward": 0.125,
            "max_in_flight": 3,
            "negative_costs": False,
            "propensity_draws": 5,
            "first_pulls": 2,
            "window": "day",
            "timezone": "America/New_York",
        },
    )
    word = outlay("new", "--arm", "a", "--budget", "1", "--policy", "KLRate", "--param", "schedule=half")
    assert line(word)["policy"] == "KLRate"


def test_money_is_decimal(outlay: Run) -> None:
    """No cost passes through a binary fraction."""
    outlay("new", "--arm", "a", "--budget", "50000000", "--unit", "1e-8", "--ttl", "never", "--first-pulls", "2")
    outlay("ask", "--n", "2")
    assert line(outlay("tell", 2, "--cost", "12345678.000000015", "--reward", "0"))["rounded"]
    line(outlay("tell", "-", stdin='{"pull": 3, "cost": 12345678.000000025, "reward": 0}'))
    connection = sqlite3.connect("outlay.db")
    assert connection.execute("SELECT cost FROM pull ORDER BY number").fetchall() == [
        (1234567800000002,),
        (1234567800000003,),
    ]
    connection.close()


def test_not_now(outlay: Run) -> None:
    outlay("new", "--arm", "a", "--budget", "5", "--max-in-flight", "1")
    outlay("ask")
    for arguments in (["ask"], ["ask", "--n", "2"]):
        result = outlay(*arguments)
        assert line(result, code=4) == {"retry_after": 1.0}
        assert result.stderr == "outlay: 1 pulls are under way, and max_in_flight is 1: ask again in 1 s\n"


def test_the_small_verbs(outlay: Run) -> None:
    outlay("new", "--arm", "a", "--arm", "b", "--budget", "5", "--first-pulls", "2")
    pulls = lines(outlay("ask", "--n", "4"))
    assert line(outlay("cancel", pulls[0]["id"], "--reason", "cancelled"))["in_flight"] == 3
    assert line(outlay("extend", pulls[1]["id"], "--ttl", "7200"))["in_flight"] == 3
    outlay("tell", pulls[2]["id"], "--cost", "1", "--reward", "1")
    assert line(outlay("amend", pulls[2]["id"], "--cost", "1.5", "--reward", "2", "--reason", "x"))["spent"] == 1.5
    assert line(outlay("budget", "8.5"))["budget"] == 8.5
    assert line(outlay("arm", "add", "c", "--max-cost", "0.25"))["arms"][2]["max_cost"] == 0.25
    assert not line(outlay("arm", "disable", "c"))["arms"][2]["enabled"]
    assert line(outlay("arm", "enable", "c"))["arms"][2]["enabled"]
    assert line(outlay("pause"))["phase"] == "paused"
    assert outlay("ask").exit_code == 4
    assert line(outlay("resume"))["phase"] == "open"
    assert line(outlay("close"))["phase"] == "draining"
    kinds = [entry["kind"] for entry in lines(outlay("history", "--after", "5"))]
    assert kinds == [
        *("cancelled", "extended", "told", "amended", "budgeted", "added", "disabled", "enabled"),
        *("paused", "resumed", "closed"),
    ]
    assert line(outlay("verify"))["problems"] == []


def test_history_as_a_table(outlay: Run) -> None:
    outlay("new", "--arm", "+a,b", "--budget", "5")
    outlay("ask")
    outlay("tell", "2", "--cost", "0.5", "--reward", "1")
    result = outlay("history", "--format", "csv")
    assert result.exit_code == 0
    opened, *rows = csv.DictReader(io.StringIO(result.stdout))
    assert json.loads(opened["more"])["terms"]["ttl"] == 3600.0
    assert list(rows[0]) == ["seq", "at", "kind", "pull", "arm", "cost", "reward", "more"]
    assert [(row["kind"], row["pull"], row["arm"], row["cost"]) for row in rows] == [
        ("asked", "2", "'+a,b", ""),  # no formula to a spreadsheet
        ("told", "2", "'+a,b", "0.5"),
    ]
    assert json.loads(rows[0]["more"])["reserved"] == 0.0


def test_warm(outlay: Run) -> None:
    outlay("new", "--arm", "a", "--arm", "b", "--budget", "5")
    Path("log.csv").write_text("\ufeffday,cost,arm,reward\nmonday,0.5,a,1\ntuesday,1e-1,b,-0.5\n", encoding="utf-8")
    first = line(outlay("warm", "log.csv"))
    assert first["samples"] == 2
    assert line(outlay("warm", "log.csv")) == first | {"samples": 0}
    assert line(outlay("status"))["events"] == 2, "the same log is learned once"
    text = '{"arm": "a", "cost": 0.25, "reward": 1, "day": "friday"}\n\n{"arm": "b", "cost": 2, "reward": 0}\n'
    assert line(outlay("warm", "-", "--key", "june", stdin=text)) == {"samples": 2, "key": "june"}
    text = '{"arm": "a", "cost": 1, "reward": 1, "note": "two\u2028lines"}\n'
    assert line(outlay("warm", "-", "--key", "july", stdin=text)) == {"samples": 1, "key": "july"}
    text = 'arm,cost,reward,note\r\na,1,1,"two\r\nlines"\r\n'
    assert line(outlay("warm", "-", "--key", "may", stdin=text)) == {"samples": 1, "key": "may"}
    more = lines(outlay("history", "--after", "2"))[0]["more"]
    assert (more["arms"], more["costs"], more["rewards"]) == ([0, 1], [0.25, 2.0], [1.0, 0.0])


def test_ledgers_travel(outlay: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    outlay(*NEW)
    outlay("ask", "--n", "2")
    assert line(outlay("export", "ledger.ndjson")) == {"wrote": "ledger.ndjson", "events": 3}
    piped = outlay("export", "-")
    assert piped.stdout_bytes == Path("ledger.ndjson").read_bytes()
    assert line(outlay("import", "ledger.ndjson", "--name", "second"))["name"] == "second"
    assert line(outlay("import", "-", "--store", "sqlite:///b.db", stdin=piped.stdout_bytes))["name"] == "default"
    assert [status["name"] for status in lines(outlay("list"))] == ["default", "second"]
    monkeypatch.setenv("OUTLAY_STORE", "sqlite:///b.db")
    assert [status["name"] for status in lines(outlay("list"))] == ["default"]
    monkeypatch.delenv("OUTLAY_STORE")
    assert line(outlay("backup", "copy.db")) == {"wrote": "copy.db"}
    assert [status["in_flight"] for status in lines(outlay("list", "--store", "sqlite:///copy.db"))] == [2, 2]
    assert "has a campaign 'default' already" in refused(outlay("import", "ledger.ndjson"), 1)


def test_verify_tells_a_script(outlay: Run) -> None:
    outlay(*NEW)
    connection = sqlite3.connect("outlay.db")
    with connection:
        connection.execute("UPDATE campaign SET spent = 1")
    connection.close()
    verdict = line(outlay("verify"), code=1)
    assert verdict["problems"] == ["the campaign's row: spent is 1, and the events come to 0"]


def test_pulls_with_their_notes(outlay: Run) -> None:
    outlay("new", "--arm", "a=1", "--budget", "50")
    first = line(outlay("ask", "--tag", "nightly", "--tag", "eu", "--metadata", '{"user": 17}', "--key", "job"))
    lines(outlay("ask", "--n", "2", "--tag", "nightly"))
    assert [pull["tags"] for pull in lines(outlay("pulls"))] == [["nightly", "eu"], ["nightly"], ["nightly"]]
    assert line(outlay("pulls", "--tag", "eu"))["metadata"] == {"user": 17}
    assert line(outlay("pulls", "--key", "job"))["id"] == first["id"]
    assert line(outlay("charge", first["id"]))["spent"] == 1
    assert [pull["id"] for pull in lines(outlay("pulls", "--status", "expired"))] == [first["id"]]
    assert len(lines(outlay("pulls", "--status", "open", "--after", "3", "--limit", "1"))) == 1
    assert lines(outlay("pulls", "--tag", "none")) == []
    assert "--metadata must be a JSON object; got '{'" in misused(outlay("ask", "--metadata", "{"))
    assert "metadata of ask must be a JSON object" in outlay("ask", "--metadata", "[1]").stderr


HARD = ("new", "--arm", "small=0.5", "--arm", "large=2", "--budget", "2", "--mode", "hard")


def test_a_fallback_and_the_archive(outlay: Run) -> None:
    outlay(*HARD, "--fallback", "small")
    pulls = []
    for _ in range(6):
        pulls.append(line(outlay("ask")))
        outlay("tell", pulls[-1]["id"], "--cost", pulls[-1]["reserved"], "--reward", "1")
    assert pulls[-1]["fallback"]
    status = line(outlay("archive"))
    assert (status["archived"], status["fallback"]) == (True, "small")
    assert status["outside"] > 0
    assert lines(outlay("list")) == []
    assert [each["name"] for each in lines(outlay("list", "--archived"))] == ["default"]
    assert outlay("ask").exit_code == 3
    assert line(outlay("restore"))["phase"] == "fallback"
    assert line(outlay("verify"))["problems"] == []


PAGE = Path(__file__).parents[2] / "docs" / "campaigns.md"
# Stand-ins for programs that need not be installed: `outlay` of this interpreter, and as much of jq as the page uses.
STAND_INS = r"""
outlay() { "$PYTHON" -W error -c 'from outlay.cli import main; main()' "$@"; }
jq() { local field=${@: -1}; sed -E 's/.*"'"${field#.}"'": "?([^",}]*).*/\1/'; }
"""


@pytest.mark.soak  # every line of it starts a process
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_the_script_of_the_guide(tmp_path: Path) -> None:
    """A whole campaign from a shell, whose one pull costs 4 of 3, twice its maximum."""
    (script,) = re.findall(r"^```bash\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)
    (tmp_path / "try").write_text("#!/bin/sh\necho $1 >> used\necho 4 0.5\n")
    (tmp_path / "try").chmod(0o755)
    env = {**os.environ, "PYTHON": sys.executable}
    command = ["bash", "-u", "-c", STAND_INS + script]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    printed = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["pull"], line["arm"], line["cost"], line["overrun"]) for line in printed[1:]] == [
        (2, "large", 4.0, True)
    ]
    assert (tmp_path / "used").read_text().split() == ["large"]
    store = f"sqlite:///{tmp_path}/spend.db"
    assert verify(store).ok
    with Campaign.open(store) as campaign:
        status = campaign.status()
    assert (status.phase, status.ended, status.spent) == ("closed", "exhausted", 4.0)


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        ("arm,cost\na,1\n", "log must have columns arm, cost, reward, or be lines of JSON"),
        ("arm,cost,reward\na,1,1\na,much,1\n", "log, line 3: its cost is no number"),
        ("arm,cost,reward\na,1,lots\n", "log, line 2: could not convert string to float: 'lots'"),
        (
            '{"arm": "a", "cost": 1, "reward": 1}\n{"arm": "a"}\n',
            "log, line 2: it must be a JSON object with arm, cost",
        ),
        ('{"arm": "a", \n', "log, line 1: it is no JSON"),
        (b"arm,cost,reward\n\xff,1,1\n", "log is not UTF-8"),
        ("arm,cost,reward,note\na,1,1," + "x" * 200_000, "log, line 2: field larger than field limit"),
    ],
)
def test_logs_that_are_none(outlay: Run, begun: Path, log: str | bytes, reason: str) -> None:
    shutil.copy(begun, "outlay.db")
    Path("log").write_bytes(log if isinstance(log, bytes) else log.encode())
    assert reason in refused(outlay("warm", "log"), 2 if "warm_start" in reason else 1)
    assert events() == 2


def test_lines_that_are_refused_do_not_stop_the_others(outlay: Run) -> None:
    outlay("new", "--arm", "a", "--budget", "50", "--first-pulls", "3")
    outlay("ask", "--n", "3")
    good = '{"pull": 2, "cost": 1, "reward": 1}\n'
    result = outlay("tell", "-", stdin=good + '{"pull": 2, "cost": 2, "reward": 1}\n' + good.replace("2", "3"))
    assert [receipt["pull"] for receipt in lines(result, code=1)] == [2, 3]
    assert result.stderr.startswith("outlay: line 2: pull 2 was told with cost 1 and reward 1, which stands")
    wrong = [
        ("nonsense", "it is no JSON"),
        ('{"pull": 4}', "it must be a JSON object with cost"),
        ('{"pull": 4, "cost": NaN, "reward": 1}', "NaN is not a finite number"),
        ('{"pull": 4, "cost": "1", "reward": 1}', "cost of tell must be a finite number; got '1'"),
        ('{"pull": null, "cost": 1, "reward": 1}', "pull of tell must be a Pull, as ask returns it, its number or"),
        ("[" * 100_000, "it is nested too deeply"),
        ('{"pull": "\udcff"}', "'utf-8' codec can't decode byte 0xff"),
    ]
    result = outlay("tell", "-", stdin="\n".join(text for text, _ in wrong).encode(errors="surrogateescape"))
    assert lines(result, code=2) == []
    for number, (said, (_, reason)) in enumerate(zip(result.stderr.splitlines(), wrong, strict=True), 1):
        assert said.startswith(f"outlay: line {number}: {reason}")
    unknown = outlay("tell", "-", stdin='{"pull": 99, "cost": 1, "reward": 1}')
    assert refused(unknown, 1) == "outlay: line 1: campaign 'default' has no pull 99"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("new", "--budget", "5"), "Missing option '--arm'"),
        (("new", "--arm", "a", "--budget", "much"), "'much' is not a finite decimal number"),
        (("new", "--arm", "a", "--arm", "a=1", "--budget", "1"), "two arms have the same name"),
        ((*NEW, "--policy", "UCBB2", "--param", "alpha"), "--param must be KEY=JSON; got 'alpha'"),
        ((*NEW, "--ttl", "soon"), "--ttl must be seconds, or a time such as"),
        ((*NEW, "--missing-reward", "0.5"), "--missing-reward must be given with reward_within"),
        ((*NEW, "--missing-reward", "none"), "'none' is neither a number nor `unknown`"),
        (("ask", "--most", "a=1", "--most", "a=2"), "--most must be AMOUNT, or NAME=AMOUNT of each arm once"),
        (("ask", "--n", "2", "--wait", "1"), "--wait is for a single pull"),
        (("tell", "2", "--reward", "1"), "give PULL with --cost"),
        (("expect", "-x", "-3"), "No such option '-x'"),
        (("spend",), "No such command 'spend'"),
    ],
)
def test_wrong_use(outlay: Run, begun: Path, arguments: tuple[str, ...], reason: str) -> None:
    shutil.copy(begun, "outlay.db")
    assert reason in " ".join(misused(outlay(*arguments)).split())
    assert events() == 2


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (("new", "--arm", "a", "--budget", "5"), 1, "is there already, with other arms: 'b' is not among those given"),
        ((*NEW[:-1], "0", "--name", "x"), 2, "--budget must be at least one unit of 1E-9; got Decimal('0')"),
        ((*NEW, "--policy", "UCBB2", "--param", "alpha=3"), 2, "--policy must be given the parameters"),
        ((*NEW, "--store", "sqlite:///no/x.db"), 1, "there is no folder"),
        (("ask", "--store", "sqlite:///none.db"), 1, "none.db: `outlay campaign new` makes one"),
        (("expect", "-3"), 2, "requests of expect_requests must be a whole number ≥ 0 and ≤ 1e+15; got -3"),
        (("tell", "-5", "--cost", "-1", "--reward", "2"), 2, "pull of tell must be a whole number ≥ 1"),
        (("export", "outlay.db"), 1, "cannot write outlay.db: it is there already"),
        (("import", "outlay.db"), 1, "outlay.db: this is no ledger of outlay"),
    ],
)
def test_what_is_refused(outlay: Run, begun: Path, arguments: tuple[str, ...], code: int, reason: str) -> None:
    shutil.copy(begun, "outlay.db")
    assert reason in refused(outlay(*arguments), code)
    assert events() == 2
    assert not Path("none.db").exists()


def test_a_reward_that_comes_later(outlay: Run) -> None:
    outlay("new", "--arm", "a", "--budget", "5", "--reward-within", "1h", "--missing-reward", "0", "--currency", "USD")
    pull = line(outlay("ask", "--key", "request 17", "--most", "a=0.5", "--wait", "0"))
    assert pull["reserved"] == 0.5
    assert line(outlay("tell", pull["id"], "--cost", "0.25"))["reward"] is None
    assert line(outlay("status"))["awaited"] == 1
    assert line(outlay("reward", "request 17", "1"))["reward"] == 1.0
    assert line(outlay("reward", pull["id"], "1"))["duplicate"]
    assert [each["status"] for each in lines(outlay("pulls", "--status", "paid"))] == []
    assert outlay("reward", "nowhere", "1").exit_code == 1


def test_a_campaign_spends_from_its_pool(outlay: Run) -> None:
    outlay("new", "--name", "team", "--arm", "all", "--budget", "1", "--mode", "hard")
    assert outlay("new", "--arm", "a=0.25", "--budget", "5", "--pool", "nowhere").exit_code == 1
    outlay("new", "--arm", "a=0.25", "--budget", "5", "--pool", "team")
    outlay("ask")
    assert line(outlay("status", "--name", "team"))["reserved"] == 0.25


def test_what_is_told_of_a_request(outlay: Run) -> None:
    new = ["new", "--arm", "a", "--arm", "b", "--budget", "9", "--context", "length=number:500"]
    line(outlay(*new, "--context", 'tenant=["u", "v"]', "--context", "depth", "--context", "place=2"))
    said = ["--context", "length=250", "--context", "tenant=v", "--context", "depth=3", "--context", "place=[1, 2]"]
    line(outlay("ask", *said))
    assert line(outlay("pulls"))["context"] == [0.5, 0.0, 1.0, 3.0, 1.0, 2.0]
    assert [(each["category"], each["pulls"]) for each in lines(outlay("segments", "tenant"))] == [("u", 0), ("v", 1)]
    line(outlay("tell", "2", "--cost", "0.5", "--reward", "1"))
    row = next(csv.DictReader(outlay("pulls", "--csv").stdout.splitlines()))
    assert (row["arm"], row["cost"], row["context.tenant"], row["context.place.2"]) == ("a", "0.5", "v", "2.0")
    assert "--csv prints all" in misused(outlay("pulls", "--csv", "--limit", "1"))
    found = line(outlay("shadow", "LinearRation", "--param", "alpha=0.5"))
    assert (found["other"], found["requests"], found["same"], found["gain"]["value"]) == ("LinearRation", 1, 1, 0.0)
    assert line(outlay("shadow"))["other"] == "LinearRation"
    assert "needs a POLICY" in misused(outlay("shadow", "--param", "alpha=0.5"))
    assert "features" in refused(outlay("shadow", "LinearRation", "--param", "features=2"), code=2)
    assert "tenant" in refused(outlay("ask", *said[:2]), code=2)
    assert "each name once" in misused(outlay("ask", *said, "--context", "depth=4"))
    assert "NAME=VALUE" in misused(outlay("ask", "--context", "depth"))
    line(outlay(*new[:-2], "--context", 'year=["1", "2"]', "--context", "zip=hashed:2", "--name", "words"))
    line(outlay("ask", "--name", "words", "--context", "year=2", "--context", "zip=10115"))
    assert line(outlay("pulls", "--name", "words"))["context"][:2] == [0.0, 1.0]
    line(outlay(*new[:-2], "--context", "2", "--name", "vectors"))
    assert line(outlay("ask", "--name", "vectors", "--context", "[1, 2.5]"))["arm"] == "a"
