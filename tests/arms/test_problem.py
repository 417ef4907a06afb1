"""Problems: what is true of them, what they refuse, and their TOML files."""

import copy
import math
import pickle
import time
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from outlay import arms
from outlay.arms import Bernoulli, Beta, Constant, Empirical, Gaussian, LawMoments, Linear, Pareto, Problem, Uniform
from outlay.arms.problem_file import LAWS
from outlay.errors import BadFile, BadParameter

PROBLEM = Problem(
    [Gaussian(1.0, 0.9, 0.5, 0.2, 0.5), Bernoulli(0.5, 0.6), Uniform(-2.0, 4.0, -3.0, 1.0), Constant(0.5, 0.6)],
    names=["a", "b", "c", "d"],
)


class Coin(NamedTuple):
    """A user's law."""

    chances: np.ndarray

    def draw(self, rng):
        return 1.0, 1.0 if rng.random() < self.chances[0] else 0.0

    def moments(self):
        return 1.0, self.chances[0], 0.0, self.chances[0] * (1 - self.chances[0]), 0.0


class Odd(NamedTuple):
    """A user's law with whatever moments it is given."""

    values: tuple[Any, ...]

    def draw(self, rng):
        return 1.0, 1.0

    def moments(self):
        return self.values


class Twin(Odd):
    """Another law with the same fields."""


def test_properties():
    np.testing.assert_array_equal(PROBLEM.mean_costs, [1.0, 0.5, 1.0, 0.5])
    np.testing.assert_array_equal(PROBLEM.mean_rewards, [0.9, 0.6, -1.0, 0.6])
    np.testing.assert_allclose(PROBLEM.rates, [0.9, 1.2, -1.0, 1.2])
    np.testing.assert_allclose(PROBLEM.gaps, [0.3, 0.0, 2.2, 0.0], atol=1e-15)
    assert PROBLEM.best == 1  # the first of two
    assert PROBLEM.rate == pytest.approx(1.2)
    assert len(PROBLEM) == 4
    second = PROBLEM.second_moments()
    np.testing.assert_allclose(second["var_cost"], [0.25, 0.25, 3.0, 0.0])
    np.testing.assert_allclose(second["var_reward"], [0.04, 0.24, 4 / 3, 0.0])
    np.testing.assert_allclose(second["cov"], [0.05, 0.0, 0.0, 0.0])


def test_rates_that_only_rounding_parts_are_ties():
    problem = Problem([Constant(0.1, 0.3), Constant(1, 3), Constant(1, 3 - 1e-9)])
    assert problem.best == 0
    assert problem.gaps[:2].tolist() == [0.0, 0.0]
    assert problem.rates[0] == problem.rates[1] == problem.rate
    assert problem.gaps[2] == pytest.approx(1e-9)
    losing = Problem([Constant(1, -3), Constant(0.1, -0.3), Constant(1, -3.1)])
    assert losing.gaps[:2].tolist() == [0.0, 0.0]
    assert losing.best == 0
    assert Problem([Constant(1, 0), Constant(1, -1e-300)]).gaps.tolist() == [0.0, 1e-300]


def test_arrays_are_contiguous_floats_and_read_only():
    second = PROBLEM.second_moments()
    for array in (PROBLEM.mean_costs, PROBLEM.rates, PROBLEM.gaps, second["var_cost"], second["cov"]):
        assert array.dtype == np.float64
        assert array.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    assert PROBLEM.rates is PROBLEM.rates


def test_bounds():
    assert PROBLEM.bounds() == {"cost_bound": math.inf, "reward_bound": math.inf}
    bounded = Problem(PROBLEM.arms[1:])
    assert bounded.bounds() == {"cost_bound": 4.0, "reward_bound": 3.0}
    assert Problem([Coin(np.array([0.5]))]).bounds()["cost_bound"] == math.inf


def test_default_names_and_repr():
    problem = Problem([Constant(1, 2), Constant(1, 3)])
    assert problem.names == ("arm 0", "arm 1")
    assert repr(problem) == "Problem([Constant(cost=1.0, reward=2.0), Constant(cost=1.0, reward=3.0)])"
    assert eval(repr(PROBLEM), vars(arms)) == PROBLEM
    assert "<88 more>" in repr(Problem([Constant(1, 2)] * 100))


