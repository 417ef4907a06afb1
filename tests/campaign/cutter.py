"""Between a client and a PostgreSQL server: cuts the wire at a COMMIT, before it is heard or before it is answered."""

import re
import socket
import threading
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

# To have it parsed under a name, after which only the name is said: in each message between two zeros.
PREPARED = re.compile(rb"(outlay_\w+)\0COMMIT\0")


class Cutter:
    """A socket in `folder` that passes on what it hears; after `cut`, the next COMMIT is the last word."""

    def __init__(self, server: Path, folder: Path, port: int) -> None:
        self._server, self.folder = str(server / f".s.PGSQL.{port}"), folder
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / f".s.PGSQL.{port}"))
        self._where: Literal["before", "after"] | None = None
        self._passing = 0
        self.cuts = 0  # that were made

    def __enter__(self) -> Self:
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def cut(self, where: Literal["before", "after"], passing: int = 0) -> None:
        """Cut the wire before or after the server hears the next COMMIT, or a later one, so many being passed on."""
        self._where, self._passing = where, passing

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(self._server)
            threading.Thread(target=_copy, args=(server, client), daemon=True).start()
            commit = b"COMMIT"
            while heard := client.recv(1 << 16):
                if prepared := PREPARED.search(heard):
                    commit = prepared[1]
                if self._where is not None and b"\0%s\0" % commit in heard:
                    if not self._passing:
                        where, self._where = self._where, None
                        self.cuts += 1
                        client.shutdown(socket.SHUT_RDWR)
                        if where == "after":
                            server.sendall(heard)
                        break
                    self._passing -= 1
                server.sendall(heard)
            server.shutdown(socket.SHUT_RDWR)  # closing alone would not wake the thread that listens to it


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while heard := source.recv(1 << 16):
            target.sendall(heard)
    except OSError:
        return
