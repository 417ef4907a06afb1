"""Operations per second of `outlay serve` on this machine; an operation is one ask or one tell.

    python -m benchmarks.service                            # 64 connections, each asking and telling in turn
    python -m benchmarks.service --table                    # what the page on deployment shows
    python -m benchmarks.service --seconds 600 --every 60   # ten minutes: memory, threads, files and times
    python -m benchmarks.service --postgres --replicas 2

Servers are processes of their own, on a SQLite file whose every commit is flushed, or on a PostgreSQL server that waits
for its disk; this process makes the load, with plain sockets so that it takes little of the processor.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

MAIN = "from outlay.cli import main; main()"
ARMS = {"tiny": 0.01, "small": 0.05, "medium": 0.2, "large": 0.5, "huge": 1.0}
WARMING = 2.0  # seconds before anything is measured


class Case(NamedTuple):
    """What is measured."""

    connections: int = 64
    batch: int = 1
    replicas: int = 1
    postgres: bool = False
    policy: str | None = None


class Found(NamedTuple):
    """What was measured: operations per second, times in milliseconds, processor seconds per operation."""

    pace: float
    p50: float
    p99: float
    worst: float
    server: float
    load: float


class Connection:
    """One connection that is kept open."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        self._reader, self._writer, self._host = reader, writer, host

    @classmethod
    async def to(cls, address: str) -> "Connection":
        """A connection to a server."""
        host, _, port = address.removeprefix("http://").rpartition(":")
        return cls(*await asyncio.open_connection(host, int(port)), f"{host}:{port}")

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

    def close(self) -> None:
        """End it."""
        self._writer.close()


async def work(address: str, end: float, times: list[float], batch: int) -> int:
    """Ask and tell until the end; how many operations that were."""
    connection = await Connection.to(address)
    done = 0
    path = "/v1/campaigns/load"
    while time.perf_counter() < end:
        began = time.perf_counter()
        status, asked = await connection.post(f"{path}/ask", {} if batch == 1 else {"n": batch})
        times.append(time.perf_counter() - began)
        if status == 429:
            await asyncio.sleep(asked["retry_after"])
            continue
        assert status == 200, asked
        tells = [{"pull": pull["id"], "cost": ARMS[pull["arm"]] / 2, "reward": 0.5} for pull in asked["pulls"]]
        began = time.perf_counter()
        status, told = await connection.post(f"{path}/tell", tells if batch > 1 else tells[0])
        times.append(time.perf_counter() - began)
        assert status == 200, told
        done += 2 * len(tells)
    connection.close()
    return done


async def spell(addresses: list[str], servers: list[int], seconds: float, case: Case) -> Found:
    """So many seconds of load."""
    times: list[float] = []
    before = [processor_seconds(each) for each in (*servers, os.getpid())]
    began = time.perf_counter()
    workers = (work(addresses[i % len(addresses)], began + seconds, times, case.batch) for i in range(case.connections))
    done = sum(await asyncio.gather(*workers))
    wall = time.perf_counter() - began
    used = [processor_seconds(each) - was for each, was in zip((*servers, os.getpid()), before, strict=True)]
    p50, p99, worst = (1000 * float(np.quantile(times, q)) for q in (0.5, 0.99, 1.0))
    return Found(done / wall, p50, p99, worst, sum(used[:-1]) / done, used[-1] / done)


def processor_seconds(process: int) -> float:
    """What a process has taken of the processor."""
    ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")


def footprint(process: int) -> str:
    """What a process holds."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    files = len(list(Path(f"/proc/{process}/fd").iterdir()))
    return f"{int(status['VmRSS'].split()[0]) / 1024:.0f} MB, {status['Threads'].strip()} threads, {files} files"


@contextmanager
def served(case: Case) -> Iterator[tuple[list[str], list[int]]]:
    """Servers on a new store, and the numbers of their processes."""
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
        store = f"sqlite:///{folder}/outlay.db"
        if case.postgres:
            from tests.campaign.postgres import Server

            store = held.enter_context(Server(durable=True)).create_database("load")
        addresses, servers = [], []
        for number in range(case.replicas):
            log = held.enter_context((folder / f"log {number}").open("wb"))
            command = [sys.executable, "-c", MAIN, "serve", "--store", store, "--port", "0"]
            server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
            held.callback(server.wait)
            held.callback(server.terminate)
            assert server.stdout is not None
            addresses.append(server.stdout.readline().strip().removeprefix("outlay serves "))
            servers.append(server.pid)
        yield addresses, servers


async def opened(address: str, policy: str | None) -> None:
    """Open the campaign that is spent."""
    first = await Connection.to(address)
    status, said = await first.post(
        "/v1/campaigns", {"name": "load", "arms": ARMS, "budget": 9_000_000, "policy": policy}
    )
    assert status in (200, 201), said
    first.close()


def measured(case: Case, seconds: float, every: float | None = None) -> Found:
    """Warm up, then measure; `every` so many seconds, say how it goes and what the servers hold."""
    with served(case) as (addresses, servers):
        asyncio.run(opened(addresses[0], case.policy))
        asyncio.run(spell(addresses, servers, WARMING, case))
        if every is None:
            return asyncio.run(spell(addresses, servers, seconds, case))
        for number in range(round(seconds / every)):
            found = asyncio.run(spell(addresses, servers, every, case))
            time.sleep(0.5)  # connections that were closed are let go
            held = "; ".join(footprint(server) for server in servers)
            print(f"{(number + 1) * every:6.0f} s: {shown(found)}; {held}", flush=True)
        return found


def shown(found: Found) -> str:
    """In a line."""
    times = f"p50 {found.p50:.1f} ms, p99 {found.p99:.1f} ms, worst {found.worst:.0f} ms"
    return f"{found.pace:,.0f} operations/s, {times}"


def table(seconds: float) -> None:
    """The table of the page on deployment, in Markdown."""
    sqlite = [Case(connections, batch) for connections, batch in ((1, 1), (8, 1), (64, 1), (256, 1), (8, 10), (8, 100))]
    postgres = [Case(64, 1, replicas, True) for replicas in (1, 2)]
    print("| store | connections | pulls per request | operations/s | p50 | p99 | processor time per operation |")
    print("|---|---|---|---|---|---|---|")
    for case in [*sqlite, *postgres]:
        found = measured(case, seconds)
        store = f"PostgreSQL, {case.replicas} server{'s' * (case.replicas > 1)}" if case.postgres else "SQLite"
        times = [f"{found.p50:.1f} ms", f"{found.p99:.1f} ms", f"{1e6 * found.server:.0f} µs"]
        cells = [store, case.connections, case.batch, f"{found.pace:,.0f}", *times]
        print("|", " | ".join(map(str, cells)), "|", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--every", type=float, help="say every so many seconds how it goes")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--batch", type=int, default=1, help="pulls per request")
    parser.add_argument("--replicas", type=int, default=1, help="servers on one store, which must be PostgreSQL")
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL server, which is started for it")
    parser.add_argument("--policy")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        table(options.seconds)
        return
    case = Case(options.connections, options.batch, options.replicas, options.postgres, options.policy)
    found = measured(case, options.seconds, options.every)
    print(shown(found))
    used = f"servers {1e6 * found.server:.0f} µs, load {1e6 * found.load:.0f} µs"
    print(f"processor time per operation: {used}; {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
