"""Print the numbers that docs/errata.md computes, as they stand there: python docs/errata.py (two minutes)."""

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import zeta

import outlay
from outlay.arms import Bernoulli, Constant, Discrete, Gaussian, Problem, StudentT, catalogue
from outlay.beliefs import Belief
from outlay.policies import UCBB1, UCBB2, UCBM1
from outlay.theory import late_passage, optimal_policy, pull_bound, regret_from_pulls, upper_bound
from outlay.theory.pull_bounds import pull_constants

STRETCH = 1.28
Numbers = Iterator[tuple[str, str]]  # a number as the page has it, and what it is


def spaced(value: float) -> str:
    """A whole number in groups of three."""
    return f"{value:,.0f}".replace(",", " ") if value >= 1e4 else f"{value:.0f}"


def proof_constants() -> Numbers:
    """What the sets E₃ and E₄ of Appendix C give at λ = 1.28, and the proved constants."""
    dropped, judged = (2 * STRETCH**2 / (2 - STRETCH)) ** 2, (STRETCH / (STRETCH - 1)) ** 2
    yield f"{dropped:.2f}", "(2λ²/(2−λ))²"
    yield f"{judged:.2f}", "(λ/(λ−1))²"
    for name, factor in (("bounded, L = 2", 2.0), ("Gaussian, L = ½", 0.5)):
        yield f"{2 * factor * dropped:.1f}", f"{name}: the constant of σ²/(Δμ)²"
        yield f"{factor * judged:.1f}", f"{name}: the constant of Var(X)/μ²"
    yield f"{2 * dropped:.1f}", "bounded: the constant of M_k/(Δμ)"
    yield f"{9 / math.sqrt(17) * math.sqrt(280):.1f}", "the radius of Proposition 5 by the quoted theorem, (9/√17)·√280"
    text, medians = ((1.21875 * (1 + 1.21875 * factor)) ** 2 for factor in (1.4, 2 * math.sqrt(2)))
    yield f"{text:.2f}", "H² at f = 1.4"
    yield f"{2 * text:.1f}", "bounded UCB-B1, proved: the constant of S²"
    yield f"{4 * text:.1f}", "bounded UCB-B1, proved: the constant of Var(R − rX)"
    yield f"{2 * (1.56 / 0.28) ** 2:.0f}", "bounded UCB-B1, proved: the constant of Var(X)/μ²"
    yield f"{medians:.1f}", "H² of UCB-M1"
    yield f"{121 * medians:.0f}", "121·H² of UCB-M1"


def gaussian_tails() -> Numbers:
    """A standard normal beyond √(Lα·ln n) at L = ½, against the n^−α that the proof sums."""
    n, alpha = 1e4, 2.1
    chance = math.erfc(math.sqrt(0.5 * alpha * math.log(n) / 2))
    yield f"{chance * 1e3:.1f}·10⁻³", "P(|N| > √(Lα ln n)) at L = ½, n = 10⁴, α = 2.1"
    yield f"{n**-alpha * 1e9:.0f}·10⁻⁹", "n^−α"


def proposition_4() -> Numbers:
    """The sum of Lemma 1 over n ≥ n₀ = 4000 beside the residual, corrected and printed."""
    problem = Problem([Bernoulli(0.5, 0.5), Bernoulli(0.5, 0.0)])
    total = late_passage(1, 0.5, 4.0, 1 / 16) * float(zeta(2, 4000))  # Lemma 1 falls as n^−2
    yield f"{total:.4f}", "the sum of Lemma 1, coins, B = 1000, p = 4"
    yield f"{0.5 * total:.4f}", "times Δμ = ½, what one worse arm may lose in such runs"
    proved, printed = (
        regret_from_pulls(problem, [0.0, 0.0], 1000.0, 4.0, 1 / 16, 0.0, constants).residual
        for constants in ("proved", "printed")
    )
    yield f"{proved:.4f}", "the corrected residual"
    yield f"{printed:.4f}", "the printed residual"


def proposition_5() -> Numbers:
    """Costs of 10⁻⁸, one in a thousand 0.1: the printed condition holds at 17 samples."""
    rng, log = np.random.default_rng(0), math.log(100)
    costs = 1e-4 * np.where(rng.random((20_000, 17)) < 1e-3, 1e-4 + 1e3, 1e-4)
    mean, variance = 1e-4 * (1 + 1e-4), 1e-8 * 999
    radius = 22 * STRETCH / mean * math.sqrt(variance / mean**2 * log / 17)
    failed = np.mean(np.abs(np.median(1 / costs, axis=1) - 1 / mean) > radius)
    yield "every run" if failed == 1 else f"{failed:.3f}", "how often Proposition 5 fails without E[X]²"


