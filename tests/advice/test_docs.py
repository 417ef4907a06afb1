"""docs/use-your-log.md shows what the command prints."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from outlay.cli import commands

PAGE = Path(__file__).parents[2] / "docs" / "use-your-log.md"
REHEARSED = pytest.param(True, marks=pytest.mark.soak)  # compiles for half a minute


@pytest.mark.parametrize("rehearse", [False, REHEARSED])
def test_the_output_in_the_page_is_what_the_command_prints(
    rehearse: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    exec(re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)[0], {})
    [command] = re.findall(r"^\$ outlay (.*)$", text, re.M)
    [shown] = re.findall(r"^```text\n(.*?)^```", text, re.S | re.M)
    done = CliRunner().invoke(commands, command.split() + ([] if rehearse else ["--no-rehearsal"]))
    assert done.exit_code == 0, done.output
    if not rehearse:
        shown = re.sub(r"^Rehearsal on.*?\n\n(?=What to watch)", "", shown, flags=re.S | re.M)
        shown = re.sub(r"^(Rehearsed on|Single campaigns) .*\n", "", shown, flags=re.M)
        shown = shown.replace("nothing clearly earned more in the rehearsal, and ", "")
    assert done.stdout.split() == shown.split()
