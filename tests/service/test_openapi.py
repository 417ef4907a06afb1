"""The OpenAPI document: amounts in it, and that it is served."""

import json
import re

from starlette.testclient import TestClient

from outlay.service import document
from outlay.service.openapi import DECIMAL


def test_money_may_be_a_number_or_a_string() -> None:
    cost = document()["components"]["schemas"]["TellBody"]["properties"]["cost"]
    assert [each["type"] for each in cost["anyOf"]] == ["number", "string"]
    for good in ("1", "-0.5", "+.5", "1e-9", "10."):
        assert re.search(DECIMAL, good)
    for bad in ("", ".", "NaN", "Infinity", "1,5", "0x1", "1e"):
        assert not re.search(DECIMAL, bad)


def test_it_is_served(client: TestClient) -> None:
    assert client.get("/v1/openapi.json").json() == json.loads(json.dumps(document()))
