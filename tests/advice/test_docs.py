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
    space: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, re.S | re.M):
        if "to_csv" in block:
            exec(block, space)
    commands_shown = re.findall(r"^\$ outlay (.*)$", text, re.M)
    outputs = re.findall(r"^```text\n(.*?)^```", text, re.S | re.M)
    assert len(commands_shown) == 3
    for command, shown in zip(commands_shown, outputs, strict=True):
        skip = [] if rehearse or "--no-rehearsal" in command else ["--no-rehearsal"]
        done = CliRunner().invoke(commands, command.split() + skip)
        assert done.exit_code == 0, done.output
        assert done.stdout.split() == (without_rehearsal(shown) if skip else shown).split()


def without_rehearsal(shown: str) -> str:
    """What the command prints where it plays no policies."""
    shown = re.sub(r"^Rehearsal on.*?\n\n(?=What to watch)", "", shown, flags=re.S | re.M)
    shown = re.sub(r"^(Rehearsed on|Single campaigns) .*\n", "", shown, flags=re.M)
    return shown.replace("nothing clearly earned more in the rehearsal, and ", "")
