"""Writes files as this version of outlay writes them: `NUMBA_DISABLE_JIT=1 python -m tests.assets.make`.

Made once for each version, and kept: later versions must read them.
"""

import re
import shutil
from pathlib import Path

import outlay
from outlay import campaign
from tests.golden.examples import MIXED, PLAYERS

FOLDER = Path(__file__).parent
EXPERIMENTS = FOLDER.parents[1] / "docs" / "experiments.md"
LEDGERS = FOLDER.parent / "campaign" / "assets"


def main() -> None:
    """Make the folder of this version, if there is none."""
    folder = FOLDER / outlay.__version__
    folder.mkdir()
    problem = outlay.Problem(list(MIXED.values()), names=list(MIXED))
    problem.save(folder / "problem.toml")
    outlay.simulate(problem, PLAYERS, budgets=[2.0, 20.0], runs=2, seed=3).save(folder / "result.parquet")
    (folder / "experiment.toml").write_text(re.findall(r"```toml\n(.*?)```", EXPERIMENTS.read_text(), re.DOTALL)[0])
    store = folder / "store.db"
    shutil.copy(max(LEDGERS.glob("ledger-*.db")), store)
    campaign.export_ledger(f"sqlite:///{store}", folder / "eventful.ndjson", name="eventful")
    store.unlink()


if __name__ == "__main__":
    main()
