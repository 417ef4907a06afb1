"""`outlay campaign watch`: the numbers it shows, how they are drawn, in a pipe and on a terminal, and how it ends."""

import io
import json
import math
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console, RenderableType
from tests.campaign.busy import asked
from tests.cli.campaign_runs import Run, refused

from outlay import Campaign
from outlay.beliefs import Belief, Moments
from outlay.campaign.monitor import CampaignMonitor, RateInterval, rate_interval
from outlay.cli.campaign_picture import picture


def busy(campaign: Campaign) -> None:
    """Everything that moves money."""
    rng = np.random.default_rng(5)
    for n in range(60):
        pull = asked(campaign)
        if n % 10 == 0:
            pull.charge()
        if n % 10 == 1:
            pull.cancel()
            continue
        pull.tell(0.5 * rng.random(), rng.random())
        if n % 7 == 0:
            campaign.amend(pull, 0.25, 1)
    campaign.set_budget(45)
    campaign.add_arm("late", 1)
    campaign.ask_many(9, tags=["nightly"])


def drawn(campaign: Campaign, width: int = 140, height: int | None = None) -> str:
    return printed(picture(CampaignMonitor(campaign).look(), width, height), width)


def printed(what: RenderableType, width: int) -> str:
    console = Console(width=width, file=io.StringIO())
    with console.capture() as text:
        console.print(what)
    return text.get()


def test_intervals_are_those_of_the_pulls_as_they_count_now() -> None:
    campaign = Campaign({"a": 1, "b": 1}, 40, "RoundRobin")
    busy(campaign)
    memory, names = Moments.empty(2), {"a": 0, "b": 1}
    for pull in campaign.pulls():
        if pull.cost is not None and pull.reward is not None:
            memory.observe(names[pull.arm], pull.cost, pull.reward)
    found = CampaignMonitor(campaign).look().intervals
    for arm in (0, 1):
        assert found[arm] == pytest.approx(rate_interval(memory.belief(arm)), rel=1e-9)
    assert found[2] == RateInterval(-math.inf, math.inf)


def test_an_interval_holds_the_rate_as_often_as_it_says() -> None:
    """Gaussian pairs: each end is wrong in at most 1 of 40; more than 155 of 4000 happen once in 10⁷ such tests."""
    rng, below, above = np.random.default_rng(11), 0, 0
    for _ in range(4000):
        cost = rng.normal(2.0, 0.5, 12)
        reward = 1.0 + 0.3 * (cost - 2.0) + rng.normal(0.0, 0.4, 12)
        (var_cost, cov), (_, var_reward) = np.cov(cost, reward, bias=True)
        low, high = rate_interval(Belief(0, 12, cost.mean(), reward.mean(), var_cost, var_reward, cov))
        below += low > 0.5
        above += high < 0.5
    assert max(below, above) <= 155
    assert min(below, above) > 0  # and it is not so wide that it says nothing


def test_a_frame_shows_everything() -> None:
    campaign = Campaign({"a[red]": 1, "b": 1}, 40, "RoundRobin", name="spring [bold]")
    busy(campaign)
    for width in (60, 80, 140):
        text = drawn(campaign, width)
        assert "spring [bold]  open" in text  # what users name is no markup
        assert "a[red]" in text
        assert "RoundRobin, until_exceeded" in text
        assert re.search(r"spent [\d.]+ of 45 \(\d\d\.\d%\)   set aside [\d.]+ ", text)
        assert re.search(r"left [\d.]+ ", text)
        assert "9 under way" in text
        assert "… and 3 more" in text
        assert max(len(line) for line in text.splitlines()) <= width
    assert "nightly" in text
    assert "├" in text
    assert "█" in text


def counted_requests(forecast: int | None = None) -> Campaign:
    """Two arms of names that a terminal has no room for, and what is known of them."""
    names = "a-language-model-of-the-cheapest-kind", "a-language-model-of-the-dearest-kind"
    campaign = Campaign(names, 100, requests=1000, name="served")
    for n in range(60):
        pull = asked(campaign)
        pull.tell(0.05 if pull.arm == names[0] else 0.4, 0.3 + 0.1 * (n % 3) + 0.4 * (pull.arm == names[1]))
    if forecast is not None:
        campaign.expect_requests(forecast)
    campaign.ask_many(9, tags=["nightly", "eu-west"])
    return campaign


