"""What very many tenants cost a service: time, memory, threads, and the start.

    python -m benchmarks.wallets [--tenants 10000] [--asks 3]

Starts `outlay serve` on a new SQLite file, makes a template with a total, and lets every tenant ask and tell, 64 at a
time; then starts it again on what was written.
"""

import argparse
import asyncio
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2

AT_ONCE = 64
TEMPLATE = {"name": "free", "arms": {"small": 0.01, "large": 0.2}, "budget": 1, "total": 10**6, "mode": "hard"}
SERVE = "from outlay.cli import main; main()"


class Served:
    """The service as a process."""

    def __init__(self, store: str) -> None:
        began = time.perf_counter()
        command = [sys.executable, "-c", SERVE, "serve", "--store", store, "--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip().removeprefix("outlay serves ")
        httpx2.get(f"{self.address}/readyz").raise_for_status()
        print(f"started in {time.perf_counter() - began:.2f} s")

    def say(self, what: str, began: float, pairs: int) -> None:
        """Print what so many asks and tells took."""
        took = time.perf_counter() - began
        place = Path(f"/proc/{self.process.pid}")
        said = dict(line.split(":", 1) for line in (place / "status").read_text().splitlines())
        ticks = (place / "stat").read_text().rpartition(")")[2].split()[11:13]
        print(
            f"{what}: {took:.1f} s, {pairs / took:.0f} asks and tells a second; since its start the service took "
            f"{sum(map(int, ticks)) / 100:.0f} s of a processor; {int(said['VmRSS'].split()[0]) / 1024:.0f} MiB, "
            f"{said['Threads'].strip()} threads"
        )

    def stop(self) -> None:
        """End it."""
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate()


async def spend(address: str, tenants: int, asks: int) -> None:
    """Each tenant asks so many times, and tells."""
    one_of = asyncio.Semaphore(AT_ONCE)

    async def one(client: httpx2.AsyncClient, number: int) -> None:
        path = f"/v1/templates/free/campaigns/user{number}"
        async with one_of:
            for _ in range(asks):
                asked = (await client.post(f"{path}/ask", json={"most": 0.01})).raise_for_status().json()
                told = {"pull": asked["pulls"][0]["id"], "cost": 0.005, "reward": 1}
                (await client.post(f"{path}/tell", json=told)).raise_for_status()

    async with httpx2.AsyncClient(base_url=address, timeout=60) as client:
        await asyncio.gather(*(one(client, number) for number in range(tenants)))


def main() -> None:
    """Print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenants", type=int, default=10_000)
    parser.add_argument("--asks", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        served = Served(f"sqlite:///{folder}/wallets.db")
        httpx2.post(f"{served.address}/v1/templates", json=TEMPLATE).raise_for_status()
        for what, asks in (("first", 1), ("more", given.asks - 1)):
            began = time.perf_counter()
            asyncio.run(spend(served.address, given.tenants, asks))
            served.say(what, began, given.tenants * asks)
        served.stop()
        served = Served(f"sqlite:///{folder}/wallets.db")
        began = time.perf_counter()
        asyncio.run(spend(served.address, 1, 1))
        print(f"first ask and tell after that: {time.perf_counter() - began:.2f} s")
        served.stop()


if __name__ == "__main__":
    main()
