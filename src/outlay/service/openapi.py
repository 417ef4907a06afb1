"""The OpenAPI 3.1 document of the service, made from the tables of routes and their types."""

import inspect
import re
from functools import cache
from typing import Any, get_args

import msgspec

from outlay import __version__
from outlay.service import routes, streams, templates
from outlay.service.endpoints import JSON, Route
from outlay.service.problems import MEDIA
from outlay.service.schemas import ProblemDetails

ROUTES = (*routes.table, *templates.table, *streams.table)
REF = "#/components/schemas/{name}"
DECIMAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"  # an amount as a string
PATH = {
    "campaign": {"type": "string", "minLength": 1, "maxLength": 200},
    "arm": {"type": "string", "minLength": 1, "maxLength": 200},
    "template": {"type": "string", "minLength": 1, "maxLength": 178},
    "tenant": {"type": "string", "minLength": 1, "maxLength": 178},
    "pull": {"type": "integer", "minimum": 1, "maximum": 10**18 - 1},
}


@cache
def document() -> dict[str, Any]:
    """The whole document."""
    kinds = {kind for route in ROUTES for kind in (route.body, *_answers(route)) if kind is not None}
    listed = sorted(kinds | {ProblemDetails}, key=str)
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
    """The possible types of a JSON answer; none if the handler sends something else."""
    parts = get_args(route.answer) or (route.answer,)
    return tuple(part for part in parts if issubclass(part, msgspec.Struct))


def _with_money(schema: Any) -> Any:
    """The schema with amounts as numbers or strings; msgspec's schema of Decimal allows only strings."""
    if isinstance(schema, dict):
        if schema.get("format") == "decimal":
            return {"anyOf": [{"type": "number"}, {"type": "string", "format": "decimal", "pattern": DECIMAL}]}
        return {key: _with_money(part) for key, part in schema.items()}
    return [_with_money(part) for part in schema] if isinstance(schema, list) else schema


def _operation(route: Route, schemas: dict[Any, Any]) -> dict[str, Any]:
    answers = [schemas[kind] for kind in _answers(route)]
    done: dict[str, Any] = {"description": "Done."}
    if links := _links(route):
        done["links"] = links
    if 204 not in route.statuses:
        schema = {"schema": answers[0] if len(answers) == 1 else {"anyOf": answers}} if answers else {}
        done["content"] = {route.media: schema}
    refused = {"description": "Refused.", "content": {MEDIA: {"schema": schemas[ProblemDetails]}}}
    text = inspect.getdoc(route.handler) or ""
    path = [{"name": name, "in": "path", "required": True, "schema": PATH[name]} for name in _named(route.path)]
    found: dict[str, Any] = {
        "operationId": route.handler.__name__,
        "summary": text.partition("\n")[0],
        "description": text,
        "parameters": [*path, *_query(route)],
        "responses": {**{str(status): done for status in sorted(route.statuses)}, "default": refused},
    }
    if route.scope is not None:
        found |= {"security": [{"key": []}], "x-scope": route.scope}
    if route.body is not None:
        found["requestBody"] = {"required": _needed(route.body), "content": {JSON: {"schema": schemas[route.body]}}}
    return found


def _needed(body: Any) -> bool:
    """Whether a body must be sent; without one it is an empty object."""
    try:
        msgspec.convert({}, body)
    except msgspec.ValidationError:
        return True
    return False


def _query(route: Route) -> list[dict[str, Any]]:
    if route.query is None:
        return []
    (_,), components = msgspec.json.schema_components([route.query], ref_template=REF)
    fields = components[route.query.__name__]["properties"]
    return [{"name": name, "in": "query", "schema": schema} for name, schema in fields.items()]


def _links(route: Route) -> dict[str, Any]:
    """What can be called with values of the answer: the campaign just opened, or the pull just named."""
    known: dict[str, str] = {}
    if route.handler is routes.new_campaign:
        known = {"campaign": "$response.body#/name", "arm": "$response.body#/arms/0/name"}
    elif route.handler is routes.ask:
        known = {"campaign": "$request.path.campaign", "pull": "$response.body#/pulls/0/id"}
    found: dict[str, Any] = {}
    for other in ROUTES if known else ():
        named = _named(other.path)
        if named and set(named) <= set(known) and ("pull" in named or "pull" not in known):
            name = other.handler.__name__
            found[name] = {"operationId": name, "parameters": {each: known[each] for each in named}}
    if "pull" in known:
        told = {"pull": known["pull"], "cost": 0.5, "reward": 1.0}
        found["tell"] = {"operationId": "tell", "parameters": {"campaign": known["campaign"]}, "requestBody": told}
    return found


def _named(path: str) -> list[str]:
    return re.findall(r"{(\w+)}", path)