@pytest.mark.parametrize("width", [60, 80])
def test_the_forecast_and_the_mix_are_shown(width: int) -> None:
    campaign = counted_requests(forecast=400)
    ahead = campaign.status().outlook
    assert ahead is not None
    text = drawn(campaign, width)
    assert "requests 69 of 1,000 used   931 left" in text
    assert "391 more requests expected" in text
    assert f"one more request is worth {ahead.worth:.4g}" in text
    assert f"{ahead.share:.0%} a-language-model-of-the-dearest-kind" in " ".join(text.replace("│", " ").split())
    assert f"reward at the end about {ahead.reward:,.5g} ({ahead.reward_low:,.5g} to" in text
    assert "expected" not in drawn(counted_requests(), width)


@pytest.mark.parametrize("height", [24, 30, 40, 60])
def test_a_frame_fits_the_height_of_a_terminal(height: int) -> None:
    campaign = counted_requests()
    lines = drawn(campaign, 80, height).splitlines()
    assert len(lines) <= height
    assert sum("a-language" in line for line in lines) >= 2
    whole = drawn(campaign, 80).splitlines()
    assert len(whole) > 40
    assert (lines == whole) == (height == 60)


def test_a_frame_of_a_campaign_that_has_not_begun_or_has_ended() -> None:
    campaign = Campaign({"a": 1}, 2)
    assert "nothing spent yet" in drawn(campaign)
    assert "nothing under way" in drawn(campaign)
    for pull in campaign:
        pull.tell(1.5, 0)
    text = drawn(campaign)
    assert "default  closed" in text
    assert "spent 3 of 2 (150.0%)" in text
    assert "left -1" in text


def test_status_is_a_table_on_a_terminal(outlay: Run, tmp_path: Path) -> None:
    assert outlay("new", "--arm", "a", "--budget", "5").exit_code == 0
    for arguments in (["status"], ["status", "--json"]):
        assert json.loads(outlay(*arguments).stdout)["budget"] == 5.0
    for arguments, shown in ((["status"], "set aside 0   left 5"), (["status", "--json"], '{"name": "default"')):
        process, ours = in_terminal(tmp_path, *arguments)
        text = read_until(ours, None)
        assert process.wait(60) == 0
        os.close(ours)
        assert shown in text


def test_one_frame_for_a_pipe(outlay: Run) -> None:
    assert outlay("new", "--arm", "a", "--budget", "5").exit_code == 0
    for arguments in (["--once"], []):
        result = outlay("watch", *arguments)
        assert result.exit_code == 0
        assert "spent 0 of 5 (0.0%)" in result.stdout
        assert "\x1b" not in result.stdout
    assert "has no campaign 'spring'" in refused(outlay("watch", "--name", "spring"), 1)


@pytest.mark.parametrize("pauses", [0, 2])
def test_ctrl_c_ends_it_cleanly(tmp_path: Path, pauses: int) -> None:
    """In a terminal: frames one after another, what is spent meanwhile is shown, and the last frame stays."""
    with Campaign({"a": 1}, 50, store=f"sqlite:///{tmp_path}/outlay.db") as campaign:
        process, ours = in_terminal(tmp_path, "watch", "--every", "0.1")
        seen = read_until(ours, "spent 0 of 50")
        for n in range(pauses):
            pull = asked(campaign)
            pull.tell(1, 1)
            seen = read_until(ours, f"spent {n + 1} of 50")
        process.send_signal(signal.SIGINT)
        rest = read_until(ours, None)
        assert process.wait(60) == 0
        os.close(ours)
    assert "Traceback" not in seen + rest
    assert "\x1b[?1049l" in rest  # the screen is as it was
    assert f"spent {pauses} of 50" in rest.partition("\x1b[?1049l")[2]


def in_terminal(folder: Path, *arguments: str) -> tuple[subprocess.Popen[bytes], int]:
    """`outlay campaign` in a terminal of its own, and our end of that."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-W", "error", "-c", "from outlay.cli import main; main()", "campaign", *arguments]
    env = {**os.environ, "TERM": "xterm"}
    process = subprocess.Popen(command, cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    return process, ours


def read_until(terminal: int, text: str | None) -> str:
    """What is printed until there is this text, or until the end."""
    seen, deadline = "", time.monotonic() + 60
    while text is None or text not in seen:
        try:
            more = os.read(terminal, 65536)
        except OSError:  # nobody holds the other end any more
            more = b""
        if not more:
            assert text is None, seen
            return seen
        seen += more.decode(errors="replace")
        assert time.monotonic() < deadline, seen
    return seen
