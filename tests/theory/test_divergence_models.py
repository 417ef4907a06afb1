"""D*: what all models of all laws have in common, with a worth of requests and without; laws of the user's own."""

from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from tests.theory.divergence_laws import CASES, LAWS, own_rate, shortfall, variance

from outlay import arms
from outlay.arms import (
    Bernoulli,
    Constant,
    Discrete,
    Gamma,
    Gaussian,
    LawMoments,
    Lognormal,
    Pareto,
    StudentT,
    Uniform,
    support_of,
)
from outlay.errors import BadParameter, NotCovered
from outlay.theory import divergence, model_of, models
from outlay.theory.divergence_gamma import scaled_kl

SLOW_IN_SOAK = [
    pytest.param(*case, marks=pytest.mark.soak) if case == ("Gamma, correlated", "known correlation") else case
    for case in CASES
]


@pytest.mark.parametrize(("name", "model"), SLOW_IN_SOAK)
def test_zero_at_the_own_rate_and_rising(name, model):
    law = LAWS[name](1, 1)
    own = own_rate(law)
    assert divergence(law, own, model) == divergence(law, own - 1, model) == 0.0
    values = [divergence(law, own + more, model) for more in (1e-3, 0.05, 0.3, 0.6, 1.2, 2.5, 5.0, 20.0)]
    assert all(low <= high * (1 + 1e-9) for low, high in pairwise(values))
    assert values[0] > 0


@pytest.mark.parametrize("law", [Gaussian(1, -1, 0.5, 0.4, 0.3), Discrete([1, 2, 3], [-1, -2, 0], [0.4, 0.4, 0.2]),
                                 Uniform(0.2, 1.0, -0.8, 0.0, 0.5), StudentT(1, -1, 0.5, 0.4)])  # fmt: skip
def test_rates_may_be_negative(law):
    own = own_rate(law)
    values = [divergence(law, own * share) for share in (0.9, 0.5, 0.1, 0.0)]
    assert 0 < values[0] < values[1] < values[2] < values[3]


@pytest.mark.parametrize(("name", "model"), CASES)
def test_units_change_nothing(name, model):
    law, scaled = LAWS[name](1.0, 1.0), LAWS[name](3.0, 0.02)
    for more in (0.1, 1.0):
        rate = own_rate(law) + more
        assert divergence(scaled, rate * 0.02 / 3.0, model) == pytest.approx(divergence(law, rate, model), rel=1e-8)


def information(law: Any, model: str) -> Any:
    """Squared mean over the best variance of an unbiased estimate of E[Z], relative to Var Z (Cramér and Rao)."""
    if isinstance(law, StudentT):
        dimensions = 1 if law.cost_sd == 0 else 2
        return law.tail / (law.tail - 2) * (law.tail + dimensions) / (law.tail + dimensions + 2)
    rate = own_rate(law)
    if isinstance(law, Lognormal):
        logs = law.cost_sigma**2 + law.reward_sigma**2 - 2 * law.cost_sigma * law.reward_sigma * law.log_correlation
        return variance(law, rate) / (law.reward**2 * logs)
    if isinstance(law, Pareto):
        logs = (law.cost_tail + 2) / law.cost_tail + (law.reward_tail + 2) / law.reward_tail
        return variance(law, rate) / (law.reward**2 * logs)
    if isinstance(law, Gamma) and model == "known correlation":  # both shapes are the same: ln X and ln R move alike
        shapes, t = (law.shared_shape, law.cost_shape, law.reward_shape), 1e-6
        return 2 * variance(law, rate) * scaled_kl(shapes, -t, t) / (2 * t * law.reward) ** 2
    if model == "known cost":
        return variance(law, rate) / law.noise_sd**2
    return 1.0


@pytest.mark.parametrize(("name", "model"), CASES)
@pytest.mark.parametrize("gap", [1e-4, 1e-7])
def test_small_gaps(name, model, gap):
    """D* → (μΔ)²/(2σ²), or what Cramér and Rao put for σ² where the mean is not the best estimate."""
    law = LAWS[name](1, 1)
    cost, reward, *_ = law.moments()
    rate = own_rate(law) + gap
    limit = (rate * cost - reward) ** 2 / (2 * variance(law, rate)) * information(law, model)
    assert divergence(law, rate, model) == pytest.approx(limit, rel=30 * gap + 1e-6)


