"""The example of workers that share a budget runs as it is, against a service."""

import re
import subprocess
import sys
from pathlib import Path

from outlay.campaign import verify
from tests.service.conftest import running

EXAMPLE = Path(__file__).parents[2] / "examples" / "service_workers.py"


def test_the_workers_share_the_cap(store: str) -> None:
    with running(store) as address:
        command = [sys.executable, "-W", "error", str(EXAMPLE), address, "0.1"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    calls, money = done.stdout.splitlines()
    assert len(re.findall(r"\d+", calls)) == 4
    assert 0.098 < float(money.split("$")[1].split()[0]) <= 0.1
    assert money.endswith("of $0.1: closed")
    assert verify(store, "shared").ok
