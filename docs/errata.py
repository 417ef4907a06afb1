"""Print the numbers quoted in docs/errata.md again: python docs/errata.py (half a minute, most of it compiling)."""

import math

import numpy as np

import bursar
from bursar.arms import Bernoulli, Gaussian, Problem, StudentT
from bursar.policies import UCBB1, UCBM1
from bursar.theory.from_pulls_to_regret import late_passage, regret_from_pulls
from bursar.theory.pull_bounds import pull_bound

STRETCH = 1.28


def proof_constants() -> None:
    """What the sets E₃ and E₄ of Appendix C give at λ = 1.28."""
    dropped, judged = (2 * STRETCH**2 / (2 - STRETCH)) ** 2, (STRETCH / (STRETCH - 1)) ** 2
    print(f"(2λ²/(2−λ))² = {dropped:.2f}, (λ/(λ−1))² = {judged:.2f}")
    for name, factor in (("bounded", 2.0), ("Gaussian", 0.5)):
        sigma, linear, stable = 2 * factor * dropped, factor * dropped, factor * judged
        print(f"  {name} (L = {factor:g}): σ² {sigma:.1f}, M_k {linear:.1f}, Var(X) and M_X {stable:.1f}")
    print(f"a radius of 36.5, not 22, in Proposition 5: (9/√17)·√280 = {9 / math.sqrt(17) * math.sqrt(280):.1f}")
    for factor in (1.4, STRETCH / (2 - STRETCH), 2 * math.sqrt(2)):
        reach = 1.21875 * (1 + 1.21875 * factor)
        print(f"H at factor {factor:.4f} = {reach:.4f}, H² = {reach**2:.2f}")
    print(f"1/τ = {1.56 / 0.28:.4f}, 1/τ² = {(1.56 / 0.28) ** 2:.2f}")


def gaussian_tails() -> None:
    """A standard normal beyond √(Lα·ln n), against the n^−α that the proof sums."""
    n, alpha = 1e4, 2.1
    for factor in (0.5, 2.0):
        chance = math.erfc(math.sqrt(factor * alpha * math.log(n) / 2))
        print(f"L = {factor:g}: P(|N| > √(Lα ln n)) = {chance:.1e} at n = 10⁴, α = 2.1; n^−α = {n**-alpha:.1e}")


def proposition_4() -> None:
    """The sum of Lemma 1 over n ≥ n₀ beside the residual, printed and corrected."""
    problem = Problem([Bernoulli(0.5, 0.5), Bernoulli(0.5, 0.0)])
    total = 0.5 * sum(late_passage(n, 0.5, 4.0, 1 / 16) for n in range(4000, 400_000))
    for constants in ("printed", "proved"):
        residual = regret_from_pulls(problem, [0.0, 0.0], 1000.0, 4.0, 1 / 16, 0.0, constants).residual
        print(f"Proposition 4, coins, B = 1000, p = 4: residual {residual:.4g} {constants}, the sum is {total:.4g}")


def proposition_5() -> None:
    """Costs of 10⁻⁸, one in a thousand 0.1: the printed condition holds at 17 samples."""
    rng, log = np.random.default_rng(0), math.log(100)
    costs = 1e-4 * np.where(rng.random((20_000, 17)) < 1e-3, 1e-4 + 1e3, 1e-4)
    mean, variance = 1e-4 * (1 + 1e-4), 1e-8 * 999
    radius = 22 * STRETCH / mean * math.sqrt(variance / mean**2 * log / 17)
    failed = np.mean(np.abs(np.median(1 / costs, axis=1) - 1 / mean) > radius)
    print(f"Proposition 5 without E[X]², costs scaled by 10⁻⁴: radius exceeded in {failed:.3f} of runs, 0.014 allowed")


def proposition_6() -> None:
    """Fair coins of correlation −.9, at the smallest number of samples."""
    log = math.log(100)
    samples = math.ceil(63 * 16 * log)
    cells = np.random.default_rng(1).multinomial(samples, [0.025, 0.475, 0.475, 0.025], size=100_000) / samples
    x, r = cells[:, 2] + cells[:, 3], cells[:, 1] + cells[:, 3]
    residual = r * (1 - r) - (cells[:, 3] - x * r) ** 2 / (x * (1 - x))
    for bound in (0.1, 1.9):
        failed = np.mean(np.abs(residual - 0.0475) > bound**2 * math.sqrt(2 * log / samples))
        print(f"Proposition 6, ω = −.9, s = {samples}, M_Z = {bound}: exceeded in {failed:.3f} of runs, 0.18 allowed")


def forced_pulls() -> None:
    """Pulls before the stability condition can hold, at n = 20 000 and α = 2.01."""
    level = 2.01 * math.log(20_000)
    for mean in (0.5, 0.25):
        spread, target = math.sqrt(2 * mean * (1 - mean)), 0.21875 * mean
        root = (-spread + math.sqrt(spread**2 + 12 * target)) / 6  # of 3a² + spread·a = target, a² = ℓ/T
        print(f"UCB-B2, Bernoulli cost {mean}: {math.ceil(level / root**2)} pulls")
    print(f"UCB-M1, Var(X) = ¼, mean cost 1: {math.ceil(121 * 0.25 * level / 0.21875**2)} pulls")


def lemma_3() -> None:
    """UCB-M1 with constant costs pulls a worse arm more often than Lemma 3 allows."""
    problem = Problem([StudentT(1.0, 2.0, 0.0, 0.1), StudentT(1.0, 1.0, 0.0, 0.1)])
    policy = UCBM1(**problem.second_moments(), alpha=10.0)
    pulls = bursar.simulate(problem, policy, budgets=[1e6], runs=4, seed=0).pulls[0, :, 0]
    printed, proved = (pull_bound(problem, policy, 1, int(pulls[0].sum()), name) for name in ("printed", "proved"))
    print(f"UCB-M1, Var(X) = 0: {pulls[:, 1].mean():.0f} pulls; Lemma 3: {printed:.0f}, proved: {proved:.0f}")


def negative_rates() -> None:
    """UCB-B1 cannot tell a rate of −10 from 0."""
    problem = Problem([Gaussian(1.0, 0.1, 0.1, 0.5), Gaussian(1.0, -10.0, 0.1, 0.5)])
    result = bursar.simulate(problem, UCBB1(**problem.second_moments()), budgets=[1e6], runs=20, seed=0)
    lemma = 11 * 2.1 * math.log(1e6) * (0.25 + 0.0001) / 10.1**2 + 12 * 2.1 / 0.1
    print(
        f"UCB-B1, rates 0.1 and −10: {result.pulls[0, :, 0, 1].mean():.0f} pulls of the worse arm; Lemma 2: {lemma:.0f}"
    )


if __name__ == "__main__":
    proof_constants()
    gaussian_tails()
    proposition_4()
    proposition_5()
    proposition_6()
    forced_pulls()
    lemma_3()
    negative_rates()