class Mine(NamedTuple):
    known: float

    def draw(self, rng):
        return 1.0, 0.5

    def moments(self):
        return LawMoments(1.0, 0.5, 1.0, 1.0, 0.0)


class Brought(Mine):
    def divergence(self, rate):
        return self.known * (rate - 0.5)


class WithWorth(Mine):
    def divergence(self, rate, worth=0.0):
        return self.known * (rate + worth - 0.5)


def test_a_law_may_bring_its_own():
    assert divergence(Brought(2.0), 1.0) == divergence(WithWorth(2.0), 1.0) == 1.0
    assert divergence(WithWorth(2.0), 1.0, worth=0.5) == 2.0
    assert model_of(Brought(2.0)) == "The model of the law's own method divergence(rate)."
    with pytest.raises(BadParameter, match=r"^divergence at the rate 1 of Brought must be ≥ 0; got -0.5$"):
        divergence(Brought(-1.0), 1.0)
    with pytest.raises(NotCovered, match=r"^its law is Brought, whose divergence\(rate\) takes no worth of a request$"):
        divergence(Brought(2.0), 1.0, worth=0.5)


def test_not_covered():
    law, sentence = Mine(1.0), r"^its law is Mine, which has no formula here and no divergence\(rate\) of its own$"
    with pytest.raises(NotCovered, match=sentence):
        divergence(law, 1.0)
    with pytest.raises(NotCovered, match=sentence):
        model_of(law)


def test_every_law_has_a_sentence():
    for law in [Constant(1.0, 1.0), *(build(1, 1) for build in LAWS.values())]:
        assert model_of(law).endswith(".")
    covered = {type(law(1, 1)) for law in LAWS.values()} | {Bernoulli, Constant}
    public = {getattr(arms, name) for name in arms.__all__ if hasattr(getattr(arms, name), "draw")} - {arms.AnyLaw}
    assert covered == public, "each law needs an entry in tests/theory/divergence_laws.py"


@pytest.mark.parametrize("name", [name for name in LAWS if name != "Gamma, correlated"])  # a minute
@pytest.mark.filterwarnings("error")
def test_distant_rates(name):
    law = LAWS[name](1, 1)
    for model in models(law):
        assert divergence(law, 1e60, model.name) >= divergence(law, 2.0, model.name) * (1 - 1e-9)
        with pytest.raises(BadParameter, match=r"^rate of divergence must be .*≤ 1e\+100; got 1e\+200$"):
            divergence(law, 1e200, model.name)


@pytest.mark.parametrize(("name", "model"), SLOW_IN_SOAK)
@pytest.mark.filterwarnings("error")
def test_rising_in_both_and_0_where_reached(name, model):
    law = LAWS[name](1, 1)
    cost, reward, *_ = law.moments()
    own = reward - 0.1 * cost
    assert divergence(law, 0.1, model, worth=max(own, 0.0)) == pytest.approx(0.0, abs=1e-12)
    worths = [max(own, 0.0) + more for more in (1e-3, 0.05, 0.3, 1.0, 5.0, 1e3)]
    by_worth = [divergence(law, 0.1, model, worth=worth) for worth in worths]
    assert all(low <= high * (1 + 1e-9) for low, high in pairwise(by_worth))
    assert by_worth[0] > 0
    by_price = [divergence(law, price, model, worth=0.3) for price in (0.4, 0.6, 1.2, 2.5, 20.0, 1e30)]
    if support_of(law).cost_low >= 0:  # a law that may refund gains by a high price
        assert all(low <= high * (1 + 1e-9) for low, high in pairwise(by_price))
    assert min(by_price[1:]) > 0


@pytest.mark.parametrize(("name", "model"), CASES)
def test_a_worth_that_vanishes_leaves_what_there_is_without(name, model):
    """Where better laws all have a mean cost above 0; else a mean cost below it becomes possible, and D* falls."""
    law = LAWS[name](1, 1)
    rate = shortfall(law, 0.0, 0.0) / -law.moments()[0] + 0.4
    without, tiny = divergence(law, rate, model), divergence(law, rate, model, worth=1e-12)
    if name in ("Gaussian, corner", "Discrete, refunds", "Uniform, refunds"):
        assert tiny <= without * (1 + 1e-9)
    else:
        assert tiny == pytest.approx(without, rel=1e-6)
