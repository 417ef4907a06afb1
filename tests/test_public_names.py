"""The public surface is a promise: what is exported, how it is found, and what importing costs."""

import ast
import inspect
import pydoc
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

import outlay
from outlay import arms, policies

ROOT = Path(outlay.__file__).parent
FILES = [path for path in sorted(ROOT.rglob("__init__.py")) if "__all__ = " in path.read_text(encoding="utf-8")]
PACKAGES = [".".join(("outlay", *path.parent.relative_to(ROOT).parts)) for path in FILES]
LAZY = [
    name for name in PACKAGES if getattr(vars(import_module(name)).get("__getattr__"), "__module__", "") == "outlay"
]


def test_exported_names() -> None:
    assert {
        "AsyncClient",
        "Belief",
        "OutlayError",
        "Campaign",
        "Client",
        "Problem",
        "Result",
        "advice",
        "arms",
        "campaign",
        "experiments",
        "load",
        "policies",
        "report",
        "results",
        "simulate",
        "theory",
    } == (set(outlay.__all__) - {"__version__"})


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_name_resolves_and_is_found_by_tab(name: str) -> None:
    package = import_module(name)
    assert len(package.__all__) == len(set(package.__all__))
    assert set(package.__all__) <= set(dir(package))
    for public in package.__all__:
        assert getattr(package, public) is not None
    space: dict[str, object] = {}
    exec(f"from {name} import *", space)
    assert space.keys() >= set(package.__all__)


def test_the_packages_that_are_looked_at() -> None:
    """A list that is empty by mistake would have its tests pass."""
    assert {"outlay", "outlay.campaign", "outlay.report", "outlay.theory"} <= set(PACKAGES)
    assert {"outlay", "outlay.campaign", "outlay.report"} <= set(LAZY)


@pytest.mark.parametrize("name", LAZY)
def test_the_public_names_are_the_lazy_ones_and_those_imported_at_once(name: str) -> None:
    package = import_module(name)
    lazy = inspect.getclosurevars(package.__getattr__).nonlocals["home_of"]
    assert {*lazy} <= set(package.__all__) <= {*lazy, *vars(package)}


def test_help_shows_what_was_never_used() -> None:
    script = "import pydoc, outlay.report; print(pydoc.plain(pydoc.render_doc(outlay.report)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert "regret_figure(result" in done.stdout
    assert "write_page(result" in pydoc.plain(pydoc.render_doc(outlay.report))


def test_every_law_and_policy_is_exported() -> None:
    laws = (
        "Bernoulli Beta Constant Discrete Empirical Exponential Gamma Gaussian Linear Lognormal Pareto StudentT Uniform"
    )
    assert set(laws.split()) <= set(arms.__all__)
    assert all(getattr(policies, name) is policy for name, policy in policies.BUILT_IN.items())
    assert list(policies.BUILT_IN) == [  # a new policy is named here, too
        *("UCBB1", "UCBM1", "UCBB2", "UCBB2C", "Fixed", "RoundRobin"),
        *("FiellerKnown", "Fieller", "BernsteinRate", "MedianRate", "CatoniRate", "KLRate", "Frugal"),
        *("Thrifty", "Wary", "Ration", "Forgetful", "LinearRation"),
    ]
    assert set(policies.BUILT_IN) <= set(policies.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(outlay, "Campaigns")


def test_importing_outlay_and_its_laws_and_policies_loads_no_compiler() -> None:
    script = """
import sys
from outlay import arms, policies, Campaign
policies.UCBB1(1, 1, 0), arms.Gaussian(1, 1, 1, 1)
print({"numba", "pandas", "matplotlib", "scipy", "pyarrow", "rich", "sqlalchemy"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "set()"


def test_a_page_is_written_without_campaigns_or_a_database(tmp_path: Path) -> None:
    result = outlay.simulate(arms.catalogue.load("G"), policies.RoundRobin(), budgets=[10.0, 20.0], runs=2)
    result.save(tmp_path / "g.parquet")
    script = """
import sys, outlay
outlay.report.write_page(outlay.load("g.parquet"), "g.html")
print({"outlay.campaign", "outlay.experiments", "sqlalchemy", "numba"} & set(sys.modules))
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, cwd=tmp_path)
    assert done.stdout.strip() == "set()"
    assert (tmp_path / "g.html").stat().st_size > 10_000


def test_the_help_of_the_command_loads_next_to_nothing() -> None:
    script = """
import sys
from outlay.cli import commands
heavy = "numpy numba pandas matplotlib scipy pyarrow rich sqlalchemy jinja2".split()
for verb in ([], *([name] for name in commands.commands)):
    try:
        commands([*verb, "--help"], prog_name="outlay")
    except SystemExit as end:
        assert end.code == 0
    if loaded := [name for name in heavy if name in sys.modules]:
        sys.exit(f"outlay {verb} loads {loaded}")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_class_and_no_file_has_the_name_of_another() -> None:
    """Who greps for a name finds one thing."""
    files = [path for path in ROOT.rglob("*.py") if path.name != "__init__.py"]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in files + FILES]
    classes = [node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    for names in (classes, [path.name for path in files]):
        assert [name for name, count in Counter(names).items() if count > 1] == []
