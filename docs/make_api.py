"""Write docs/api.md from the code: every public name, its signature and its first line."""

import inspect
import sys
from pathlib import Path
from typing import Any

import outlay
from outlay import advice, arms, campaign, experiments, policies, report, testing, theory
from outlay.arms import catalogue
from outlay.parameters import Parameters, signature_of

HEAD = """# Every public name

Written by `python docs/make_api.py` from the code; each name's docstring has the formula, the parameters and an example
(`help(outlay.arms.Gaussian)`). The names of `outlay.integrations` are in guides of their own: for
[LiteLLM](cap-an-llm-bill.md), [prompts](route-prompts.md), [clients of OpenAI's API](gateway.md) and
[Optuna](tune-within-a-budget.md).
"""


def lines() -> list[str]:
    """The page, line by line."""
    page = [HEAD]
    page += section(
        "outlay",
        outlay,
        [
            "Problem",
            "simulate",
            "Result",
            "load",
            "Campaign",
            "Client",
            "AsyncClient",
            "Belief",
            "OutlayError",
        ],
    )
    page += methods("Problem", outlay.Problem)
    page += methods("Result", outlay.Result)
    page += methods("Campaign", outlay.Campaign)
    laws = [name for name in arms.__all__ if hasattr(getattr(arms, name), "draw") and name != "AnyLaw"]
    page += section("outlay.arms: laws of (cost, reward)", arms, laws)
    page += section("outlay.arms.catalogue", catalogue, ["names", "load", "describe"])
    page += section("outlay.policies", policies, [*policies.BUILT_IN, "default", "recommend"])
    page += section("outlay.policies.baselines", policies.baselines, policies.baselines.__all__)
    page += section("outlay.theory", theory, sorted(theory.__all__))
    page += section("outlay.report", report, sorted(report.__all__))
    page += section("outlay.campaign", campaign, sorted(campaign.__all__))
    page += section("outlay.experiments", experiments, sorted(experiments.__all__))
    page += section("outlay.advice", advice, sorted(advice.__all__))
    page += section("outlay.testing", testing, testing.__all__)
    return page


def section(title: str, module: Any, names: list[str]) -> list[str]:
    """A heading and an entry for each name."""
    return [f"## {title}\n", *(entry(name, getattr(module, name)) for name in names), ""]


def methods(title: str, cls: type) -> list[str]:
    """The public attributes of a class, those of our mix-ins included."""
    ours = [part for part in cls.__mro__ if part.__module__.startswith("outlay.")]
    found = {name: value for part in ours for name, value in vars(part).items() if not name.startswith("_")}
    names = [name for name, value in found.items() if inspect.getdoc(value)]
    return [f"### {title}\n", *(entry(name, inspect.getattr_static(cls, name)) for name in names), ""]


def entry(name: str, value: Any) -> str:
    """`name(parameters) → record(fields)`: first line of the docstring."""
    value = getattr(value, "__func__", value)
    shown = name if not callable(value) else f"{name}{signature(value)}{record(value)}"
    return f"- `{shown}`: {plain((inspect.getdoc(value) or '').splitlines()[0])}"


def plain(sentence: str) -> str:
    """A docstring's line as Markdown: a star is a star (r*B), except in code."""
    parts = sentence.split("`")
    return "`".join(part if i % 2 else part.replace("*", "\\*") for i, part in enumerate(parts))


def signature(value: Any) -> str:
    """Names and defaults, without types."""
    if isinstance(value, type) and issubclass(value, Exception):
        return ""
    parameters = inspect.signature(value).parameters.values()
    return str(inspect.Signature([p.replace(annotation=p.empty) for p in parameters if p.name not in ("self", "cls")]))


def record(value: Any) -> str:
    """The record that a function returns, with its fields."""
    found = value.__annotations__.get("return") if inspect.isfunction(value) else None
    is_parameters = isinstance(found, type) and issubclass(found, Parameters)
    named = getattr(found, "_fields", None) or getattr(found, "__struct_fields__", None)
    fields = list(signature_of(found)) if is_parameters else named
    return f" → {found.__name__}({', '.join(fields)})" if found and fields else ""


if __name__ == "__main__":
    text = "\n".join(lines()).rstrip() + "\n"
    path = Path(__file__).with_name("api.md")
    if "--check" in sys.argv:
        sys.exit(path.read_text(encoding="utf-8") != text)
    path.write_text(text, encoding="utf-8")
