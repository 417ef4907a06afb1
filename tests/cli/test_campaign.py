"""`outlay campaign`: JSON in, JSON out, an exit code for each thing that can happen."""

import csv
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from outlay import Campaign
from outlay.campaign import verify
from outlay.cli import commands
from outlay.cli.campaign import campaign as group

Run = Callable[..., Result]


@pytest.fixture
def outlay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `outlay campaign` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OUTLAY_STORE", raising=False)

    def run(*arguments: object, stdin: str | bytes | None = None) -> Result:
        words = ["campaign", *map(str, arguments)]
        return CliRunner().invoke(commands, words, prog_name="outlay", input=stdin)

    return run


def lines(result: Result, code: int = 0) -> list[Any]:
    assert result.exit_code == code, result.output
    if code == 0:
        assert result.stderr == ""
    return [json.loads(line) for line in result.stdout.splitlines()]


def line(result: Result, code: int = 0) -> Any:
    (one,) = lines(result, code)
    return one


def refused(result: Result, code: int) -> str:
    """The one line on stderr."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    (one,) = result.stderr.splitlines()
    assert one.startswith("outlay: ")
    return one


def misused(result: Result) -> str:
    """What click says of a wrong use."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


def test_from_beginning_to_end(outlay: Run) -> None:
    status = line(outlay("new", "--arm", "small", "--arm", "large=0.5", "--budget", "1"))
    assert list(status) == [
        *("name", "phase", "ended", "budget", "spent", "reserved", "left", "reward", "pulls", "in_flight"),
        *("events", "policy", "mode", "unit", "arms"),
    ]
    assert [(arm["name"], arm["max_cost"]) for arm in status["arms"]] == [("small", None), ("large", 0.5)]
    assert line(outlay("new", "--arm", "small", "--arm", "large=0.5", "--budget", "1")) == status
    pull = line(outlay("ask"))
    assert list(pull) == ["decision", "arm", "reserved", "expires", "propensity"]
    assert pull["expires"].endswith("+00:00")
    receipt = line(outlay("tell", pull["decision"], "--cost", "0.1", "--reward", "1"))
    assert receipt == {
        "decision": 2,
        "arm": pull["arm"],
        "cost": 0.1,
        "reward": 1.0,
        "duplicate": False,
        "late": False,
        "overrun": False,
    }
    assert line(outlay("tell", pull["decision"], "--cost", "0.1", "--reward", "1"))["duplicate"]
    pulls = lines(outlay("ask", "--n", "2", "--key", "job"))
    assert lines(outlay("ask", "--n", "2", "--key", "job")) == pulls
    one = line(outlay("ask", "--key", "single", "--ttl", "60"))
    assert line(outlay("ask", "--key", "single", "--ttl", "60")) == one
    outlay("void", one["decision"])
    told = "\n".join(json.dumps({**pull, "cost": 0.5, "reward": 0.25}) for pull in pulls) + "\n\n"
    assert [receipt["cost"] for receipt in lines(outlay("tell", "-", stdin=told))] == [0.5, 0.5]
    status = line(outlay("status"))
    assert (status["phase"], status["spent"], status["pulls"]) == ("closed", 1.1, 3)
    for arguments in (["ask"], ["ask", "--n", "3"]):
        assert line(outlay(*arguments), code=3) is None
    assert line(outlay("verify")) == {
        "name": "default",
        "events": status["events"],
        "decisions": 4,
        "problems": [],
        "notes": [],
        "choices_checked": True,
    }


def test_all_terms(outlay: Run) -> None:
    line(
        outlay(
            *("new", "--name", "all", "--store", "sqlite:///x.db", "--arm", "a=1", "--arm", "b=c=", "--budget", "9.25"),
            *("--policy", "UCBB2", "--param", "cost_bound=1", "--param", "reward_bound=2.5", "--mode", "hard"),
            *("--unit", "0.01", "--ttl", "never", "--seed", "7", "--expiry", "charge", "--reservation", "0.5"),
            *("--default-reward", "0.125", "--max-in-flight", "3", "--propensity-draws", "5", "--no-refunds"),
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
        },
    )
    word = outlay("new", "--arm", "a", "--budget", "1", "--policy", "KLRate", "--param", "schedule=half")
    assert line(word)["policy"] == "KLRate"


