"""The OpenAPI document: made of the same table as the server, complete, and without loose ends."""

import json
import re
from typing import Any

from starlette.testclient import TestClient

from outlay.service import document
from outlay.service.openapi import DECIMAL


def references(part: Any) -> set[str]:
    if isinstance(part, dict):
        own = {part["$ref"]} if isinstance(part.get("$ref"), str) else set()
        return own.union(*(references(value) for value in part.values()))
    return set().union(*map(references, part)) if isinstance(part, list) else set()


def test_every_reference_resolves_and_every_parameter_is_named() -> None:
    schemas = document()["components"]["schemas"]
    assert references(document()) <= {f"#/components/schemas/{name}" for name in schemas}
    for path, operations in document()["paths"].items():
        for operation in operations.values():
            named = {each["name"] for each in operation["parameters"] if each["in"] == "path"}
            assert named == set(re.findall(r"{(\w+)}", path))
            assert operation["summary"]
            assert operation["responses"]["default"]["content"]["application/problem+json"]


def test_money_may_be_a_number_or_a_string() -> None:
    cost = document()["components"]["schemas"]["TellBody"]["properties"]["cost"]
    assert [each["type"] for each in cost["anyOf"]] == ["number", "string"]
    for good in ("1", "-0.5", "+.5", "1e-9", "10."):
        assert re.search(DECIMAL, good)
    for bad in ("", ".", "NaN", "Infinity", "1,5", "0x1", "1e"):
        assert not re.search(DECIMAL, bad)


def test_it_is_served(client: TestClient) -> None:
    assert client.get("/v1/openapi.json").json() == json.loads(json.dumps(document()))
