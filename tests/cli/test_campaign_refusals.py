"""`outlay campaign` used wrongly: one line says what was wrong, and nothing is written."""

import shutil
from pathlib import Path

import pytest
from tests.cli.campaign_runs import NEW, Run, events, lines, misused, refused


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
        ('{"pull": 4}', "it must be a JSON object with pull, cost, reward"),
        ('{"pull": 4, "cost": NaN, "reward": 1}', "NaN is not a finite number"),
        ('{"pull": 4, "cost": "1", "reward": 1}', "cost of tell must be a finite number; got '1'"),
        ('{"pull": 4, "cost": 1, "reward": null}', "reward of tell must be a finite number; got None"),
        (
            '{"pull": "4", "cost": 1, "reward": 1}',
            "pull of tell must be a Pull, as ask returns it, or its number; got",
        ),
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
        ((*NEW, "--ttl", "soon"), "'soon' is neither a number of seconds nor `never`"),
        (("tell", "2", "--cost", "1"), "give PULL with --cost and --reward"),
        (("tell", "two", "--cost", "1", "--reward", "1"), "PULL must be a number, or - for lines on stdin"),
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
        (("ask", "--n", "0"), 2, "n of ask_many must be a whole number ≥ 1"),
        (("ask", "--store", "sqlite:///none.db"), 1, "none.db: `outlay campaign new` makes one"),
        (("expect", "-3"), 2, "requests of expect_requests must be a whole number ≥ 0 and ≤ 1e+15; got -3"),
        (("tell", "-5", "--cost", "-1", "--reward", "2"), 2, "pull of tell must be a whole number ≥ 1"),
        (("tell", "99", "--cost", "1", "--reward", "1"), 1, "campaign 'default' has no pull 99"),
        (("tell", "2", "--cost", "1", "--reward", "nan"), 2, "reward of tell must be a finite number; got nan"),
        (("arm", "add", "a", "--max-cost", "1"), 1, "arm 'a' is there already, with max_cost none, not 1"),
        (("export", "outlay.db"), 1, "cannot write outlay.db: it is there already"),
        (("import", "outlay.db"), 1, "outlay.db: this is no ledger of outlay"),
    ],
)
def test_what_is_refused(outlay: Run, begun: Path, arguments: tuple[str, ...], code: int, reason: str) -> None:
    shutil.copy(begun, "outlay.db")
    assert reason in refused(outlay(*arguments), code)
    assert events() == 2
    assert not Path("none.db").exists()
