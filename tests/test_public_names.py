"""The public surface is a promise: what is exported, and what importing costs."""

import subprocess
import sys

import outlay
from outlay import arms, policies


def test_exported_names() -> None:
    assert {
        "Belief",
        "OutlayError",
        "Campaign",
        "Problem",
        "Result",
        "advice",
        "arms",
        "campaign",
        "experiments",
        "load",
        "policies",
        "report",
        "simulate",
        "theory",
    } == (set(outlay.__all__) - {"__version__"})
    assert all(getattr(outlay, name) is not None for name in outlay.__all__)
    assert set(dir(outlay)) >= set(outlay.__all__)


def test_every_law_and_policy_is_exported() -> None:
    laws = (
        "Bernoulli Beta Constant Discrete Empirical Exponential Gamma Gaussian Linear Lognormal Pareto StudentT Uniform"
    )
    assert set(laws.split()) <= set(arms.__all__)
    assert list(policies.BUILT_IN) == [
        *("UCBB1", "UCBM1", "UCBB2", "UCBB2C", "Fixed", "RoundRobin"),
        *("FiellerKnown", "Fieller", "BernsteinRate", "MedianRate", "CatoniRate", "KLRate", "Frugal"),
    ]
    assert set(policies.BUILT_IN) <= set(policies.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(outlay, "Campaigns")


def test_importing_outlay_and_its_laws_and_policies_loads_no_compiler() -> None:
    script = """
import sys
from outlay import arms, policies, Campaign
policies.UCBB1(1, 1, 0), arms.Gaussian(1, 1, 1, 1)
print({"numba", "pandas", "matplotlib", "scipy", "pyarrow", "rich", "sqlalchemy"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "set()"