def test_values_compare_hash_and_cannot_change():
    twin = Problem(list(PROBLEM.arms), list(PROBLEM.names))
    assert twin == PROBLEM
    assert hash(twin) == hash(PROBLEM)
    assert Problem(PROBLEM.arms) != PROBLEM
    assert Problem(PROBLEM.arms[::-1], PROBLEM.names) != PROBLEM
    assert PROBLEM != "PROBLEM"
    coins = [Problem([Coin(np.array([chance]))]) for chance in (0.5, 0.5, 0.6)]
    assert coins[0] == coins[1] != coins[2]
    assert hash(coins[0]) == hash(coins[1])
    for copied in (copy.deepcopy(PROBLEM), pickle.loads(pickle.dumps(PROBLEM))):
        assert copied == PROBLEM
        assert not copied.rates.flags.writeable
    lines = [Problem([Linear(Coin(np.array([chance])), 1.0)]) for chance in (0.5, 0.5, 0.6)]
    assert lines[0] == lines[1] != lines[2]
    assert hash(lines[0]) == hash(lines[1])
    deep = [Problem([Odd((1.0, 1.0, 1.0, 1.0, np.array(0.0)))]) for _ in range(2)]
    assert deep[0] == deep[1]
    assert hash(deep[0]) == hash(deep[1])
    whole, real = (Problem([Coin(np.array([1], dtype))]) for dtype in (np.int64, np.float64))
    assert whole == real
    assert hash(whole) == hash(real)
    assert Problem([Linear(Odd((1, 1, 1, 1, 0)), 1.0)]) != Problem([Linear(Twin((1, 1, 1, 1, 0)), 1.0)])
    with pytest.raises(AttributeError, match="cannot be changed"):
        PROBLEM.names = ("x",)
    with pytest.raises(AttributeError, match="cannot be changed"):
        del PROBLEM.arms


ONE = [Constant(1, 1)]
BAD = [
    ([], None, "arms of Problem must be a sequence of at least one law; got []"),
    (3, None, "arms of Problem must be a sequence of laws; got 3"),
    (Constant(1, 1), None, "arms of Problem must be a sequence of laws; got Constant(cost=1.0, reward=1.0)"),
    (["a"], None, "arm 0 of Problem must be a law: a NamedTuple with methods draw(rng) and moments(); got 'a'"),
    ([*ONE, Gaussian(0, 1, 1, 1)], None, "the mean cost of 'arm 1' of Problem must be a finite number > 0; got 0.0"),
    ([Gaussian(-1, 1, 1, 1)], ["x"], "the mean cost of 'x' of Problem must be a finite number > 0; got -1.0"),
    ([Odd((1, math.nan, 1, 1, 0))], None, "the mean reward of 'arm 0' of Problem must be a finite number; got nan"),
    ([Odd((math.inf, 1, 1, 1, 0))], None, "the mean cost of 'arm 0' of Problem must be a finite number > 0; got inf"),
    (
        [Odd((1, 1, -1, 1, 0))],
        None,
        "the variances of 'arm 0' of Problem must be ≥ 0, with a covariance; got (-1.0, 1.0, 0.0)",
    ),
    (
        [Odd((1, 1, 0.1, 0.1, -5))],
        None,
        "the covariance of 'arm 0' of Problem must be within ±√(Var(cost)·Var(reward)) = ±0.1; got -5.0",
    ),
    ([Odd((1, 1))], None, "the moments of 'arm 0' of Problem must be five numbers; got (1, 1)"),
    ([Odd((1, 1, 1, 1, "x"))], None, "the moments of 'arm 0' of Problem must be five numbers; got (1, 1, 1, 1, 'x')"),
    (ONE, "a", "names of Problem must be a sequence of strings; got 'a'"),
    (ONE, ["a", "b"], "names of Problem must be 1, as many as arms; got 2"),
    (ONE * 2, ["a", "a"], "name 1 of Problem must be unlike the others; got 'a'"),
    (ONE, [""], "name 0 of Problem must be a string, not blank and without control characters; got ''"),
    (ONE, ["a\nb"], "name 0 of Problem must be a string, not blank and without control characters; got 'a\\nb'"),
    (ONE, [3], "name 0 of Problem must be a string, not blank and without control characters; got 3"),
]


@pytest.mark.parametrize(("laws", "names", "sentence"), BAD)
def test_bad_problems_are_refused_in_one_sentence(laws, names, sentence):
    with pytest.raises(BadParameter) as error:
        Problem(laws, names)
    assert str(error.value) == sentence


def test_covariances_at_their_limit_are_legal():
    almost = math.nextafter(1.0, 0.0)
    for law in (
        Gaussian(1, 1, 0.1, 0.3, 1),
        Gaussian(1, 1, 1e-170, 1, 1),  # whose variance of the cost underflows
        Bernoulli(almost, almost, 1),
        Bernoulli(1 - 1e-12, 1 - 1e-12, 1),
        Linear(Pareto(1, 1, 1.5), -2),
        Odd((1, 1, math.inf, 0, 7)),
        Empirical(np.linspace(1e9, 1e9 + 1, 1000), np.linspace(1e9, 1e9 + 1, 1000)),
    ):
        assert len(Problem([law])) == 1


