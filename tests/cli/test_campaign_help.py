"""The help of `outlay campaign`, its completions, and the scripts that the help and the guide show."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from tests.cli.campaign_runs import Run

from outlay import Campaign
from outlay.campaign import verify
from outlay.cli import commands


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
        "ask .") echo . >> asked; echo '{"pull": 2, "arm": "small"}' ;;
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
