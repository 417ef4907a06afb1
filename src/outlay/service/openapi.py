"""The description of the service, OpenAPI 3.1, made from the table of routes and the types that it names."""

import inspect
import re
from functools import cache
from typing import Any, get_args, get_origin

import msgspec

from outlay import __version__
from outlay.service.problems import JSON, KINDS
from outlay.service.routes import ROUTES
from outlay.service.table import Route
from outlay.service.wire.answers import Problem

REF = "#/components/schemas/{name}"
DECIMAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"  # an amount as a string
PATH = {
    "campaign": {"type": "string", "minLength": 1, "maxLength": 200},
    "arm": {"type": "string", "minLength": 1, "maxLength": 200},
    "pull": {"type": "integer", "minimum": 1, "maximum": 10**18 - 1},
}


@cache
def document() -> dict[str, Any]:
    """The whole document.

    >>> document()["openapi"], "/v1/campaigns/{campaign}/ask" in document()["paths"]
    ('3.1.0', True)
    """
    kinds = {kind for route in ROUTES for kind in (route.body, *_answers(route)) if kind is not None}
    listed = sorted(kinds | {Problem}, key=str)
    found, components = msgspec.json.schema_components(listed, ref_template=REF)
    schemas = dict(zip(listed, found, strict=True))
    paths: dict[str, Any] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "outlay", "version": __version__, "summary": "Campaigns: budgets that are spent well."},
        "paths": paths,
        "components": {
            "schemas": _with_money(components),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _answers(route: Route) -> tuple[Any, ...]:
    """The types that an answer in JSON may have; none where the handler sends something else."""
    parts = get_args(route.answer) or (route.answer,)
    if route.media != "application/json":
        return ()
    return tuple(part for part in parts if isinstance(part, type) and issubclass(part, msgspec.Struct))


def _with_money(schema: Any) -> Any:
    """The same; an amount may be a number, too, which msgspec's schema of Decimals does not say."""
    if isinstance(schema, dict):
        if schema.get("format") == "decimal":
            return {"anyOf": [{"type": "number"}, {"type": "string", "format": "decimal", "pattern": DECIMAL}]}
        return {key: _with_money(part) for key, part in schema.items()}
    return [_with_money(part) for part in schema] if isinstance(schema, list) else schema


def _operation(route: Route, schemas: dict[Any, Any]) -> dict[str, Any]:
    answers = [schemas[kind] for kind in _answers(route)]
    ok: dict[str, Any] = {"description": "Done."}
    if links := _links(route):
        ok["links"] = links
    if route.status != 204:
        schema = {"schema": answers[0] if len(answers) == 1 else {"anyOf": answers}} if answers else {}
        ok["content"] = {route.media: schema}
    problems = {"default": {"description": "Refused.", "content": {JSON: {"schema": schemas[Problem]}}}}
    statuses = {str(route.status), "200"} if get_origin(route.answer) is tuple else {str(route.status)}
    found: dict[str, Any] = {
        "operationId": route.handler.__name__,
        "summary": route.summary,
        "description": inspect.getdoc(route.handler) or "",
        "parameters": _parameters(route),
        "responses": {**dict.fromkeys(sorted(statuses), ok), **problems},
    }
    if route.scope is not None:
        found |= {"security": [{"key": []}], "x-scope": route.scope}
    if route.body is not None:
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": schemas[route.body]}}}
    return found


def _parameters(route: Route) -> list[dict[str, Any]]:
    path = [
        {"name": name, "in": "path", "required": True, "schema": PATH[name]}
        for name in re.findall(r"{(\w+)}", route.path)
    ]
    if route.query is None:
        return path
    (_,), components = msgspec.json.schema_components([route.query], ref_template=REF)
    fields = components[route.query.__name__]["properties"]
    return [*path, *({"name": name, "in": "query", "schema": schema} for name, schema in fields.items())]


def _links(route: Route) -> dict[str, Any]:
    """What can be called next with what was answered: a campaign that was opened, a pull that was named."""
    if route.handler.__name__ == "new_campaign":
        known = {"campaign": "$response.body#/name", "arm": "$response.body#/arms/0/name"}
        left_out = "{pull}"
    elif route.handler.__name__ == "ask":
        known = {"campaign": "$request.path.campaign", "pull": "$response.body#/pulls/0/pull"}
        left_out = "{arm}"
    else:
        return {}
    found: dict[str, Any] = {}
    for other in ROUTES:
        named = re.findall(r"{(\w+)}", other.path)
        if named and left_out not in other.path and (route.path == "/v1/campaigns" or "pull" in named):
            parameters = {name: known[name] for name in named}
            found[other.handler.__name__] = {"operationId": other.handler.__name__, "parameters": parameters}
    if "pull" in known:
        told = {"pull": known["pull"], "cost": 0.5, "reward": 1.0}
        found["tell"] = {"operationId": "tell", "parameters": {"campaign": known["campaign"]}, "requestBody": told}
    return found


def codes() -> dict[str, int]:
    """Every code of a problem, and its status."""
    return {code: kind.status for code, kind in KINDS.items()}
