"""Requests that Schemathesis makes from the OpenAPI document, for every route, alone and one after another.

No request may end in a failure of the server, and every answer must be as the document says. Schemathesis brings a
dozen packages that nothing else here needs, so it is none of the suite's: `pip install schemathesis`, `make soak`.

One of its checks is left out: that whatever fits a schema is accepted. Some rules cannot be written as a schema (names
must be printable, a fallback must be one of the arms), and what breaks them is refused, as documented.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from outlay.campaign import campaigns, verify
from outlay.service import auth
from outlay.service.auth import KeyStore
from tests.service.conftest import running

pytestmark = pytest.mark.soak
LEFT_OUT = {"positive_data_acceptance"}


@pytest.mark.parametrize("phase", ["coverage,fuzzing", "stateful"])
def test_every_answer_is_as_documented(
    store: str, key_store: KeyStore, phase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("schemathesis", reason="pip install schemathesis")
    schemathesis = import_module("schemathesis.cli").schemathesis
    monkeypatch.setattr(auth, "MOST_FAILURES", 10**9)
    monkeypatch.chdir(tmp_path)
    token, _ = key_store.new("fuzz", ["admin"])
    with running(store) as address:
        options: dict[str, Any] = {
            "--phases": phase,
            "--checks": "all",
            "--exclude-checks": ",".join(LEFT_OUT),
            "--exclude-path-regex": "stream$",  # which never ends by itself
            "--max-examples": "100",
            "--seed": "17",
            "--request-timeout": "70",
            "--header": f"Authorization: Bearer {token}",
        }
        words = [word for option in options.items() for word in option]
        done = CliRunner().invoke(schemathesis, ["run", f"{address}/v1/openapi.json", *words, "--continue-on-failure"])
    assert done.exit_code == 0, done.output[-10_000:]
    for status in campaigns(store):
        assert verify(store, status.name).ok
