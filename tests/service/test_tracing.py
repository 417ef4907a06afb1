"""Traces: without OpenTelemetry a sentence; with a stand-in for it, spans that are named by routes."""

import sys
from unittest.mock import Mock

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


def test_spans_are_named_by_routes(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    span, modules = Mock(), {f"opentelemetry{part}": Mock() for part in ("", ".trace", ".instrumentation")}
    modules["opentelemetry.trace"].get_current_span.return_value = span
    modules["opentelemetry.instrumentation.asgi"] = Mock(OpenTelemetryMiddleware=lambda app, **_: app)
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    with TestClient(traced(application(ServiceSettings(store=store))), base_url="http://localhost:8700") as client:
        client.post("/v1/campaigns/spring/ask", json={}, headers={"x-request-id": "r7"})
    span.update_name.assert_called_once_with("POST /v1/campaigns/{campaign}/ask")
    span.set_attributes.assert_called_once_with({"http.route": "/v1/campaigns/{campaign}/ask", "outlay.request": "r7"})
