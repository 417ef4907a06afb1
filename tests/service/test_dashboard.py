"""The files of the dashboard: what the policy of its pages allows, and nothing from elsewhere."""

import re

from starlette.testclient import TestClient

from outlay.service.streams import STATIC

TEXTS = {path.name: path.read_text(encoding="utf-8") for path in STATIC.iterdir()}


def test_every_file_is_served_and_every_file_that_is_named_is_there(client: TestClient) -> None:
    for name, text in TEXTS.items():
        assert client.get(f"/{name}").text == text
    named = re.findall(r'(?:src|href)="/([\w.]+)"|from "\./([\w.]+)"', "\n".join(TEXTS.values()))
    assert {first or second for first, second in named} | {"index.html"} == set(TEXTS)
    assert client.get("/").text == TEXTS["index.html"]
    assert client.get("/../app.py").status_code == 404
    assert client.post("/app.js").status_code == 405


def test_no_script_or_style_stands_in_the_page_and_none_comes_from_elsewhere() -> None:
    page = TEXTS["index.html"]
    assert re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL) == [""]
    assert not re.search(r"<style|\sstyle=|\son\w+=", page)
    for name, text in TEXTS.items():
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", text), name
        outside = set(re.findall(r"https?://[^\s\"'`)]+", text)) - {"http://www.w3.org/2000/svg"}
        assert outside == set(), name