def test_money_is_decimal(outlay: Run) -> None:
    """No cost passes through a binary fraction."""
    outlay("new", "--arm", "a", "--budget", "50000000", "--unit", "1e-8", "--ttl", "never")
    outlay("ask", "--n", "2")
    line(outlay("tell", 2, "--cost", "12345678.000000015", "--reward", "0"))
    line(outlay("tell", "-", stdin='{"decision": 3, "cost": 12345678.000000025, "reward": 0}'))
    connection = sqlite3.connect("outlay.db")
    assert connection.execute("SELECT cost FROM decision ORDER BY number").fetchall() == [
        (1234567800000002,),
        (1234567800000002,),
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
    outlay("new", "--arm", "a", "--arm", "b", "--budget", "5")
    pulls = lines(outlay("ask", "--n", "4"))
    assert line(outlay("void", pulls[0]["decision"], "--reason", "cancelled"))["in_flight"] == 3
    assert line(outlay("extend", pulls[1]["decision"], "--ttl", "7200"))["in_flight"] == 3
    outlay("tell", pulls[2]["decision"], "--cost", "1", "--reward", "1")
    assert (
        line(outlay("amend", pulls[2]["decision"], "--cost", "1.5", "--reward", "2", "--reason", "x"))["spent"] == 1.5
    )
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
        *("voided", "extended", "told", "amended", "budgeted", "added", "disabled", "enabled"),
        *("paused", "resumed", "closed"),
    ]
    assert line(outlay("verify"))["problems"] == []


def test_history_as_a_table(outlay: Run) -> None:
    outlay("new", "--arm", "a,b", "--budget", "5")
    outlay("ask")
    outlay("tell", "2", "--cost", "0.5", "--reward", "1")
    result = outlay("history", "--format", "csv")
    assert result.exit_code == 0
    opened, *rows = csv.DictReader(io.StringIO(result.stdout))
    assert json.loads(opened["more"])["terms"]["ttl"] == 3600.0
    assert list(rows[0]) == ["seq", "at", "kind", "decision", "arm", "cost", "reward", "more"]
    assert [(row["kind"], row["decision"], row["arm"], row["cost"]) for row in rows] == [
        ("asked", "2", "a,b", ""),
        ("told", "2", "a,b", "0.5"),
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


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        ("", "log must have columns arm, cost, reward, or be lines of JSON"),
        ("arm,cost\na,1\n", "log must have columns arm, cost, reward, or be lines of JSON"),
        ("arm,cost,reward\na,1,1\na,much,1\n", "log, line 3: its cost is no number"),
        ("arm,cost,reward\na,1,lots\n", "log, line 2: could not convert string to float: 'lots'"),
        ("arm,cost,reward\na,1\n", "log, line 2: could not convert string to float: 'None'"),
        ("arm,cost,reward\na,1,nan\n", "reward of warm_start must be a finite number ≥ -1e+100 and ≤ 1e+100; got nan"),
        ("arm,cost,reward\na,Infinity,1\n", "cost of warm_start must be a finite number; got Decimal('Infinity')"),
        ("arm,cost,reward\nz,1,1\n", "arm of warm_start must be one of a, b; got 'z'"),
        (
            '{"arm": "a", "cost": 1, "reward": 1}\n{"arm": "a"}\n',
            "log, line 2: it must be a JSON object with arm, cost",
        ),
        ('{"arm": "a", "cost": NaN, "reward": 1}\n', "log, line 1: NaN is not a finite number"),
        ('{"arm": "a", \n', "log, line 1: it is no JSON"),
        (b"arm,cost,reward\n\xff,1,1\n", "log is not UTF-8"),
        ("arm,cost,reward,note\na,1,1," + "x" * 200_000, "log, line 2: field larger than field limit"),
        ("x" * 200_000, "log, line 1: field larger than field limit"),
        ('{"arm":' + "[" * 100_000, "log, line 1: it is nested too deeply"),
    ],
)
def test_logs_that_are_none(outlay: Run, begun: Path, log: str | bytes, reason: str) -> None:
    shutil.copy(begun, "outlay.db")
    Path("log").write_bytes(log if isinstance(log, bytes) else log.encode())
    assert reason in refused(outlay("warm", "log"), 2 if "warm_start" in reason else 1)
    assert events() == 2


