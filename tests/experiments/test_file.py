"""Experiment files: what they may say, and one sentence for everything else."""

import numpy as np
import pytest

from outlay import Problem
from outlay.arms import catalogue
from outlay.errors import BadFile
from outlay.experiments import is_experiment, load, points_of
from outlay.experiments.file import TAKEN, Sweep
from outlay.experiments.report import Row

from .conftest import PLAIN, SWEPT


def test_a_file_is_read(write):
    experiment = load(write(SWEPT))
    assert experiment.title == "two arms"
    assert experiment.problem.names == ("good", "worse")
    assert [one.label for one in experiment.players] == ["RoundRobin", "stubborn"]
    assert experiment.budgets == (20.0, 50.0)
    assert (experiment.runs, experiment.seed, experiment.backend, experiment.workers) == (4, 3, "threads", None)
    assert experiment.sweeps == (Sweep("correlation", ("arms.correlation",), (-0.5, 0.5)),)


def test_what_is_left_out_has_a_default(write):
    experiment = load(write('\ufeffformat = 1\n[experiment]\nproblem = "G"\nbudget = 1e4', "mine.toml"))
    assert experiment.title == "mine"
    assert experiment.problem == catalogue.load("G")
    assert [one.label for one in experiment.players] == ["UCBB1", "UCBM1", "Thrifty", "RoundRobin"]
    assert experiment.budgets == tuple(np.geomspace(10.0, 1e4, 25).tolist())
    assert (experiment.runs, experiment.seed) == (100, 0)


def test_a_problem_next_to_the_file(write, tmp_path, monkeypatch):
    (tmp_path / "deep").mkdir()
    catalogue.load("H").save(tmp_path / "deep" / "problem.toml")
    path = write('format = 1\n[experiment]\nproblem = "problem.toml"\nbudget = 10', "deep/e.toml")
    assert load(path).problem == catalogue.load("H")


