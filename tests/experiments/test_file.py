"""Experiment files: what they may say, one sentence for everything else, logs, and what sweeps change."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.arms import conftest

from outlay.arms import Bernoulli, Empirical, Gaussian, Linear, Pareto, Problem, Uniform, catalogue
from outlay.errors import BadFile, BadParameter, NotCovered
from outlay.experiments import Experiment, is_experiment, load, points_of
from outlay.experiments.file import PolicyEntry, Sweep, moved
from outlay.policies import BY_NAME, UCBB1, UCBM1
from outlay.problem_policies import policy_for

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
    (f"x = 1\n{HEAD}", "a key of the file must be one of format, experiment, arms, log, policies, sweep; got 'x'"),
    (f"{HEAD}rnus = 3", "a key of [experiment] must be one of title, problem, budgets, budget, requests, mode, runs, "),
    (f"{HEAD}runs = 0", "runs of [experiment] must be a whole number ≥ 1; got 0"),
    (f'{HEAD}title = "a\\nb"', "title of [experiment] must be a string of one line, not empty; got 'a"),
    (f"{HEAD}backend = 'moon'", "backend of [experiment] must be one of threads, dask, ray, cuda; got 'moon'"),
    (f"{HEAD}budgets = [1]", "budgets or budget of [experiment] must be given, and not both; got {"),
    (HEAD.replace("budget =", "budgets ="), "budgets of [experiment] must be a list; `budget` is one number; got 10"),
    (HEAD.replace("budget = 10", "budgets = [2, 1]"), "budgets of [experiment] must be in rising order, each once"),
    ("format = 1\n[experiment]\nbudget = 1", "an experiment has a problem in [experiment], [[arms]] or [log], one of"),
    (HEAD.replace('"G"', "3"), "problem of [experiment] must be a name from the catalogue or a file; got 3"),
    (HEAD.replace('"G"', '"nosuch"'), "problem of [experiment] must be a TOML file or a name from the catalogue (G, "),
    (PLAIN.replace("cost_sd", "spread"), "arm 0 ('good'): Gaussian has no argument spread"),
    ("format = 1\nlog = 3\n[experiment]\nbudget = 1", "[log] of the file must be a table; got 3"),
    (f"{LOGGED}arm = 'a'", "file of [log] must be a string that is not empty; got None"),
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
    (f"{SWEEP}values = [1]", "over of sweep 1 must be a string or a list of strings; got None"),
    (f"{SWEEP}over = 'K'", "values of sweep 1 must be a list of numbers or of strings, not empty; got None"),
    (f"{SWEEP}over = 'K'\nvalues = [1, 'a']", "values of sweep 1 must be all numbers or all strings, each once; got"),
    (f"{SWEEP}over = 'K'\nvalues = [0]", "values of a sweep over K must be a whole number ≥ 1; got 0 (at K = 0)"),
    (f"{SWEEP}over = 'seed'\nvalues = [0]", 'over of a sweep must be "K", "arms.FIELD", "arms.NAME.FIELD", "policies.'),
    (
        f"{SWEEP}over = 'arms.corelation'\nvalues = [0]",
        "over of a sweep must be a field of the arms (cost, reward, cost_sd, reward_sd, correlation) or gap; got "
        "'arms.corelation' (at corelation = 0)",
    ),
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
    (f"{HEAD}requests = 2.5", "requests of [experiment] must be a whole number ≥ 1, or None; got 2.5"),
    (HEAD.replace("budget = 10", "budgets = [5, 9]") + "requests = [1, 2, 3]", "one for each of the 2 budgets"),
    (HEAD.replace("budget = 10", "budgets = [inf]"), "must be a finite number > 0, unless requests is given; got inf"),
    (f"{HEAD}mode = 'soft'", "mode of [experiment] must be one of until_exceeded, hard; got 'soft'"),
    (f"{SWEEP}over = 'budget_per_request'\nvalues = [1]", "must be in [experiment], or swept"),
    (f"{SWEEP}over = 'requests'\nvalues = [0.5]", "must be a whole number ≥ 1; got 0.5"),
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


# The first of each law: of some others the mean reward cannot be moved alone.
EXAMPLES = list({type(law): law for law in reversed(conftest.LAWS)}.values())
FRUGAL = PolicyEntry("Frugal", "v2.0 Frugal", {})


def started(problem: Problem, players: tuple[PolicyEntry, ...]) -> Experiment:
    return Experiment(Path(), "", problem, players, (10.0,), 1, 0, "threads", None, 10**9, ())


def moved_problem(problem: Problem, target: str, value: float) -> Any:
    return moved(started(problem, (FRUGAL,)), target, value).problem


def test_a_field_of_all_arms_that_have_it():
    problem = Problem([Gaussian(1, 1, 1, 1), Pareto(1, 1), Gaussian(1, 2, 1, 1)], names=["a", "b", "c"])
    found = moved_problem(problem, "arms.correlation", 0.5)
    assert [getattr(law, "correlation", None) for law in found.arms] == [0.5, None, 0.5]
    assert found.names == problem.names
    assert found.arms[1] == problem.arms[1]
    assert moved_problem(problem, "arms.correlation", 0.0) == problem


def test_a_field_of_one_arm_and_of_a_law_in_a_law():
    problem = Problem([Linear(Pareto(1, 1), 0.5), Gaussian(1, 1, 1, 1)], names=["a.b", "a"])
    assert moved_problem(problem, "arms.a.b.slope", 2).arms[0].slope == 2.0
    assert moved_problem(problem, "arms.a.b.cost.cost_tail", 2.5).arms[0].cost.cost_tail == 2.5
    assert moved_problem(problem, "arms.a.reward", 3).arms[1].reward == 3.0
    with pytest.raises(BadParameter, match=r"a field of the arms \(cost, reward, cost_sd, "):
        moved_problem(problem, "arms.a.slope", 2)


@pytest.mark.parametrize("law", EXAMPLES, ids=repr)
def test_the_gap_of_every_law(law):
    best = Gaussian(1.0, 1.0 + law.moments().mean_reward / law.moments().mean_cost, 0.1, 0.1)
    problem = Problem([law, best], names=["law", "best"])
    wanted = problem.gaps[0] - 1e-3  # for laws whose rewards can only be in a range
    found = moved_problem(problem, "arms.gap", wanted)
    assert found.gaps == pytest.approx([wanted, 0.0])
    assert found.mean_costs.tolist() == problem.mean_costs.tolist()
    assert moved_problem(problem, "arms.law.gap", wanted) == found


def test_the_number_of_arms():
    problem = Problem([Bernoulli(0.5, 0.1), Uniform(0, 1, 0, 1), Bernoulli(0.5, 0.2)], names=["a", "best", "c"])
    assert moved_problem(problem, "K", 3) == problem
    assert moved_problem(problem, "K", 1).names == ("best",)
    assert moved_problem(problem, "K", 2).names == ("a", "best")
    assert moved_problem(problem, "K", 6).names == ("a", "best", "c", "a (2)", "c (2)", "a (3)")
    many = moved_problem(problem, "K", 50)
    assert len(many) == 50
    assert np.count_nonzero(many.gaps == 0) == 1
    with pytest.raises(BadParameter, match="the problem of a sweep over K must be of two arms or more"):
        moved_problem(Problem([Bernoulli(0.5, 0.5)]), "K", 2)


def test_a_parameter_of_policies():
    players = (FRUGAL, PolicyEntry("Frugal", "b", {"slope": 1.0, "delay": 2.0}), PolicyEntry("RoundRobin", "c", {}))
    setup = started(catalogue.load("G"), players)
    assert [one.parameters.get("slope") for one in moved(setup, "policies.slope", 0.5).players] == [0.5, 0.5, None]
    one = moved(setup, "policies.v2.0 Frugal.slope", 0.5)
    assert [one.parameters.get("slope") for one in one.players] == [0.5, 1.0, None]
    assert one.players[1].parameters == {"slope": 1.0, "delay": 2.0}
    with pytest.raises(BadParameter, match="must be a parameter, and they have none"):
        moved(setup, "policies.c.slope", 1)


@pytest.mark.parametrize(
    "name", sorted(BY_NAME.keys() - {"Forgetful", "LinearRation", "LinUCB", "LinTS"})
)  # which lack facts
def test_players_without_parameters_are_those_of_the_command(name):
    problem = catalogue.load("bounded")
    assert PolicyEntry(name, name, {}).on(problem) == policy_for(problem, name)


def test_what_a_file_gives_replaces_what_is_known():
    problem = catalogue.load("G")
    known = UCBB1(**problem.second_moments(), min_cost=0.4)
    assert PolicyEntry("UCBB1", "a", {"alpha": 3, "cov": "known"}).on(problem) == known._replace(alpha=3)
    assert PolicyEntry("UCBB1", "a", {"cov": 0.0}).on(problem) == known._replace(cov=[0.0])
    bounded = PolicyEntry("UCBB1", "a", {"cost_bound": 1.0, "reward_bound": 1.0}).on(problem)
    assert isinstance(bounded, UCBB1)
    assert bounded.chosen_factor == 2.0, "it follows from the bounds that were given"


def test_a_file_that_says_everything_needs_no_problem_that_knows():
    wild = Problem([Pareto(1, 1, 1.5, 1.5), Pareto(1, 0.5)])
    given = {"var_cost": 1.0, "var_reward": 1.0, "cov": 0.0}
    assert PolicyEntry("UCBM1", "a", given).on(wild) == UCBM1(1.0, 1.0, 0.0, min_cost=1e-12)
    for parameters in ({**given, "cov": "known"}, {"var_cost": 1.0}, {}):
        lacking = (
            "cov" if len(parameters) == 3 else "cov and var_reward" if parameters else "cov, var_cost and var_reward"
        )
        with pytest.raises(NotCovered, match=f"^UCBM1 lacks {lacking}, .*: UCBM1 needs finite second moments"):
            PolicyEntry("UCBM1", "a", parameters).on(wild)
    with pytest.raises(NotCovered, match=r"^UCBB2C lacks slope_bound, which the file must give, "):
        PolicyEntry("UCBB2C", "a", {"cost_bound": 1.0, "reward_bound": 1.0}).on(catalogue.load("G"))