def test_lines_that_are_refused_do_not_stop_the_others(outlay: Run) -> None:
    outlay("new", "--arm", "a", "--budget", "50")
    outlay("ask", "--n", "3")
    good = '{"decision": 2, "cost": 1, "reward": 1}\n'
    result = outlay("tell", "-", stdin=good + '{"decision": 2, "cost": 2, "reward": 1}\n' + good.replace("2", "3"))
    assert [receipt["decision"] for receipt in lines(result, code=1)] == [2, 3]
    assert result.stderr.startswith("outlay: line 2: decision 2 was told with cost 1 and reward 1, which stands")
    wrong = [
        ("nonsense", "it is no JSON"),
        ("[2, 1, 1]", "it must be a JSON object with decision, cost, reward"),
        ('{"decision": 4}', "it must be a JSON object with decision, cost, reward"),
        ('{"decision": 4, "cost": NaN, "reward": 1}', "NaN is not a finite number"),
        ('{"decision": 4, "cost": "1", "reward": 1}', "cost of tell must be a finite number; got '1'"),
        ('{"decision": 4, "cost": true, "reward": 1}', "cost of tell must be a finite number; got True"),
        ('{"decision": 4, "cost": 1, "reward": null}', "reward of tell must be a finite number; got None"),
        (
            '{"decision": "4", "cost": 1, "reward": 1}',
            "pull of tell must be a Pull, as ask returns it, or the number of a ",
        ),
        ('{"decision": 4, "cost": 1e999, "reward": 1}', "cost of tell must be at most 2**53 units"),
        ('{"decision": 4, "cost": 1, "reward": 1e999}', "reward of tell must be a finite number; got inf"),
        ("[" * 100_000, "it is nested too deeply"),
        ('{"decision": "\udcff"}', "'utf-8' codec can't decode byte 0xff"),
    ]
    result = outlay("tell", "-", stdin="\n".join(text for text, _ in wrong).encode(errors="surrogateescape"))
    assert lines(result, code=2) == []
    for number, (said, (_, reason)) in enumerate(zip(result.stderr.splitlines(), wrong, strict=True), 1):
        assert said.startswith(f"outlay: line {number}: {reason}")
    unknown = outlay("tell", "-", stdin='{"decision": 99, "cost": 1, "reward": 1}')
    assert refused(unknown, 1) == "outlay: line 1: campaign 'default' has no decision 99"


