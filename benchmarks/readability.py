"""How much there is to read, and how many files a reader passes: `python -m benchmarks.readability`."""

import ast
import subprocess
import sys
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import outlay
from outlay import Campaign, Problem, arms, policies, simulate
from outlay.engine.oracle import trace

SRC = Path(outlay.__file__).parent
TESTS = SRC.parents[1] / "tests"
NAMES = (ast.Name, ast.Attribute)


def main() -> None:
    """Print the figures."""
    warnings.simplefilter("ignore")
    for label, figure in [*written(), *loaded(), *walks()]:
        print(f"{label:<52} {figure}")


def written() -> Iterator[tuple[str, int]]:
    """What the files hold."""
    for label, folder in (("src", SRC), ("tests", TESTS)):
        files = list(folder.rglob("*.py"))
        yield f"{label}: lines", sum(len(file.read_bytes().splitlines()) for file in files)
        yield f"{label}: files, __init__ aside", sum(file.name != "__init__.py" for file in files)
    files = list(SRC.rglob("*.py"))
    yield (
        "packages below outlay, deepest",
        max(len(file.relative_to(SRC).parent.parts) for file in files if file.name == "__init__.py"),
    )
    yield "longest file", max(len(file.read_bytes().splitlines()) for file in files)
    yield "file names that repeat", repeated(file.name for file in files if file.name != "__init__.py")
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_bytes()))]
    yield "class names that repeat", repeated(node.name for node in nodes if isinstance(node, ast.ClassDef))
    private = {
        node.name
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name[0] == "_" and node.name[-2:] != "__"
    }
    uses = Counter(node.id if isinstance(node, ast.Name) else node.attr for node in nodes if isinstance(node, NAMES))
    yield "private functions", len(private)
    yield "private functions used once", sum(uses[name] == 1 for name in private)


def repeated(names: Iterator[str]) -> int:
    """How many of them there are more than once."""
    return sum(count > 1 for count in Counter(names).values())


def loaded() -> Iterator[tuple[str, int]]:
    """Modules of outlay in a process of its own."""
    count = "import sys; print(sum(name.split('.')[0] == 'outlay' for name in sys.modules))"
    with tempfile.TemporaryDirectory() as folder:
        ask = f"outlay.Campaign(['a', 'b', 'c'], 10, store='sqlite:///{folder}/store.db').ask()"
        for label, work in (("import outlay", ""), ("one ask on SQLite", ask)):
            code = f"import outlay\n{work}\n{count}"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            yield f"modules after {label}", int(done.stdout)


def walks() -> Iterator[tuple[str, int]]:
    """Files of outlay in which some function runs, in any thread."""
    problem = Problem([arms.Gaussian(1.0, 0.9, 0.3, 0.2, 0.5), arms.Gaussian(0.5, 0.7, 0.25, 0.5)])
    with tempfile.TemporaryDirectory() as folder, recording() as passed:
        steps = trace(problem, policies.default(), 100.0)
        for _ in range(10):
            next(steps)
        yield "files: one pull in the interpreter", passed(lambda: next(steps))
        comparison: Any = [policies.default(), policies.UCBB1(**problem.second_moments())]
        yield "files: simulate() of two policies", passed(lambda: simulate(problem, comparison, budgets=[50], runs=4))
        store = f"sqlite:///{folder}/store.db"
        with Campaign(["a", "b", "c"], 1000, store=store, name="walk") as campaign:
            for _ in range(4):
                pull = campaign.ask()
                assert pull is not None
                campaign.tell(pull, 1.0, 0.5)
            yield "files: one ask on SQLite", passed(campaign.ask)
        for tell in http_tell(store):
            yield "files: one HTTP tell on SQLite", passed(tell)


def http_tell(store: str) -> Iterator[Callable[[], Any]]:
    """A tell to the service in this process."""
    from starlette.testclient import TestClient

    from outlay.service import ServiceSettings, application

    with TestClient(application(ServiceSettings(store=store)), base_url="http://localhost:8700") as service:
        asked = service.post("/v1/campaigns/walk/ask", json={"n": 3}).raise_for_status().json()["pulls"]
        tells = [{"pull": one["id"], "cost": 1, "reward": 0.5} for one in asked]
        for tell in tells[:2]:
            service.post("/v1/campaigns/walk/tell", json=tell).raise_for_status()
        yield lambda: service.post("/v1/campaigns/walk/tell", json=tells[2]).raise_for_status()


@contextmanager
def recording() -> Iterator[Callable[..., int]]:
    """What counts the files that some work passes; threads that are started meanwhile are watched, too."""
    names: set[str] | None = None
    here, optimized = str(SRC), 1  # of the code of functions, not of modules and classes

    def heard(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if names is not None and event == "call" and code.co_flags & optimized and code.co_filename.startswith(here):
            names.add(code.co_filename)

    def passed(work: Callable[[], Any]) -> int:
        nonlocal names
        names = files = set[str]()
        work()
        names = None
        return len(files)

    threading.setprofile(heard)
    sys.setprofile(heard)
    try:
        yield passed
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


if __name__ == "__main__":
    main()
