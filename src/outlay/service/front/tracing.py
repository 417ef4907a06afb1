"""Traces of requests for OpenTelemetry: a span for each, with its route, by OpenTelemetry's own package for ASGI."""

from importlib import import_module

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from outlay.errors import BadParameter


def traced(app: ASGIApp) -> ASGIApp:
    """The application with a span around every request; BadParameter where the package for it is not installed."""
    try:
        trace = import_module("opentelemetry.trace")
        middleware = import_module("opentelemetry.instrumentation.asgi").OpenTelemetryMiddleware
    except ImportError:
        allowed = "given where opentelemetry-instrumentation-asgi is installed"
        raise BadParameter("serve", "trace", allowed, True) from None

    async def named(scope: Scope, receive: Receive, send: Send) -> None:
        """Serve, and name the span by the route, whose names are few, and not by the path."""
        span = trace.get_current_span()

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start" and (route := scope.get("outlay.route")) is not None:
                span.update_name(f"{scope['method']} {route}")
                span.set_attributes({"http.route": route, "outlay.request": scope["outlay.request"]})
            await send(message)

        await app(scope, receive, answer)

    wrapped: ASGIApp = middleware(named, exclude_spans=["receive", "send"])
    return wrapped