NEW = ("new", "--arm", "a", "--arm", "b", "--budget", "5")


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What NEW and an ask make."""
    path = tmp_path_factory.mktemp("begun") / "outlay.db"
    with Campaign(["a", "b"], 5, store=f"sqlite:///{path}") as campaign:
        campaign.ask()
    return path


def events() -> int:
    """How many there are in the store."""
    connection = sqlite3.connect("outlay.db")
    (count,) = connection.execute("SELECT count(*) FROM event").fetchone()
    connection.close()
    return int(count)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("new", "--budget", "5"), "Missing option '--arm'"),
        (("new", "--arm", "a"), "Missing option '--budget'"),
        (("new", "--arm", "a", "--budget", "much"), "'much' is not a finite decimal number"),
        (("new", "--arm", "a", "--budget", "nan"), "'nan' is not a finite decimal number"),
        (("new", "--arm", "a=lots", "--budget", "1"), "'lots' is not a finite decimal number"),
        (("new", "--arm", "a", "--arm", "a=1", "--budget", "1"), "two arms have the same name"),
        ((*NEW, "--param", "alpha=3"), "--param needs --policy"),
        ((*NEW, "--policy", "UCBB2", "--param", "alpha"), "--param must be KEY=JSON; got 'alpha'"),
        ((*NEW, "--ttl", "soon"), "'soon' is neither a number of seconds nor `never`"),
        ((*NEW, "--mode", "soft"), "'soft' is not one of 'until_exceeded', 'hard'"),
        ((*NEW, "--expiry", "forget"), "'forget' is not one of 'charge', 'release'"),
        (("ask", "--n", "two"), "'two' is not a valid integer"),
        (("tell", "2"), "give DECISION with --cost and --reward, or - and lines of JSON on stdin"),
        (("tell", "2", "--cost", "1"), "give DECISION with --cost and --reward"),
        (("tell", "-", "--cost", "1", "--reward", "1"), "give DECISION with --cost and --reward"),
        (("tell", "two", "--cost", "1", "--reward", "1"), "DECISION must be a number, or - for lines on stdin"),
        (("tell", "2", "--cost", "0x1", "--reward", "1"), "'0x1' is not a finite decimal number"),
        (("amend", "2", "--cost", "1"), "Missing option '--reward'"),
        (("extend", "2"), "Missing option '--ttl'"),
        (("budget",), "Missing argument 'AMOUNT'"),
        (("history", "--format", "xml"), "'xml' is not one of 'json', 'csv'"),
        (("warm", "nowhere.csv"), "No such file"),
        (("arm", "rename", "a"), "No such command 'rename'"),
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
        (("new", "--arm", "a", "--budget", "5"), 1, "campaign 'default' is there already, with other arms: a, b"),
        ((*NEW[:-1], "6"), 1, "campaign 'default' is there already, with other budget"),
        ((*NEW[:-1], "0", "--name", "x"), 2, "budget of Campaign must be at least one unit of 1E-9; got Decimal('0')"),
        ((*NEW, "--policy", "Best"), 2, "policy of Campaign must be one of UCBB1, "),
        ((*NEW, "--policy", "UCBB2", "--param", "alpha=3"), 2, "policy of Campaign must be given the parameters"),
        ((*NEW, "--mode", "hard", "--expiry", "release"), 2, "expiry of Campaign must be"),
        ((*NEW, "--unit", "penny"), 2, "unit of Campaign must be a decimal number"),
        ((*NEW, "--seed", "-1"), 2, "seed of Campaign must be"),
        ((*NEW, "--ttl", "0"), 2, "ttl of Campaign must be > 0"),
        ((*NEW, "--max-in-flight", "0"), 2, "max_in_flight of Campaign must be"),
        ((*NEW, "--name", "a\nb"), 2, "name of Campaign must be 1 to 200 printable characters"),
        ((*NEW, "--store", "mysql://x"), 2, "store of Campaign must be None or sqlite:///FILE or postgresql://"),
        ((*NEW, "--store", "sqlite:///no/x.db"), 1, "there is no folder"),
        (("ask", "--n", "0"), 2, "n of ask_many must be a whole number ≥ 1"),
        (("ask", "--key", ""), 2, "key of ask must be 1 to 200 printable characters"),
        (("ask", "--ttl", "-1"), 2, "ttl of ask must be > 0"),
        (("ask", "--name", "other"), 1, "has no campaign 'other'"),
        (("ask", "--store", "sqlite:///none.db"), 1, "none.db: `outlay campaign new` makes one"),
        (("tell", "99", "--cost", "1", "--reward", "1"), 1, "campaign 'default' has no decision 99"),
        (("tell", "2", "--cost", "1", "--reward", "nan"), 2, "reward of tell must be a finite number; got nan"),
        (("tell", "2", "--cost", "1e30", "--reward", "1"), 2, "cost of tell must be at most 2**53 units"),
        (("tell", "0", "--cost", "1", "--reward", "1"), 2, "pull of tell must be a whole number ≥ 1"),
        (("amend", "2", "--cost", "1", "--reward", "1"), 1, "decision 2 is pending, not told: tell it first"),
        (("void", "99"), 1, "campaign 'default' has no decision 99"),
        (("extend", "2", "--ttl", "0"), 2, "ttl of extend must be > 0"),
        (("budget", "0"), 2, "budget of set_budget must be at least one unit"),
        (("arm", "disable", "z"), 2, "arm of disable_arm must be one of a, b; got 'z'"),
        (("arm", "add", "a", "--max-cost", "1"), 1, "there is an arm 'a' with other terms"),
        (("history", "--after", "-1"), 2, "after of history must be a whole number ≥ 0"),
        (("verify", "--name", "other"), 1, "has no campaign 'other'"),
        (("export", "no/x"), 1, "cannot write no/x: there is no folder no"),
        (("export", "outlay.db"), 1, "cannot write outlay.db: it is there already"),
        (("import", "nowhere"), 1, "cannot read nowhere: No such file or directory"),
        (("import", "outlay.db"), 1, "outlay.db: this is no ledger of outlay"),
        (("backup", "outlay.db"), 1, "cannot write outlay.db: it is there already"),
        (("list", "--store", "sqlite:///none.db"), 1, "none.db: `outlay campaign new` makes one"),
    ],
)
def test_what_is_refused(outlay: Run, begun: Path, arguments: tuple[str, ...], code: int, reason: str) -> None:
    shutil.copy(begun, "outlay.db")
    assert reason in refused(outlay(*arguments), code)
    assert events() == 2
    assert not Path("none.db").exists()


def test_ledgers_travel(outlay: Run) -> None:
    outlay(*NEW)
    outlay("ask", "--n", "5")
    assert line(outlay("export", "ledger.ndjson")) == {"wrote": "ledger.ndjson", "events": 6}
    piped = outlay("export", "-")
    assert piped.stdout_bytes == Path("ledger.ndjson").read_bytes()
    assert line(outlay("import", "ledger.ndjson", "--name", "second"))["name"] == "second"
    assert line(outlay("import", "-", "--store", "sqlite:///b.db", stdin=piped.stdout_bytes))["name"] == "default"
    assert [status["name"] for status in lines(outlay("list"))] == ["default", "second"]
    assert line(outlay("backup", "copy.db")) == {"wrote": "copy.db"}
    assert [status["in_flight"] for status in lines(outlay("list", "--store", "sqlite:///copy.db"))] == [5, 5]
    assert "has a campaign 'default' already" in refused(outlay("import", "ledger.ndjson"), 1)


def test_verify_tells_a_script(outlay: Run) -> None:
    outlay(*NEW)
    connection = sqlite3.connect("outlay.db")
    with connection:
        connection.execute("UPDATE campaign SET spent = 1")
    connection.close()
    verdict = line(outlay("verify"), code=1)
    assert verdict["problems"] == ["the campaign's row: spent is 1, and the events come to 0"]


def test_the_store_of_the_environment(outlay: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTLAY_STORE", "sqlite:///there.db")
    outlay(*NEW)
    assert Path("there.db").exists()
    assert line(outlay("status"))["phase"] == "open"


def verbs(command: click.Command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not isinstance(command, click.Group):
        return [path]
    return [found for name, part in command.commands.items() for found in verbs(part, (*path, name))]


@pytest.mark.parametrize("verb", verbs(group), ids=" ".join)
def test_every_verb_has_an_example(outlay: Run, verb: tuple[str, ...]) -> None:
    result = outlay(*verb, "--help")
    assert result.exit_code == 0
    assert "Example:" in result.stdout
    assert f"outlay campaign {' '.join(verb)}" in result.stdout.split("Example:")[1]
    assert "--store" in result.stdout


@pytest.mark.parametrize("arguments", [["campaign", "--help"], ["campaign", "ask", "--help"], ["campaign", "ask"]])
def test_nothing_heavy_is_loaded(
    fresh_python: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, arguments: list[str]
) -> None:
    asking = arguments[-1] == "ask"
    if asking:
        Campaign(["a"], 1, store=f"sqlite:///{tmp_path}/outlay.db").disconnect()
    script = f"""
