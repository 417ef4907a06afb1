"""The Python code that runs the advice."""

import json
from collections.abc import Sequence

from outlay.parameters import signature_of
from outlay.policies.protocol import Policy, as_data

_FEW = 4
_LOOP = (
    "while (pull := campaign.ask()) is not None:",
    "    campaign.tell(pull, cost=..., reward=...)  # use pull.arm, and say what it cost and earned",
)


def campaign_code(arms: Sequence[str], budget: float, policy: Policy) -> str:
    """Three lines that spend the budget, after two that import.

    >>> from outlay.policies import default
    >>> print(campaign_code(["small", "large"], 50.0, default()))
    import outlay
    from outlay import policies
    <BLANKLINE>
    campaign = outlay.Campaign(["small", "large"], budget=50.0, policy=policies.Thrifty())
    while (pull := campaign.ask()) is not None:
        campaign.tell(pull, cost=..., reward=...)  # use pull.arm, and say what it cost and earned
    """
    made = f"campaign = outlay.Campaign([{_names(arms)}], budget={budget!r}, policy=policies.{call(policy)})"
    return "\n".join(["import outlay", "from outlay import policies", "", made, *_LOOP])


def serving_code(arms: Sequence[str], budget: float, requests: int) -> str:
    """The same with a number of requests: the campaign's policy is then Ration by itself.

    >>> print(serving_code(["small", "large"], 50.0, 1000))
    import outlay
    <BLANKLINE>
    campaign = outlay.Campaign(["small", "large"], budget=50.0, requests=1000)
    while (pull := campaign.ask()) is not None:
        campaign.tell(pull, cost=..., reward=...)  # use pull.arm, and say what it cost and earned
    """
    made = f"campaign = outlay.Campaign([{_names(arms)}], budget={budget!r}, requests={requests})"
    return "\n".join(["import outlay", "", made, *_LOOP])


def _names(arms: Sequence[str]) -> str:
    return ", ".join(json.dumps(name, ensure_ascii=False) for name in arms)


def call(policy: Policy, brief: bool = False) -> str:
    """The call that makes a policy, without arguments that have their default; shortened for reading if `brief`.

    >>> from outlay.policies import UCBB1
    >>> call(UCBB1(var_cost=[1 / 3] * 9, var_reward=0.1, cov=0.0), brief=True)
    'UCBB1(var_cost=[0.3333, 0.3333, 0.3333, 0.3333, …], var_reward=[0.1, 0.1, 0.1, 0.1, …], cov=[0, 0, 0, 0, …])'
    """
    arguments = as_data(policy)["parameters"]
    defaults = signature_of(type(policy))
    shown = _brief if brief else repr
    given = [f"{name}={shown(value)}" for name, value in arguments.items() if value != defaults[name].default]
    return f"{type(policy).__name__}({', '.join(given)})"


def _brief(value: object) -> str:
    """Numbers to four digits, and only the first few of many."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_brief, value[:_FEW]))}{', …' * (len(value) > _FEW)}]"
    return f"{value:.4g}" if isinstance(value, float) else repr(value)