def proposition_6() -> Numbers:
    """Fair coins of correlation −.9, at the smallest number of samples, with M_Z = M_R + ωM_X."""
    log = math.log(100)
    samples = math.ceil(63 * 16 * log)
    yield f"{samples}", "the samples that Proposition 6 needs at δ = .01"
    cells = np.random.default_rng(1).multinomial(samples, [0.025, 0.475, 0.475, 0.025], size=100_000) / samples
    x, r = cells[:, 2] + cells[:, 3], cells[:, 1] + cells[:, 3]
    residual = r * (1 - r) - (cells[:, 3] - x * r) ** 2 / (x * (1 - x))
    failed = np.mean(np.abs(residual - 0.0475) > 0.1**2 * math.sqrt(2 * log / samples))
    yield f"{failed:.2f}".lstrip("0"), "how often its radius of L̂ is exceeded then"


def estimates_below_the_slope() -> Numbers:
    """The score of UCB-B1 where r̂ < ω, though ω ≤ r: with |r̂ − ω|, and with r̂ − ω as printed."""
    policy = UCBB1(var_cost=0.04, var_reward=0.09, cov=0.036)
    score = policy.score(Belief(0, 400, 1.0, 0.85, 0.0, 0.0, 0.0), log_n=5.0)
    yield f"{score:.6f}".lstrip("0"), "score of UCB-B1 at r̂ = .85, ω = .9, with |r̂ − ω|"
    radius = math.sqrt(policy.chosen_factor * policy.alpha * 0.04 * 5.0 / 400)
    yield f"{score - 2 * 1.4 * (0.9 - 0.85) * radius:.6f}".lstrip("0"), "the same with r̂ − ω, as printed"


def forced_pulls() -> Numbers:
    """Pulls before the stability condition can hold, at n = 20 000 and α = 2.01."""
    level = 2.01 * math.log(20_000)
    for mean in (0.5, 0.25):
        spread, target = math.sqrt(2 * mean * (1 - mean)), 0.21875 * mean
        root = (-spread + math.sqrt(spread**2 + 12 * target)) / 6  # of 3a² + spread·a = target, a² = ℓ/T
        yield f"{math.ceil(level / root**2)}", f"pulls that UCB-B2 needs at Bernoulli cost {mean}"
    needed = math.ceil(121 * 0.25 * level / 0.21875**2)
    yield spaced(needed), "pulls that UCB-M1 needs at Var(X) = ¼ and mean cost 1"


def lemma_3() -> Numbers:
    """UCB-M1 with constant costs pulls a worse arm more often than Lemma 3 allows."""
    problem = Problem([StudentT(1.0, 2.0, 0.0, 0.1), StudentT(1.0, 1.0, 0.0, 0.1)])
    policy = UCBM1(**problem.second_moments(), alpha=10.0)
    pulls = outlay.simulate(problem, policy, budgets=[1e6], runs=4, seed=0, workers=1).pulls[0, :, 0]
    yield f"{pulls[:, 1].mean():.0f}", "pulls of the worse arm by UCB-M1 at Var(X) = 0"
    yield f"{pull_bound(problem, policy, 1, int(pulls[0].sum())):.0f}", "what Lemma 3 allows"
    yield f"{484 * STRETCH**2:.0f}", "484λ²"


def lemma_3_on_g() -> Numbers:
    """UCB-M1 on problem G, whose costs are as random as its rewards, with the default α."""
    problem = catalogue.load("G")
    policy = UCBM1(**problem.second_moments())
    yield f"{135 * (STRETCH / (STRETCH - 1)) ** 2:.0f}", "135(λ/(λ−1))²"
    for factor in (1, 2):
        yield f"{factor * 968 / (484 * STRETCH**2):.2f}", f"968·{factor}/(484λ²)"
    for budget, runs in ((1e7, 4), (1e8, 2)):
        result = outlay.simulate(problem, policy, budgets=[budget], runs=runs, seed=0, workers=1)
        pulls = result.pulls[0, :, 0]
        counts, allowed = pulls[:, 1] / 1e3, pull_bound(problem, policy, 1, int(pulls.sum(axis=1).max())) / 1e3
        yield f"{counts.min():.0f}–{counts.max():.0f} thousand", f"pulls of arm 1 by UCB-M1 on G, B = {budget:g}"
        yield f"{allowed:.0f} thousand", "what Lemma 3 allows"
        if budget == 1e8:
            yield spaced(result.regret()["mean"][0]), "its regret"
            yield spaced(upper_bound(problem, policy, budget).value), "upper_bound, printed"


def theorem_2() -> Numbers:
    """UCB-M1 fills its blocks before it judges an arm, however little noise there is."""
    problem = Problem([Constant(1.0, 1.0), Constant(1.0, 0.5)])
    policy = UCBM1(0.0, 0.0, 0.0, alpha=10.0)
    pulls = outlay.simulate(problem, policy, budgets=[1e7], runs=1, seed=0, workers=1).pulls[0, 0, 0]
    yield f"{pulls[1]}", "pulls of the worse of two constant arms by UCB-M1"
    yield f"{pull_bound(problem, policy, 1, int(pulls.sum())):.0f}", "what Lemma 3 allows"