import json, sys
sys.argv = ["outlay", *{arguments!r}]
from outlay.cli import main
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
print(json.dumps(sorted({{name.partition(".")[0] for name in sys.modules}})), file=sys.stderr)
"""
    loaded = set(json.loads(fresh_python(script, OUTLAY_STORE="sqlite:///outlay.db").stderr.splitlines()[-1]))
    assert not loaded & {"numba", "matplotlib", "pandas", "scipy", "pyarrow", "rich", "jinja2", "alembic", "psycopg"}
    assert ("sqlalchemy" in loaded) == ("numpy" in loaded) == asking


def test_policies_and_modes_are_completed() -> None:
    def offered(incomplete: str, *words: str) -> list[str]:
        completion = ShellComplete(commands, {}, "outlay", "_OUTLAY_COMPLETE")
        return [item.value for item in completion.get_completions(["campaign", "new", *words], incomplete)]

    assert offered("ucbb2", "--policy") == ["UCBB2", "UCBB2C"]
    assert offered("", "--mode") == ["until_exceeded", "hard"]
    assert offered("", "--expiry") == ["charge", "release"]


# A campaign that names no arm at first, then one, and ends.
WAITS = r"""
outlay() {
    case "$2 $(cat asked)" in
        new*) ;;
        "ask ") echo . >> asked; echo '{"retry_after": 0}'; return 4 ;;
        "ask .") echo . >> asked; echo '{"decision": 2, "arm": "small"}' ;;
        ask*) return 3 ;;
        tell*) echo "$@" ;;
    esac
}
sleep() { echo "sleep $1"; }
cost=1 reward=2
touch asked
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_the_loop_of_the_help_goes_on_after_a_pause(outlay: Run, tmp_path: Path) -> None:
    loop = outlay("--help").stdout.partition("Example:\n")[2]
    assert loop.count("…use it") == 1
    script = STAND_INS + WAITS + re.sub("…use it.*", "", loop)
    done = subprocess.run(["bash", "-uc", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("sleep 0\ncampaign tell 2 --cost 1 --reward 2\n", "")


PAGE = Path(__file__).parents[2] / "docs" / "campaigns.md"
# Stand-ins for programs that need not be installed: `outlay` of this interpreter, and as much of jq as the page uses.
STAND_INS = r"""
outlay() { "$PYTHON" -W error -c 'from outlay.cli import main; main()' "$@"; }
jq() { local field=${@: -1}; sed -E 's/.*"'"${field#.}"'": "?([^",}]*).*/\1/'; }
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_the_script_of_the_guide(tmp_path: Path) -> None:
    """A whole campaign from a shell, in which every pull costs 2 of 3."""
    (script,) = re.findall(r"^```bash\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)
    (tmp_path / "try").write_text("#!/bin/sh\necho $1 >> used\necho 2 0.5\n")
    (tmp_path / "try").chmod(0o755)
    env = {**os.environ, "PYTHON": sys.executable}
    command = ["bash", "-u", "-c", STAND_INS + script]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    printed = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["decision"], line["arm"], line["cost"], line["overrun"]) for line in printed[1:]] == [
        (2, "small", 2.0, False),
        (4, "large", 2.0, False),
    ]
    assert (tmp_path / "used").read_text().split() == ["small", "large"]
    store = f"sqlite:///{tmp_path}/spend.db"
    assert verify(store).ok
    with Campaign.open(store) as campaign:
        status = campaign.status()
    assert (status.phase, status.ended, status.spent) == ("closed", "exhausted", 4.0)
