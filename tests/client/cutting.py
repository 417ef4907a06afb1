"""A proxy that cuts one connection after so many bytes of what is sent, or answered; then it lets all pass."""

import socket
import threading
from contextlib import suppress
from typing import Literal

Side = Literal["request", "answer"]


class Cutting:
    """Listens on a port of its own and forwards to another; `cut` arms it, once."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._cut: tuple[Side, int] | None = None
        self.passed: dict[Side, int] = {"request": 0, "answer": 0}  # bytes, since it was armed
        threading.Thread(target=self._work, daemon=True).start()

    def cut(self, side: Side, after: int) -> None:
        """Cut the connection once so many bytes have passed on this side, from now on."""
        self.passed = {"request": 0, "answer": 0}
        self._cut = side, after

    @property
    def has_cut(self) -> bool:
        return self._cut is None

    def close(self) -> None:
        self._listening.close()

    def _work(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                far = socket.create_connection(("127.0.0.1", self._to))
                for side, one, other in (("request", near, far), ("answer", far, near)):
                    threading.Thread(target=self._forward, args=(side, one, other), daemon=True).start()

    def _forward(self, side: Side, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65_536):
                armed = self._cut
                if armed is not None and armed[0] == side and self.passed[side] + len(data) > armed[1]:
                    self._cut = None
                    other.sendall(data[: armed[1] - self.passed[side]])
                    break
                self.passed[side] += len(data)
                other.sendall(data)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
