"""Operations per second of `outlay serve` on this machine: 64 connections, each asking and telling in turn.

    python benchmarks/service.py --seconds 20 --connections 64

The server is a process of its own, on a SQLite file whose every commit is flushed; this process makes the load, with
plain sockets so that it takes little of the processor. An operation is one ask or one tell.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

MAIN = "from outlay.cli import main; main()"
ARMS = {"tiny": 0.01, "small": 0.05, "medium": 0.2, "large": 0.5, "huge": 1.0}


class Connection:
    """One connection that is kept open."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        self._reader, self._writer, self._host = reader, writer, host

    async def post(self, path: str, body: object) -> tuple[int, dict[str, Any]]:
        """Send a request, and read its answer."""
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\n"
        self._writer.write(head.encode() + b"Content-Length: %d\r\n\r\n" % len(data) + data)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        status = int(answer[9:12])
        at = answer.lower().index(b"content-length: ") + 16
        length = int(answer[at : answer.index(b"\r", at)])
        return status, json.loads(await self._reader.readexactly(length))


async def work(host: str, port: int, name: str, end: float, times: list[float], batch: int) -> int:
    connection = Connection(*await asyncio.open_connection(host, port), f"{host}:{port}")
    done = refused = 0
    path = f"/v1/campaigns/{name}"
    while time.perf_counter() < end:
        began = time.perf_counter()
        status, asked = await connection.post(f"{path}/ask", {} if batch == 1 else {"n": batch})
        times.append(time.perf_counter() - began)
        if status == 429:
            refused += 1
            await asyncio.sleep(asked["retry_after"])
            continue
        assert status == 200, asked
        tells = [{"pull": pull["pull"], "cost": ARMS[pull["arm"]] / 2, "reward": 0.5} for pull in asked["pulls"]]
        began = time.perf_counter()
        status, told = await connection.post(f"{path}/tell", tells if batch > 1 else tells[0])
        times.append(time.perf_counter() - began)
        assert status == 200, told
        done += 2 * len(tells)
    return done


def processor_seconds(process: int) -> float:
    ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")


async def load(address: str, server: int, seconds: float, connections: int, policy: str | None, batch: int) -> None:
    host, _, port = address.removeprefix("http://").rpartition(":")
    first = Connection(*await asyncio.open_connection(host, int(port)), f"{host}:{port}")
    new = {"name": "load", "arms": ARMS, "budget": 9_000_000, "policy": policy}
    status, said = await first.post("/v1/campaigns", new)
    assert status in (200, 201), said
    times: list[float] = []
    await asyncio.gather(
        *(work(host, int(port), "load", time.perf_counter() + 2, [], batch) for _ in range(connections))
    )
    before = [processor_seconds(each) for each in (server, os.getpid())]
    began = time.perf_counter()
    end = began + seconds
    done = sum(await asyncio.gather(*(work(host, int(port), "load", end, times, batch) for _ in range(connections))))
    wall = time.perf_counter() - began
    p50, p99, worst = (1000 * float(np.quantile(times, q)) for q in (0.5, 0.99, 1.0))
    print(f"{done / wall:8.0f} operations/s, p50 {p50:.1f} ms, p99 {p99:.1f} ms, worst {worst:.0f} ms")
    used = [processor_seconds(each) - was for each, was in zip((server, os.getpid()), before, strict=True)]
    print(f"processor time per operation: server {1e6 * used[0] / done:.0f} µs, load {1e6 * used[1] / done:.0f} µs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--policy")
    parser.add_argument("--store", help="sqlite:///… in a new folder if not given")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or f"sqlite:///{folder}/outlay.db"
        server = subprocess.Popen(
            [sys.executable, "-c", MAIN, "serve", "--store", store, "--port", "0"],
            stdout=subprocess.PIPE, stderr=(Path(folder) / "log").open("wb"), text=True,
        )  # fmt: skip
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip().removeprefix("outlay serves ")
            asyncio.run(load(address, server.pid, options.seconds, options.connections, options.policy, options.batch))
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