def test_infinite_variances_are_legal():
    assert Problem([Pareto(1, 1, 1.5)]).second_moments()["var_cost"][0] == math.inf


def numbers(low: float, high: float):
    return st.floats(low, high, allow_nan=False)


def made(law: Any, *arguments: st.SearchStrategy[float]) -> st.SearchStrategy[Any]:
    return st.tuples(*arguments).map(lambda values: law(*values))


means, sds, small = numbers(0.1, 50), numbers(0.05, 5), numbers(-0.01, 0.01)
columns = st.integers(1, 4).flatmap(lambda n: st.tuples(*[st.lists(numbers(0.1, 1e9), min_size=n, max_size=n)] * 2))
simple = st.one_of(
    made(Gaussian, means, numbers(-1e300, 1e300), sds, numbers(0, 1e9), numbers(-1, 1)),
    made(Bernoulli, numbers(0.2, 1), numbers(0, 1)),
    made(Bernoulli, numbers(0.2, 0.8), numbers(0.2, 0.8), numbers(-0.2, 0.2)),
    made(Beta, st.sampled_from([0.3, 0.5]), numbers(0.4, 0.5), st.just(0.1), st.just(0.2), numbers(-0.5, 0.5)),
    made(Uniform, numbers(-1, 0), numbers(1.5, 2), numbers(-1, 0), numbers(0, 1), numbers(-1, 1)),
    columns.map(lambda pair: arms.Discrete(pair[0], pair[1], [1 / len(pair[0])] * len(pair[0]))),
    columns.map(lambda pair: Empirical(*pair)),
    made(Constant, numbers(5e-324, 1e308), numbers(-1e308, 1e308)),
    made(arms.Exponential, means, means, numbers(0, 1)),
    made(arms.Gamma, means, means, sds, sds),
    made(arms.Lognormal, means, means, sds, sds, numbers(0, 1e-6)),
    made(Pareto, means, means, numbers(1.1, 9), numbers(1.1, 9)),
    made(arms.StudentT, means, means, sds, sds, numbers(2.1, 9), numbers(-1, 1)),
)
every_law = st.one_of(simple, made(Linear, simple, numbers(-1, 1), small, sds))
labels = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1).filter(str.strip)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(every_law, labels), min_size=1, max_size=4, unique_by=lambda pair: pair[1]))
def test_toml_round_trip(pairs):
    problem = Problem([law for law, _ in pairs], [name for _, name in pairs])
    again = Problem.from_toml(problem.to_toml())
    assert again == problem
    assert again.to_toml() == problem.to_toml()


def test_every_law_of_the_package_has_its_name_in_a_file():
    exported = {value for value in vars(arms).values() if isinstance(value, type) and issubclass(value, arms.Law)}
    assert exported - {arms.Law} == set(LAWS.values())


def test_files_round_trip(tmp_path: Path):
    path = tmp_path / "problem.toml"
    PROBLEM.save(path)
    assert Problem.load(str(path)) == PROBLEM


def test_numbers_may_be_whole_and_names_left_out():
    text = 'format = 1\n[[arms]]\nlaw = "Constant"\ncost = 2\nreward = 1\n'
    assert Problem.from_toml(text) == Problem([Constant(2.0, 1.0)])


