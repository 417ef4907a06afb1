"""Whether contexts would pay: the estimate against a slow twin, intervals over logs with a known gain, bad columns."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.context_advice import DESIGNS, drawn, played

from outlay.advice import advise
from outlay.advice.answer import data_of
from outlay.advice.contexts import (
    APART,
    FIRST,
    PARTS,
    ArmModel,
    fitted_chances,
    gain_of,
    held_out,
    model_of,
    ridge,
    rule_of,
)
from outlay.errors import BadFile, BadParameter
from outlay.theory.fluid_optimum import fluid_at

TOLD, FITTED, PAIRED, SERVED = (DESIGNS[index] for index in (4, 5, 6, 9))


def routed(rows: int = 3000, seed: int = 0, gain: float = 1.0) -> pd.DataFrame:
    """Three models; large ones pay for maths and long requests, which they are given more often."""
    rng = np.random.default_rng(seed)
    topic, words = rng.choice(["chat", "code", "maths"], rows, p=[0.5, 0.3, 0.2]), rng.lognormal(5.0, 1.0, rows)
    hard = gain * (0.7 * (topic == "maths") + 0.15 * (words > 150.0))
    chances = np.where(hard[:, None] < 0.3, [0.5, 0.3, 0.2], [0.2, 0.3, 0.5])
    chosen = (rng.random((rows, 1)) > chances.cumsum(axis=1)).sum(axis=1)
    solved = rng.random(rows) < np.array([0.80, 0.85, 0.95])[chosen] - np.array([1.0, 0.7, 0.1])[chosen] * hard
    cost = np.array([1.0, 2.0, 4.0])[chosen] * rng.lognormal(-0.125, 0.5, rows)
    arm = np.array(["small", "medium", "large"])[chosen]
    frame = pd.DataFrame({"arm": arm, "cost": cost, "reward": solved.astype(int), "topic": topic, "words": words})
    return frame.assign(p=chances[np.arange(rows), chosen])


def asked(frame: Any, **options: Any) -> Any:
    told: dict[str, Any] = {"requests": 1000, "context": ["topic", "words"], "chance": "p", "rehearse": False}
    return advise(frame, 2000.0, **(told | options))


@pytest.mark.parametrize("design", [TOLD, FITTED, PAIRED, SERVED], ids=lambda design: design.label)
def test_values_are_those_of_the_slow_twin(design: Any) -> None:
    """Row by row, arm by arm, as the formula says it, with models and chances of the other eighths."""
    log = drawn(design._replace(rows=240), np.random.default_rng(1))
    held = held_out(log, design.each, seed=3)
    order = np.random.default_rng(3).permutation(240)
    parts = [order[size * 30 : size * 30 + 30] for size in range(PARTS)]
    assert held.rows.tolist() == np.concatenate(parts[FIRST:]).tolist()
    for fold, rules in enumerate(held.rules):
        others = log.part(np.concatenate([own for index, own in enumerate(parts) if index != fold + FIRST]))
        model, estimated = model_of(others), fitted_chances(others)
        for place in np.flatnonzero(held.folds == fold).tolist():
            row = held.rows[place]
            here = log.features[row : row + 1]
            for index, rule in enumerate(rules):
                cost = reward = 0.0
                for arm, share in enumerate(rule.chances(here)[0].tolist()):
                    guess = model(here)[0, arm]
                    off = log.outcomes[row, arm] - guess
                    if design.chance == "paired":
                        found = guess + off
                    elif log.used[row, arm]:
                        chance = estimated(here)[0, arm] if log.chances is None else log.chances[row]
                        found = guess + off / max(chance, 0.01)
                    else:
                        found = guess
                    cost, reward = cost + share * found[0], reward + share * found[1]
                assert held.values[index, place] == pytest.approx([cost, reward], rel=1e-6, abs=1e-9)


def test_ridge_is_the_best_of_its_penalties() -> None:
    """Against normal equations and the trace of the hat matrix, penalty by penalty."""
    rng = np.random.default_rng(2)
    features = rng.normal(size=(60, 3))
    outcomes = features @ [1.0, -0.5, 0.0] + rng.normal(size=60)
    errors = {}
    for penalty in [*(60.0 * 10.0 ** np.linspace(-4.0, 3.0, 15)), np.inf]:
        inverse = np.zeros((3, 3)) if np.isinf(penalty) else np.linalg.inv(features.T @ features + penalty * np.eye(3))
        slopes = inverse @ features.T @ outcomes
        free = 60.0 - 1.0 - np.trace(features @ inverse @ features.T)
        errors[((outcomes - features @ slopes) ** 2).sum() / free**2] = slopes
    assert ridge(features, outcomes) == pytest.approx(errors[min(errors)])


@pytest.mark.parametrize("each", [0.3, 1.5, 3.0, 9.0])
def test_the_rule_without_contexts_is_the_best_mix(each: float) -> None:
    """With constant means, a rule spends and earns what the fluid optimum does; above the dearest arm, no more."""
    means = np.array([[1.0, 0.6], [2.0, 0.7], [4.0, 0.9]])
    blind = ArmModel(np.zeros(1), means, np.zeros((1, 3, 2)), means, means)
    cost, reward = rule_of(blind, np.zeros((1, 1)), each).chances(np.zeros((1, 1)))[0] @ means
    best = fluid_at(means[:, 0].copy(), means[:, 1].copy(), each)
    assert (cost, reward) == pytest.approx((min(each, 4.0), best.value))


@pytest.mark.parametrize("each", [None, 1.5])
def test_the_rule_with_contexts_beats_every_other_by_its_means(each: float | None) -> None:
    """All rules that name one of two arms for each of four requests, one by one."""
    rng = np.random.default_rng(4)
    means = np.stack([np.array([1.0, 3.0]) * rng.uniform(0.5, 1.5, (4, 2)), rng.random((4, 2))], axis=-1)
    model = ArmModel(np.zeros(4), np.zeros((2, 2)), means, np.full((2, 2), -9.0), np.full((2, 2), 9.0))
    chances = rule_of(model, np.eye(4), each).chances(np.eye(4))
    cost, reward = np.einsum("ik,iko->o", chances, means) / 4.0
    for number in range(16):
        arms = [number >> place & 1 for place in range(4)]
        other = means[np.arange(4), arms].mean(axis=0)
        if each is None:
            assert reward / cost >= other[1] / other[0] - 1e-12
        elif other[0] <= each:
            assert cost == pytest.approx(each)
            assert reward >= other[1] - 1e-12


@pytest.mark.parametrize("logs", [40, pytest.param(2000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("design", [DESIGNS[3], SERVED], ids=lambda design: design.label)
def test_intervals_hold_the_gain(design: Any, logs: int) -> None:
    """93.5 to 96.5 %, and three standard deviations of chance (1 in 370)."""
    found = np.array([played(design, seed) for seed in range(logs)])
    told = found[found[:, 0] > 0.0]
    held = 1.0 - told[:, 1:3].sum(axis=1).mean()
    assert abs(held - 0.95) < 0.015 + 3.0 * (0.05 * 0.95 / len(told)) ** 0.5


def test_a_choice_by_contexts_is_undone() -> None:
    """Hard requests were given to large models: plain means mislead, told and estimated chances agree."""
    frame = routed(6000)
    plain = frame.groupby("arm")["reward"].mean()
    for options in ({}, {"chance": None}):
        found = asked(frame, requests=None, **options).contexts
        value, low, high = found.without.value
        truth = 0.8 - 1.0 * (0.2 * 0.7 + 0.5 * 0.15)
        assert low < truth < high, value
        assert plain["small"] > truth + 3 * (high - low) / 4


def test_gain_and_none() -> None:
    found = asked(routed())
    assert found.contexts.gain.low > 0.0
    assert found.answer[-1].startswith("Contexts (topic and words) would pay: +")
    assert "A campaign is told of them by its `context`." in found.answer[-1]
    assert found.contexts.without.cost == pytest.approx(2.0, rel=0.1)
    none = asked(routed(gain=0.0))
    assert none.contexts.gain is None or none.contexts.gain.low <= 0.0
    assert none.answer[-1].startswith("No gain from contexts (topic and words) is visible: ")
    assert advise(routed(), 100.0, rehearse=False).contexts is None


def test_rules_that_hardly_differ_have_no_interval() -> None:
    """By the rate alone the small model is best for all: then there is nothing to value."""
    found = asked(routed(gain=0.0), requests=None)
    assert found.contexts.apart < APART
    assert found.contexts.gain is found.contexts.share is None
    assert "names another arm for none of 2,250 requests" in found.answer[-1]


def test_every_arm_on_every_instance() -> None:
    """No chance is needed; the values are what was seen; contexts of an instance must not differ."""
    rng = np.random.default_rng(5)
    words = rng.lognormal(5.0, 1.0, 400)
    arms = {"small": (1.0, 0.8 - 0.7 * (words > 150.0)), "large": (3.0, np.full(400, 0.9))}
    tables = [
        pd.DataFrame({"arm": name, "task": range(400), "words": words, "cost": cost, "reward": rng.random(400) < means})
        for name, (cost, means) in arms.items()
    ]
    frame = pd.concat(tables).sample(frac=1.0, random_state=0)
    found = asked(frame, context=["words"], chance=None).contexts
    assert (found.basis, found.requests, found.valued) == ("every arm on every request", 400, 300)
    assert found.gain.low > 0.0
    assert asked(frame, context=["words"], chance=None, instance="task").contexts.gain.low > 0.0
    frame.loc[frame["arm"] == "small", "words"] += 1.0
    with pytest.raises(BadFile, match="must be the same in all rows of an instance"):
        asked(frame, context=["words"], chance=None)


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_files_say_the_same_as_frames(kind: str, tmp_path: Any) -> None:
    frame, path = routed(600).round(6), tmp_path / f"log.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=True)
    one, other = (data_of(asked(log))["contexts"] for log in (frame, str(path)))
    assert json.dumps(one) == json.dumps(other)


def test_rare_names_stand_together_and_scales_do_not_matter() -> None:
    frame = routed()
    found = asked(frame).contexts
    assert asked(frame.assign(words=np.log(frame["words"]))).contexts == found
    rare = frame["topic"].where(np.arange(len(frame)) % 300 > 0, [f"t{row}" for row in range(len(frame))])
    assert asked(frame.assign(topic=rare)).contexts.gain.value == pytest.approx(found.gain.value, rel=0.3)


def test_arms_with_few_rows_take_no_part_but_their_requests_do() -> None:
    frame = routed()
    few = frame.assign(arm=frame["arm"].where(np.arange(len(frame)) >= 30, "new"))
    for options in ({"chance": None}, {}):
        found = asked(few, **options).contexts
        assert (found.arms, found.requests) == (["large", "medium", "small"], 3000)


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        ({}, {"context": "topic"}, "context of advise must be a list of different names of columns; got 'topic'"),
        ({}, {"context": []}, "must be a list of different names"),
        ({}, {"context": ["topic", "topic"]}, "must be a list of different names"),
        ({}, {"context": [5]}, "must be a list of different names"),
        ({}, {"context": None}, "chance of advise must be None without context; got 'p'"),
        ({}, {"context": ["topics"]}, "has no column 'topics'; it has arm, .*: name the one for the context topics"),
        ({}, {"chance": "q"}, "has no column 'q'"),
        ({}, {"context": ["cost"]}, "a column other than those of the arm, the cost and the reward; got 'cost'"),
        ({}, {"context": ["p"]}, "different columns, none of them that of the time, the instance or the chance"),
        ({}, {"context": ["topic", "Topic"]}, "different columns"),
        ({"topic": "chat"}, {}, "the context topic of the frame is the same in every row"),
        ({"words": 1.0}, {}, "the context words of the frame is the same in every row"),
        ({"words": np.inf}, {}, "the context words of the frame must be within ±1e100; it has inf"),
        ({"topic": [f"t{row}" for row in range(600)]}, {}, "it has 600 different ones, such as 't0', none of"),
        ({"topic": [None] + ["a"] * 599}, {}, "topic of the frame must say something in every row; row 1 is empty"),
        ({"words": [1.0, np.nan] * 300}, {}, "words of the frame must say something in every row; row 2 is empty"),
        ({"words": pd.Timestamp("2026-01-01")}, {}, "must be numbers or names; the column is of the kind timestamp"),
        ({"p": 0.0}, {}, "the chance of the frame must be above 0 and at most 1 in every row; row 1 has 0"),
        ({"p": 50.0}, {}, "row 1 has 50"),
        ({"p": np.nan}, {}, "row 1 has none"),
        ({"p": "often"}, {}, "the chance of the frame must be a number in every row; row 1 has 'often'"),
        ({"p": 1.0}, {}, r"stand for \d\d% of the requests, not for all: the chances are not those"),
        ({"arm": "small"}, {}, "contexts choose between arms, and the frame has 1 arm with 50 rows"),
        ({"topic": "="}, {"chance": None}, "its use follows from the contexts, nearly without chance"),
    ],
)  # fmt: skip
def test_bad_columns_get_a_sentence(change: Any, options: Any, sentence: str) -> None:
    frame = routed(600)
    if change == {"topic": "="}:
        change = {"topic": frame["arm"]}
    with pytest.raises((BadFile, BadParameter), match=sentence):
        asked(frame.assign(**change), **options)


def test_the_page_and_the_table(tmp_path: Any) -> None:
    found = asked(routed())
    page = found.save(tmp_path / "advice.html").read_text(encoding="utf-8")
    assert "Would topic and words pay?" in page
    assert "Would topic and words pay?" in found._repr_html_()
    assert json.loads(json.dumps(data_of(found)))["contexts"]["columns"] == ["topic", "words"]


def test_an_interval_widens_where_few_rows_make_the_variance() -> None:
    """The same variance from few rows: fewer degrees of freedom."""
    log = drawn(TOLD._replace(rows=400), np.random.default_rng(6))
    held = held_out(log, None)
    even = np.tile([[1.0, 1.0], [1.0, -1.0]], (150, 1))
    few = np.ones((300, 2))
    few[:12, 1] += np.tile([5.0, -5.0], 6)
    spread = [gain_of(held._replace(values=np.stack([np.ones((300, 2)), own])), 1.0, 0.95)[2] for own in (even, few)]
    assert spread[0].high - spread[0].low < spread[1].high - spread[1].low
