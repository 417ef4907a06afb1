"""A log as the problem of an experiment: exact, in the order of the file, and one sentence for what it is not."""

import gzip

import numpy as np
import pandas as pd
import pytest

from outlay import logs
from outlay.arms import Empirical
from outlay.errors import BadFile
from outlay.experiments import load
from outlay.experiments.file import problem_of
from outlay.logs import LogColumns

LOG = "model,usd,score,other\nsmall,1,0.5,x\nlarge,2.5,1,\nsmall,3,-1,y\n"
OF_LOG = (
    'format = 1\n[experiment]\nbudget = 10\n[log]\nfile = "log.csv"\narm = "model"\ncost = "usd"\nreward = "score"\n'
)


def test_a_log_is_a_problem(write):
    write(LOG, "log.csv")
    problem = load(write(OF_LOG)).problem
    assert problem.names == ("small", "large")
    assert problem.arms == (Empirical([1, 3], [0.5, -1]), Empirical([2.5], [1]))
    with gzip.open("log.csv.gz", "wt") as file:
        file.write(LOG)
    write(LOG.replace(",", ";"), "log.txt")
    pd.read_csv("log.csv").to_parquet("log.parquet")
    for name in ("log.csv.gz", "log.txt", "log.parquet"):
        assert load(write(OF_LOG.replace("log.csv", name))).problem == problem, name


def test_every_pair_in_the_order_of_the_file(tmp_path, monkeypatch):
    """Against the whole file at once, whatever the stretches; numbers are exactly those that Python reads."""
    monkeypatch.setattr(logs, "BLOCK", 4096)
    rng = np.random.default_rng(0)
    names = ["zeta"] * 500 + rng.choice(["zeta", "alpha", "NA"], size=1500).tolist()
    rows = [
        (name, repr(cost), repr(reward))
        for name, cost, reward in zip(
            names, rng.lognormal(0, 3, 2000).tolist(), rng.normal(size=2000).tolist(), strict=True
        )
    ]
    (tmp_path / "log.csv").write_text("\n".join(map(",".join, [("arm", "cost", "reward"), *rows])))
    problem = problem_of(tmp_path / "log.csv", LogColumns())
    assert problem.names == tuple(dict.fromkeys(names))
    for name, law in zip(problem.names, problem.arms, strict=True):
        pairs = np.array([(float(cost), float(reward)) for arm, cost, reward in rows if arm == name])
        assert law == Empirical(*pairs.T)


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        ("", "log.csv is empty"),
        ("model,usd,score\na,1,1\na,much,1\n", "the usd of log.csv must be a number in every row; row 3 has 'much'"),
        ("model,usd,score\na,1,1\na,1,\n", "log.csv has an empty cell in row 3; every row must have all three"),
        ("model,usd,score\na,inf,1\n", "the usd of log.csv must be a finite number within ±1e100 in every row; row 2"),
        ("model,usd,score\na,-1,1\n", "the mean cost of 'a' of Problem must be a finite number > 0; got -1.0"),
    ],
)
def test_a_broken_log(write, log, sentence):
    write(log, "log.csv")
    with pytest.raises(BadFile) as refused:
        load(write(OF_LOG))
    assert str(refused.value).startswith(f"experiment.toml: {sentence}")
    assert "advise" not in str(refused.value)
