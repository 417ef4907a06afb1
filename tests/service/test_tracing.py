"""Traces: without OpenTelemetry a sentence; with a stand-in for it, spans that are named by routes."""

import sys
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from outlay.cli import commands
from outlay.service import ServiceSettings, application
from outlay.service.app import traced


def test_without_the_package_it_is_refused(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    done = CliRunner().invoke(commands, ["serve", "--store", store, "--trace", "--port", "0"])
    assert done.exit_code == 2
    assert "opentelemetry-instrumentation-asgi" in done.output


class Span:
    """A span as OpenTelemetry has it."""

    def __init__(self) -> None:
        self.name = ""
        self.attributes: dict[str, str] = {}

    def update_name(self, name: str) -> None:
        self.name = name

    def set_attributes(self, attributes: dict[str, str]) -> None:
        self.attributes |= attributes


def test_spans_are_named_by_routes(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spans: list[Span] = []

    class Middleware:
        def __init__(self, app: Any, **_: object) -> None:
            self.app = app

        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            spans.append(Span())
            await self.app(scope, receive, send)

    modules: Any = {f"opentelemetry{part}": ModuleType("otel") for part in ("", ".trace", ".instrumentation")}
    modules["opentelemetry.instrumentation.asgi"] = ModuleType("otel")
    modules["opentelemetry.trace"].get_current_span = lambda: spans[-1]
    modules["opentelemetry.instrumentation.asgi"].OpenTelemetryMiddleware = Middleware
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    app = application(ServiceSettings(store=store))
    with TestClient(traced(app), base_url="http://localhost:8700") as client:
        client.post("/v1/campaigns/spring/ask", json={}, headers={"x-request-id": "r7"})
    named = [span for span in spans if span.name]
    assert [span.name for span in named] == ["POST /v1/campaigns/{campaign}/ask"]
    assert named[0].attributes == {"http.route": "/v1/campaigns/{campaign}/ask", "outlay.request": "r7"}
