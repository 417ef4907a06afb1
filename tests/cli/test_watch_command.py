"""`outlay campaign watch` and `status` as commands: in a pipe, on a terminal, and ended by Ctrl-C."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.campaign_runs import Run, refused

from outlay import Campaign


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
            pull = campaign.ask()
            assert pull is not None
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
