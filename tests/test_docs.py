"""What README and docs say is true: their examples run, their tables are reprinted, their links lead somewhere."""

import doctest
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from outlay.engine.jit.compile import CannotCompile
from outlay.errors import InterpretedWarning

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
POLICIES = "add-a-policy.md"
# Long runs, of policies that are compiled for these pages alone; what they do with such laws has tests of its own.
RARELY = ("read-a-regret-curve.md", "choose-a-policy.md")
AT_ONCE = ("baselines.md", "cluster.md")  # so few pulls that they take less time than a compilation
MARKS = dict.fromkeys(RARELY, pytest.mark.soak) | dict.fromkeys(AT_ONCE, pytest.mark.interpreted)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)


def refuse(*_: Any) -> None:
    raise CannotCompile("it takes seconds for each policy of the page")


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=MARKS.get(page.name, ()), id=page.name) for page in PAGES if blocks(page, "python")],
)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page.name == POLICIES:
        monkeypatch.setattr("outlay.engine.jit.compile.compiled", refuse)
        with pytest.warns(InterpretedWarning):
            run_examples(page, tmp_path, monkeypatch)
    else:
        run_examples(page, tmp_path, monkeypatch)


@pytest.mark.soak
def test_the_policies_of_the_guide_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_examples(ROOT / "docs" / POLICIES, tmp_path, monkeypatch)


def run_examples(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {"__name__": "__main__"}
    for number, block in enumerate(blocks(page, "python")):
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, space, page.name, str(page), number)
            runner = doctest.DocTestRunner(optionflags=FLAGS)
            assert runner.run(test, clear_globs=False).failed == 0
            space = test.globs
        else:
            exec(compile(block, f"{page.name}, block {number}", "exec"), space)


def test_benchmarks_are_called_as_modules() -> None:
    """As files they would not find the package that they are in; and each that a page names must be there."""
    said = "\n".join(path.read_text(encoding="utf-8") for path in (*PAGES, ROOT / "Makefile"))
    assert not re.findall(r"python benchmarks/\w+\.py", said)
    named = set(re.findall(r"python -m benchmarks\.(\w+)", said))
    assert len(named) >= 8
    assert not {name for name in named if not (ROOT / "benchmarks" / f"{name}.py").exists()} - {"leaderboard"}


@pytest.mark.soak  # four policies are compiled in another process
def test_the_table_in_the_readme_is_what_the_demo_prints(tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("outlay")), "compare", "--out", str(tmp_path)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    shown = next(block for block in blocks(ROOT / "README.md", "text") if block.startswith("Regret"))
    assert [line.split() for line in printed.splitlines() if line.strip() and not line.startswith("wrote")] == [
        line.split() for line in shown.splitlines() if line.strip()
    ]


def test_the_home_page_tells_what_the_readme_prints() -> None:
    """The largest rate of problem G is 1.5; regrets are rounded."""
    home = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    table = next(block for block in blocks(ROOT / "README.md", "text") if block.startswith("Regret at budget 100,000"))
    regret = {name: float(mean.replace(",", "")) for name, mean in re.findall(r"^(\w+) +([\d,.]+) ±", table, re.M)}
    told = [float(number.replace(",", "")) for number in re.findall(r"\*\*([\d,]+)\*\*", home)]
    assert told == [1.5 * 100_000, regret["RoundRobin"], round(regret["Thrifty"])]


def test_the_figures_of_the_leaderboard_show_every_policy_of_its_tables() -> None:
    """Drawn from the tables of the page by docs/figures/leaderboard.py; after a new row, it has to be run again."""
    page = (ROOT / "docs" / "leaderboard.md").read_text(encoding="utf-8")
    table = page.partition("### All 117 cells")[2].partition("\n### ")[0]
    policies = re.findall(r"^\| ([\w:.]+) \| (?:nothing|bounds|budget|moments) ", table, re.M)
    assert len(policies) == 26
    for name in ("leaderboard.svg", "leaderboard-problems.svg"):
        drawn = (ROOT / "docs" / "figures" / name).read_text(encoding="utf-8")
        assert [policy for policy in policies if f">{policy}</text>" not in drawn] == []


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_the_list_of_public_names_is_current() -> None:
    subprocess.run([sys.executable, str(ROOT / "docs" / "make_api.py"), "--check"], check=True, timeout=120)