def stuck_pulls(n: float, delta: float, spread: float = 0.5, alpha: float = 2.1, factor: float = 1.4) -> float:
    """The pulls of the worse arm that UCB-B1 with L = ½ makes on average, at least, for want of another cost."""
    kappa = (STRETCH - 1) / STRETCH
    x = (1 + factor * kappa) / (1 - delta)
    pulls = math.floor(0.5 * alpha * spread**2 * math.log(n) / (kappa * x) ** 2) + 1
    return (n - pulls) * math.erfc((x - 1) * math.sqrt(pulls / 2) / spread) / 2


def theorem_1_gaussian() -> Numbers:
    """Where e of the counterexample is 1, and how it grows."""
    for factor in (1.4, STRETCH / (2 - STRETCH)):
        tail = (factor / (1 + factor * (STRETCH - 1) / STRETCH)) ** 2 / 2
        yield f"{2 / tail:.2f}", f"the α below which it grows, L = ½, f = {factor:.2f}"
        if factor == 1.4:
            yield f"{tail:.3f}".lstrip("0"), "e/(Lα) at δ = 0"
            yield f"{1 / tail:.3f}", "the α·L below which it grows, and from which there is a proof"
    for n in (1e6, 1e12, 1e18):
        yield spaced(stuck_pulls(n, 0.005)), f"pulls of the worse arm at n = {n:g}, at least"
    yield f"{12 * 2.1 / 0.1:.0f}", "what Lemma 2 allows"


def gaussian_pairs() -> Numbers:
    """What is proved of UCB-B1 on Gaussian pairs."""
    yield f"{0.5 * (STRETCH / (STRETCH - 1)) ** 2:.2f}", "L/κ² at L = ½"
    yield f"{0.5 * 1.4**2:.2f}".lstrip("0"), "L·f² at L = ½"
    yield f"{1.4**2:.2f}", "f²"
    problem = catalogue.load("G")
    policy = UCBB1(**problem.second_moments(), variance_factor=1.0)
    coefficient, constant = pull_constants(problem, policy, 1, "proved", math.log(1e6))
    leading = coefficient * policy.alpha * math.log(1e6)
    yield f"{leading + constant:.0f}", "pulls of arm 1 of G at α = 2.1, L = 1, n = 10⁶, at most"
    yield f"{leading:.0f}", "of them the term in ln n"


def propositions_1_and_3() -> Numbers:
    """The largest mean overshoot with one arm and with twelve."""
    for arms, budget in ((1, 300.0), (12, 20_000.0)):
        laws = [Discrete([1, x], [1, x], [1 - x**-2, x**-2]) for x in 2.0 ** np.arange(2, arms + 2)]
        found = optimal_policy(Problem(laws), budget)
        yield f"{(found.value - found.budgets).max():.3f}", f"the largest mean overshoot with {arms} arms"


def theorem_4() -> Numbers:
    """UCB-B2 on coins that pay r times what they cost."""
    laws = [Discrete([0.0, 1.0], [0.0, rate], [0.5, 0.5]) for rate in (1.0, 0.98)]
    result = outlay.simulate(Problem(laws), UCBB2(1.0, 1.0), budgets=[1e7], runs=2, seed=0, workers=1)
    yield f"{result.regret()['mean'][0]:.0f}", "regret of UCB-B2 on coins with R = rX"
    sigma2, loss, level = 0.02**2 / 4, 0.01, 2.1 * math.log(4e7)
    known = 42 * sigma2 / loss + 42 * 1.98 + 21 * 0.02
    yield f"{level * (known + 21 * (16 * loss + 0.02 / 2)):.0f}", "what Theorem 4 prints"


def negative_rates() -> Numbers:
    """UCB-B1 cannot tell a rate of −10 from 0."""
    problem = Problem([Gaussian(1.0, 0.1, 0.1, 0.5), Gaussian(1.0, -10.0, 0.1, 0.5)])
    result = outlay.simulate(problem, UCBB1(**problem.second_moments()), budgets=[1e6], runs=20, seed=0, workers=1)
    lemma = 11 * 2.1 * math.log(1e6) * (0.25 + 0.0001) / 10.1**2 + 12 * 2.1 / 0.1
    yield f"{result.pulls[0, :, 0, 1].mean():.0f}", "pulls of the worse arm by UCB-B1 at rates 0.1 and −10"
    yield f"{lemma:.0f}", "what Lemma 2 allows"


def numbers() -> Numbers:
    """All of them."""
    yield from proof_constants()
    yield from gaussian_tails()
    yield from proposition_4()
    yield from proposition_5()
    yield from proposition_6()
    yield from estimates_below_the_slope()
    yield from forced_pulls()
    yield from lemma_3()
    yield from lemma_3_on_g()
    yield from theorem_2()
    yield from theorem_1_gaussian()
    yield from gaussian_pairs()
    yield from propositions_1_and_3()
    yield from theorem_4()
    yield from negative_rates()


if __name__ == "__main__":
    for number, meaning in numbers():
        print(f"{number:>9}  {meaning}")