HEAD = 'format = 1\n[experiment]\nproblem = "G"\nbudget = 10\n'
POLICY = HEAD + "[[policies]]\nname = "
LOGGED = "format = 1\n[experiment]\nbudget = 1\n[log]\n"
SWEEP = HEAD + '[[policies]]\nname = "Frugal"\n[[sweep]]\n'
BAD = [
    ("[experiment]\nbudget = 1", "an experiment starts with the line `format = 1`; this one has format = None"),
    ("format = 2\n[experiment]", "this experiment has format 2, of a newer outlay; this one reads format 1"),
    ("format = 1\nexperiment = 3", "an experiment has an [experiment] table; this one has none"),
    ("format = 1\n[[policies]]", "an experiment has an [experiment] table; this one has none"),
    (f"x = 1\n{HEAD}", "a key of the file must be one of format, experiment, arms, log, policies, sweep; got 'x'"),
    (f"{HEAD}rnus = 3", "a key of [experiment] must be one of title, problem, budgets, budget, requests, mode, runs, "),
    (f"{HEAD}runs = 0", "runs of [experiment] must be a whole number ≥ 1; got 0"),
    (f"{HEAD}seed = -1", "seed of [experiment] must be a whole number ≥ 0; got -1"),
    (f'{HEAD}title = "a\\nb"', "title of [experiment] must be a string of one line, not empty; got 'a"),
    (f"{HEAD}backend = 'moon'", "backend of [experiment] must be one of threads, dask, ray, cuda; got 'moon'"),
    (f"{HEAD}budgets = [1]", "budgets or budget of [experiment] must be given, and not both; got {"),
    (HEAD.replace("budget =", "budgets ="), "budgets of [experiment] must be a list; `budget` is one number; got 10"),
    (HEAD.replace("budget = 10", "budgets = [2, 1]"), "budgets of [experiment] must be in rising order, each once"),
    ("format = 1\n[experiment]\nbudget = 1", "an experiment has a problem in [experiment], [[arms]] or [log], one of"),
    (HEAD.replace('"G"', "3"), "problem of [experiment] must be a name from the catalogue or a file; got 3"),
    (HEAD.replace('"G"', '"nosuch"'), "problem of [experiment] must be a TOML file or a name from the catalogue (G, "),
    (PLAIN.replace("cost_sd", "spread"), "arm 0 ('good'): Gaussian has no argument spread"),
    (PLAIN.replace("reward_sd = 0.5", "reward_sd = -1"), "arm 0 ('good'): reward_sd of Gaussian must be ≥ 0; got -1"),
    ("format = 1\nlog = 3\n[experiment]\nbudget = 1", "[log] of the file must be a table; got 3"),
    (f"{LOGGED}arm = 'a'", "file of [log] must be a string that is not empty; got None"),
    (f"{LOGGED}file = 'a'\nx = 'b'", "a key of [log] must be one of file, arm, cost, "),
    ("format = 1\npolicies = []\n[experiment]\nproblem = 'G'\nbudget = 1", "policies of the file must be a list of"),
    (f"{HEAD}[[policies]]\nlabel = 'a'", "name of policy 1 must be one of UCBB1, UCBM1, "),
    (f"{POLICY}'Frugl'", "; got 'Frugl'"),
    (f"{POLICY}'Frugal'\n[[policies]]\nname = 'Frugal'", "label of policy 2 must be unlike the others"),
    (
        f"{POLICY}'Frugal'\nspeed = 1",
        "a key of policy 'Frugal', Frugal, must be one of name, label, slope, delay, reward_bound; got 'speed'",
    ),
    (
        f"{POLICY}'Frugal'\nslope = 'known'",
        "slope of policy 'Frugal', Frugal, must be a value: a problem knows reward_bound; got 'known'",
    ),
    (f"{POLICY}'Frugal'\nreward_bound = 'known'", "reward_bound is infinite for this problem"),
    (f"{POLICY}'UCBB2'", "UCBB2 needs bounded costs and rewards, and those of arm 'arm 0' are not"),
    (f"{POLICY}'Fixed'\narm = 7", "arm of Fixed must be"),
    (f"{SWEEP}values = [1]", "over of sweep 1 must be a string or a list of strings; got None"),
    (f"{SWEEP}over = 'K'", "values of sweep 1 must be a list of numbers or of strings, not empty; got None"),
    (f"{SWEEP}over = 'K'\nvalues = [1, 'a']", "values of sweep 1 must be all numbers or all strings, each once; got"),
    (f"{SWEEP}over = 'K'\nvalues = [2]\nstep = 1", "a key of sweep 1 must be one of name, over, values; got 'step'"),
    (f"{SWEEP}over = 'K'\nvalues = [0]", "values of a sweep over K must be a whole number ≥ 1; got 0 (at K = 0)"),
    (f"{SWEEP}over = 'seed'\nvalues = [0]", 'over of a sweep must be "K", "arms.FIELD", "arms.NAME.FIELD", "policies.'),
    (
        f"{SWEEP}over = 'arms.corelation'\nvalues = [0]",
        "over of a sweep must be a field of the arms (cost, reward, cost_sd, reward_sd, correlation) or gap; got "
        "'arms.corelation' (at corelation = 0)",
    ),
    (f"{SWEEP}over = 'arms.correlation'\nvalues = [2]", "correlation of Gaussian must be"),
    (f"{SWEEP}over = 'arms.gap'\nvalues = [-1]", "the gap of a sweep must be ≥ 0; got -1 (at gap = −1)"),
    (f"{SWEEP}over = 'arms.arm 0.gap'\nvalues = [1]", "over of a sweep must be about an arm that is not the best one"),
    (f"{SWEEP}over = 'policies.speed'\nvalues = [1]", "must be a parameter of the policies (slope, delay, rewa"),
    (f"{SWEEP}over = 'policies.slope'\nvalues = ['known']", "must be a value: a problem knows reward_bound; got"),
    (
        f"{SWEEP}over = 'policies.slope'\nvalues = [0.5, 0.5000000000000001]",
        "slope = 0.5 and slope = 0.5 would share the folder slope=0.5",
    ),
    (f"{SWEEP}over='K'\nvalues=[2]\nname='{'é' * 127}'", "would have 256 bytes; 255 are allowed: give the sweep"),
    (f"{SWEEP}over='K'\nvalues=[2]\n[[sweep]]\nover='K'\nvalues=[3]", "name of sweep 2 must be unlike the others; got"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "sentence"), BAD)
def test_bad_files_get_one_sentence(write, text, sentence):
    with pytest.raises(BadFile) as refused:
        points_of(load(write(text)))
    said = str(refused.value)
    assert said.startswith("experiment.toml: ")
    assert sentence in said
    assert "\n" not in said


def test_what_is_no_toml(write):
    with pytest.raises(BadFile, match=r"^x.toml is not TOML: .*line 1"):
        load(write("== nothing ==", "x.toml"))
    with pytest.raises(BadFile, match=r"^cannot read nosuch: No such file"):
        load("nosuch")


def test_which_files_are_experiments(write):
    assert is_experiment(str(write(PLAIN)))
    assert is_experiment(str(write("format = 1\n[[policies]]")))
    assert not is_experiment(str(write(catalogue.load("G").to_toml())))
    assert not is_experiment(str(write("== nothing ==")))
    assert not is_experiment("nosuch.toml")
    assert not is_experiment(".")
    write(PLAIN, "G")
    assert not is_experiment("G"), "a name of the catalogue comes first"


def test_the_inline_problem_is_that_of_a_problem_file(write):
    inline = load(write(PLAIN)).problem
    arms = PLAIN[PLAIN.index("[[arms]]") : PLAIN.index("[[policies]]")]
    assert inline == Problem.from_toml("format = 1\n" + arms)


def test_a_sweep_is_not_called_what_another_column_is(write):
    assert Row._fields[1:] == (*TAKEN, "requests")
    with pytest.raises(
        BadFile, match=r"name of sweep 1 must be unlike the other columns of the table .*; got 'policy'"
    ):
        load(write(SWEPT + 'name = "policy"\n'))
