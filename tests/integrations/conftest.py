"""A provider of language models on this machine, and routers with a budget that calls to it are paid from."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.provider import Model, Provider

if TYPE_CHECKING:
    from outlay.integrations.litellm import BudgetRouter

OFFERED = [
    Model("gpt-4o-mini", 0.15, 0.6, quality=0.5),
    Model("gpt-4o", 2.5, 10.0, quality=0.9),
    Model("broken", 1.0, 1.0, fails=1.0),
    Model("slow", 1.0, 1.0, hangs=1.0),
    Model("flaky", 0.15, 0.6, fails=0.2, rate_limited=0.2),
    Model("free", 0, 0),
]


# Where LiteLLM keeps who hears of calls, for the whole process.
LOGGERS = ("callbacks", *(f"{kind}input_callback" for kind in ("", "_async_")))
LOGGERS += tuple(f"{kind}{end}_callback" for kind in ("", "_async_") for end in ("success", "failure"))


@pytest.fixture(scope="module")
def running_provider() -> Iterator[Provider]:
    with Provider(OFFERED, hang=0.5) as provider:
        yield provider


@pytest.fixture
def provider(running_provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Provider:
    """With a bill of nothing so far; OpenAI's client calls it."""
    running_provider.reset()
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    monkeypatch.setenv("OPENAI_BASE_URL", running_provider.base_url)
    return running_provider


@pytest.fixture
def budgets() -> Iterator[Callable[..., "BudgetRouter"]]:
    """A function that makes a `BudgetRouter`; LiteLLM forgets them after the test."""
    import litellm

    from outlay.integrations.litellm import BudgetRouter

    lists = [getattr(litellm, name) for name in LOGGERS]
    before = [loggers[:] for loggers in lists]
    made = []

    def budget(
        arms: Any = ("openai/gpt-4o-mini", "openai/gpt-4o"), dollars: float | None = 1, **settings: Any
    ) -> BudgetRouter:
        made.append(
            BudgetRouter(arms if dollars is None or isinstance(arms, dict) else list(arms), dollars, **settings)
        )
        return made[-1]

    yield budget
    for each in made:
        each.unregister()
        each.campaign.disconnect()
    for loggers, kept in zip(lists, before, strict=True):
        loggers[:] = kept  # every Router leaves some there
