"""`outlay campaign` with windows, a fallback and the archive."""

from tests.cli.campaign_runs import Run, line, lines, misused

NEW = ("new", "--arm", "small=0.5", "--arm", "large=2", "--budget", "2", "--mode", "hard")
DAILY = (*NEW, "--window", "day", "--timezone", "America/New_York")


def test_a_budget_for_a_day_is_not_the_end(outlay: Run) -> None:
    status = line(outlay(*DAILY))
    assert (status["window"]["kind"], status["window"]["timezone"]) == ("day", "America/New_York")
    while (pull := outlay("ask")).exit_code == 0:
        outlay("tell", line(pull)["pull"], "--cost", line(pull)["reserved"], "--reward", "1")
    assert pull.exit_code == 4
    assert 0 < line(pull, 4)["retry_after"] <= 25 * 3600
    assert line(outlay("status"))["phase"] == "waiting"


def test_a_fallback_and_the_archive(outlay: Run) -> None:
    outlay(*NEW, "--fallback", "small")
    pulls = []
    for _ in range(6):
        pulls.append(line(outlay("ask")))
        outlay("tell", pulls[-1]["pull"], "--cost", pulls[-1]["reserved"], "--reward", "1")
    assert pulls[-1]["fallback"]
    status = line(outlay("archive"))
    assert (status["archived"], status["fallback"]) == (True, "small")
    assert status["outside"] > 0
    assert lines(outlay("list")) == []
    assert [each["name"] for each in lines(outlay("list", "--archived"))] == ["default"]
    assert outlay("ask").exit_code == 3
    assert line(outlay("restore"))["phase"] == "fallback"
    assert line(outlay("verify"))["problems"] == []


def test_what_cannot_be_agreed(outlay: Run) -> None:
    assert "one of the arms" in misused(outlay(*NEW, "--fallback", "huge"))
    assert "Europe/Berlin" in misused(outlay(*NEW, "--window", "day", "--timezone", "Mars"))
