"""What is published: the source archive, the text on a package index, the citation, the workflow; what is installed."""

import doctest
import importlib.util
import re
import subprocess
import tarfile
import tomllib
from email.parser import Parser
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from hatchling import build

import outlay

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TOP = {
    *("ARCHITECTURE.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md"),
    *("Makefile", "conftest.py", "hatch_build.py", "mkdocs.yml", "pyproject.toml", ".gitignore", "PKG-INFO"),
    *("benchmarks", "docs", "examples", "requirements", "src", "tests"),
}  # fmt: skip


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive, built where no file of the suite can get in the way."""
    folder = tmp_path_factory.mktemp("sdist")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return folder / build.build_sdist(str(folder))


def test_the_source_archive_has_the_tests_and_nothing_stray(archive: Path) -> None:
    with tarfile.open(archive) as packed:
        names = [Path(name).relative_to(f"outlay-{outlay.__version__}") for name in packed.getnames()]
    assert {name.parts[0] for name in names} == TOP
    assert Path("tests/test_packaging.py") in names
    assert Path("src/outlay/py.typed") in names
    assert [name for name in names if name.suffix in (".pyc", ".parquet.part", ".so")] == []


def test_the_readme_on_a_package_index_has_no_relative_link(archive: Path) -> None:
    with tarfile.open(archive) as packed:
        member = packed.extractfile(f"outlay-{outlay.__version__}/PKG-INFO")
        assert member is not None
        metadata = Parser().parsestr(member.read().decode())
    text = metadata.get_payload()
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert isinstance(text, str)
    assert text.startswith("# outlay\n")
    assert [link for link in re.findall(r"\]\(([^)]*)\)", text) if not link.startswith("https://")] == []
    assert "![" not in text
    assert "<img" not in text
    code = re.compile(r"^```.*?^```", re.S | re.M)
    assert code.findall(text) == code.findall((ROOT / "README.md").read_text(encoding="utf-8"))


def test_the_examples_of_the_hook(hook: ModuleType) -> None:
    failed, tried = doctest.testmod(hook)
    assert tried > 0
    assert failed == 0


def test_classifiers_are_such_as_package_indexes_know() -> None:
    known = pytest.importorskip("trove_classifiers").classifiers
    assert set(PROJECT["classifiers"]) <= known


def test_the_citation_is_of_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (cited["version"], cited["license"]) == (outlay.__version__, PROJECT["license"])
    (paper,) = cited["references"]
    assert paper["title"] in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def test_dev_installs_what_every_user_can_install() -> None:
    """GPUs, Ray and the service aside, which the suite does without."""
    extras = PROJECT["optional-dependencies"]
    locked = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8")
    for line in (line for name in ("simulate", "report", "dask", "postgres") for line in extras[name]):
        name = re.split(r"[\[>]", line)[0]
        assert name == "outlay" or re.search(rf"^{name}(\[\w+\])?==", locked, re.M), line


def test_the_workflow_makes_what_contributors_make() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))["jobs"]
    assert jobs["test"]["steps"][-1] == {"run": "make test"}
    versions = jobs["test"]["strategy"]["matrix"]["python"]
    assert {f"Programming Language :: Python :: {version}" for version in versions} <= set(PROJECT["classifiers"])


def test_make_help_names_every_target() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", text, re.M))
    command = ["make", "--no-print-directory", "help"]  # the suite itself may run under make
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout
    assert {line.split()[1] for line in printed.splitlines()} == targets
    assert ".DEFAULT_GOAL := test" in text


def test_the_changelog_begins_with_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+)", text, re.M)[0] == outlay.__version__


COMMAND = re.compile(r"(?:pip|pipx|uv|uvx|poetry|conda|mamba)\s+(?:install|add)\s+((?:-\S+\s+)*)['\"]?([^\s'\"`)]+)")
PLACES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "src", "docs", "examples", "benchmarks")


def commands() -> list[tuple[str, str]]:
    """Every printed install command: where it stands, and what it installs."""
    files = [path for place in PLACES for path in [ROOT / place, *(ROOT / place).rglob("*")] if path.is_file()]
    texts = {path: path.read_text() for path in files if path.suffix in (".py", ".md", ".html", ".toml", ".yml")}
    return [(str(path.relative_to(ROOT)), found[2]) for path, text in texts.items() for found in COMMAND.finditer(text)]


def test_only_our_own_package_is_named() -> None:
    """A command that names another package could install anybody's code."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    found = commands()
    assert {place.split("/")[0] for place, _ in found} >= {"README.md", "src", "docs", "benchmarks"}
    for place, named in found:
        package = re.fullmatch(r"\.|outlay(?:\[([\w,.{}]+)\])?", named)
        assert package, f"{place} tells people to install {named}"
        for extra in filter(None, (package[1] or "").split(",")):
            assert extra in extras or extra in ("{backend}", "{self.extra}"), (
                f"{place} names an extra that is not there: {extra}"
            )
