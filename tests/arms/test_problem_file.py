"""Problems as TOML: what is written is read back, and what is broken is refused in one sentence."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from outlay import arms
from outlay.arms import Bernoulli, Beta, Constant, Empirical, Gaussian, Linear, Pareto, Problem, Uniform
from outlay.arms.problem_file import LAWS
from outlay.errors import BadFile

PROBLEM = Problem([Gaussian(1.0, 0.9, 0.5, 0.2, 0.5), Constant(0.5, 0.6)], names=["a", "b"])


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


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(every_law, labels), min_size=1, max_size=4, unique_by=lambda pair: pair[1]))
def test_toml_round_trip(pairs):
    problem = Problem([law for law, _ in pairs], [name for _, name in pairs])
    again = Problem.from_toml(problem.to_toml())
    assert again == problem
    assert again.to_toml() == problem.to_toml()


def test_every_law_of_the_package_has_its_name_in_a_file():
    exported = {value for value in vars(arms).values() if isinstance(value, type) and issubclass(value, arms.Law)}
    assert exported - {arms.Law} == set(LAWS.values())


KNOWN = f"; the known laws are {', '.join(LAWS)}, yours as file.py:Name"
HEAD = "format = 1\n[[arms]]\n"
CONSTANT = 'law = "Constant"\ncost = 1\nreward = 1\n'
BROKEN = [
    ("format = ", "this is not TOML: Invalid value (at end of document)"),
    ("a = " + "[" * 5000, "this is not TOML: it is nested too deeply"),
    ("", "a problem starts with the line `format = 1`; this one has none"),
    ('format = "1"', "a problem starts with the line `format = 1`; this one has format = '1'"),
    ("format = 1", "a problem has one `[[arms]]` table per arm; this one has none"),
    (
        "format = 1\nx = 1\ny = 1",
        "a problem has `format`, `[[arms]]` and `[[changes]]` tables only; this one also has x, y",
    ),
    (
        "format = 1\nchanges = [{start = 3, arms = [3]}]\n[[arms]]\n" + CONSTANT,
        "change 0 has a `start` and 1 `[[changes.arms]]`, one for each arm, and no more",
    ),
    (
        HEAD + CONSTANT + "[changes]\nstart = 3",
        "a problem has one `[[changes]]` table per change; this one has one `changes` for all",
    ),
    (HEAD + "cost = 1", "arm 0 ('arm 0') has no `law`" + KNOWN),
    (
        HEAD + 'name = "a"\nlaw = "Gauss"',
        "arm 0 ('a') has the unknown law 'Gauss'" + KNOWN + " (did you mean Gaussian?)",
    ),
    (HEAD + 'law = "Constant"\nreward = 1', "arm 0 ('arm 0'): Constant lacks its argument cost"),
    (HEAD + CONSTANT + "price = 1", "arm 0 ('arm 0'): Constant has no argument price; it has cost, reward"),
    (
        HEAD + 'law = "Constant"\ncost = "1"\nreward = 1',
        "arm 0 ('arm 0'): cost of Constant must be a finite number; got '1'",
    ),
    (HEAD + 'law = "Linear"\nslope = 1\ncost = {law = "X"}', "arm 0 ('arm 0'), cost has the unknown law 'X'" + KNOWN),
    (
        HEAD + 'law = "Constant"\ncost = -1\nreward = 1',
        "the mean cost of 'arm 0' of Problem must be a finite number > 0; got -1.0",
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