KNOWN = f"; the known laws are {', '.join(LAWS)}"
NO_LAW = "must be a law: a NamedTuple with methods draw(rng) and moments(); got"
HEAD = "format = 1\n[[arms]]\n"
CONSTANT = 'law = "Constant"\ncost = 1\nreward = 1\n'
BROKEN = [
    ("format = ", "this is not TOML: Invalid value (at end of document)"),
    ("a = 1\na = 2\n", "this is not TOML: Cannot overwrite a value (at line 2, column 6)"),
    ("a = " + "[" * 5000, "this is not TOML: it is nested too deeply"),
    ("", "a problem starts with the line `format = 1`; this one has none"),
    ('format = "1"', "a problem starts with the line `format = 1`; this one has format = '1'"),
    ("format = 2", "this problem has format 2, written by a newer outlay; this one reads format 1"),
    ("format = 1", "a problem has one `[[arms]]` table per arm; this one has none"),
    ("format = 1\narms = 3", "a problem has one `[[arms]]` table per arm; this one has none"),
    ("format = 1\nx = 1\ny = 1", "a problem has `format` and `[[arms]]` tables only; this one also has x, y"),
    (HEAD + "cost = 1", "arm 0 ('arm 0') has no `law`" + KNOWN),
    (HEAD + 'name = "a"\nlaw = "Gauss"', "arm 0 ('a') has the unknown law 'Gauss'" + KNOWN),
    (HEAD + "law = [1]", "arm 0 ('arm 0') has the unknown law [1]" + KNOWN),
    (HEAD + 'law = "Constant"\nreward = 1', "arm 0 ('arm 0'): Constant lacks its argument cost"),
    (HEAD + CONSTANT + "price = 1", "arm 0 ('arm 0'): Constant has no argument price; it has cost, reward"),
    (
        HEAD + 'law = "Constant"\ncost = "1"\nreward = 1',
        "arm 0 ('arm 0'): cost of Constant must be a finite number; got '1'",
    ),
    (
        HEAD + 'law = "Constant"\ncost = nan\nreward = 1',
        "arm 0 ('arm 0'): cost of Constant must be a finite number; got nan",
    ),
    (HEAD + 'law = "Linear"\nslope = 1\ncost = {law = "X"}', "arm 0 ('arm 0'), cost has the unknown law 'X'" + KNOWN),
    (HEAD + 'law = "Linear"\nslope = 1\ncost = 2', f"arm 0 ('arm 0'): cost of Linear {NO_LAW} 2"),
    (
        HEAD + 'law = "Constant"\ncost = -1\nreward = 1',
        "the mean cost of 'arm 0' of Problem must be a finite number > 0; got -1.0",
    ),
    (
        HEAD + "name = 3\n" + CONSTANT,
        "name 0 of Problem must be a string, not blank and without control characters; got 3",
    ),
    (
        HEAD + 'name = "a"\n' + CONSTANT + '[[arms]]\nname = "a"\n' + CONSTANT,
        "name 1 of Problem must be unlike the others; got 'a'",
    ),
]


@pytest.mark.parametrize(("text", "sentence"), BROKEN)
def test_broken_toml_is_refused_in_one_sentence(text, sentence):
    with pytest.raises(BadFile) as error:
        Problem.from_toml(text)
    assert str(error.value) == sentence


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path):
    (tmp_path / "bom.toml").write_text(PROBLEM.to_toml(), encoding="utf-8-sig")
    assert Problem.load(tmp_path / "bom.toml") == PROBLEM
    assert Problem.from_toml("\ufeff" + PROBLEM.to_toml()) == PROBLEM


@pytest.mark.parametrize("text", [b"", None, 3])
def test_what_is_no_text_is_refused(text):
    with pytest.raises(BadParameter, match=r"^text of from_toml must be a string; got "):
        Problem.from_toml(text)


def test_many_arms_take_little_longer_than_their_toml():
    """20 000 arms: about 1.5 times the parser's own time; a quadratic step makes it 8 times."""
    text = Problem([Constant(1.0, 1.0)] * 20_000).to_toml()
    start = time.process_time()
    tomllib.loads(text)
    parsed = time.process_time()
    assert len(Problem.from_toml(text)) == 20_000
    assert time.process_time() - parsed < 4 * (parsed - start)


def test_broken_files_are_refused_with_their_path(tmp_path: Path):
    missing, binary, wrong = tmp_path / "none.toml", tmp_path / "binary.toml", tmp_path / "wrong.toml"
    binary.write_bytes(b"\xff\xfe")
    wrong.write_text("format = 9")
    for path, end in (
        (missing, "No such file or directory"),
        (tmp_path, "Is a directory"),
        (binary, "is not a text file in UTF-8"),
        (wrong, "this one reads format 1"),
    ):
        with pytest.raises(BadFile) as error:
            Problem.load(path)
        assert str(path) in str(error.value)
        assert str(error.value).endswith(end)
    with pytest.raises(BadFile, match="cannot write"):
        PROBLEM.save(tmp_path)


def test_a_users_law_cannot_be_saved():
    class Gaussian(NamedTuple):  # a name of ours does not make it ours
        cost: float

        def draw(self, rng):
            return self.cost, 1.0

        def moments(self):
            return LawMoments(self.cost, 1.0, 0.0, 0.0, 0.0)

    for law in (Gaussian(1.0), Linear(Gaussian(1.0), 1.0)):
        with pytest.raises(BadFile) as error:
            Problem([law]).to_toml()
        assert (
            str(error.value)
            == "arm 'arm 0' has the user-defined law Gaussian, and only laws of outlay.arms can be saved"
        )
