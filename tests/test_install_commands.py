"""What we tell people to install is ours: a command that names another package could install anybody's code."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMAND = re.compile(r"(?:pip|pipx|uv|uvx|poetry|conda|mamba)\s+(?:install|add)\s+((?:-\S+\s+)*)['\"]?([^\s'\"`)]+)")
PLACES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "src", "docs", "examples", "benchmarks")


def commands() -> list[tuple[str, str]]:
    """Every printed install command: where it stands, and what it installs."""
    files = [path for place in PLACES for path in [ROOT / place, *(ROOT / place).rglob("*")] if path.is_file()]
    texts = {path: path.read_text() for path in files if path.suffix in (".py", ".md", ".html", ".toml", ".yml")}
    return [(str(path.relative_to(ROOT)), found[2]) for path, text in texts.items() for found in COMMAND.finditer(text)]


def test_only_our_own_package_is_named() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    found = commands()
    assert {place.split("/")[0] for place, _ in found} >= {"README.md", "src", "docs", "benchmarks"}
    for place, named in found:
        package = re.fullmatch(r"(?:outlay|\.)(?:\[([\w,.{}]+)\])?", named)
        assert package, f"{place} tells people to install {named}"
        for extra in filter(None, (package[1] or "").split(",")):
            assert extra in extras or extra in ("{backend}", "{self.extra}"), (
                f"{place} names an extra that is not there: {extra}"
            )
