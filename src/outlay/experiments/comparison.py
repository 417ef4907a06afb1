"""What `outlay compare` does, as a function: from a problem's name to the files of a report."""

from collections.abc import Sequence
from pathlib import Path

from outlay.arms import catalogue
from outlay.checks import check_writable, made, writing
from outlay.engine.limits import Mode
from outlay.engine.simulate import simulate
from outlay.errors import BadParameter, require
from outlay.knowledge import named_policies, usual_policies
from outlay.report.contents import report_files
from outlay.report.write import write_report
from outlay.results import Result


def compare(
    problem: str,
    names: Sequence[str] = (),
    *,
    budget: float,
    requests: int | None = None,
    mode: Mode = "until_exceeded",
    runs: int,
    seed: int = 0,
    workers: int | None = None,
    out: Path,
    save: Path | None = None,
) -> tuple[Result, list[Path]]:
    """Play the policies called `names` (or the usual ones) on a problem and write the report: the result, the files.

    `save` ends in .parquet, for the result itself, or in .csv, for a row per policy, run and budget. A file that cannot
    be written is found before the work begins, and what fails leaves no folder behind.
    """
    require("compare", "matplotlib", "jinja2", "pandas", "scipy")
    if save is not None and save.suffix not in (".parquet", ".csv"):
        raise BadParameter("compare", "save", "a file that ends in .parquet or .csv", str(save))
    arms = catalogue.find(problem)
    chosen = named_policies(arms, names) if names else usual_policies(arms, requests is not None)
    with made(out):
        for path in (*report_files(out), *([save] if save else [])):
            check_writable(path)
        result = simulate(
            arms, chosen, budget=budget, requests=requests, mode=mode, runs=runs, seed=seed, workers=workers
        )
        written = write_report(result, out)
    if save:
        if save.suffix == ".csv":
            with writing(save):
                result.frame().to_csv(save, index=False)
        else:
            result.save(save)
        written.append(save)
    return result, written
