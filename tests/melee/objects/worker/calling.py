"""A caller's end of the worker's socket, byte by byte where that matters, and a gate for what runs in the worker."""

import socket
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from melee.objects.protocol import HEADER, request_frame
from melee.objects.request import Call
from melee.testing import WorkerUnderTest


class Gate:
    """Where a method in the worker says that it runs, and waits until the test lets it go on.

    Attributes:
        path: for the method, which calls `wait_at(path)` of the app.
    """

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self._listener = socket.socket(socket.AF_UNIX)

    def __enter__(self) -> Self:
        self._listener.settimeout(30)
        self._listener.bind(self.path)
        self._listener.listen()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._listener.close()

    def reached(self) -> socket.socket:
        """Returns when a method is there; it goes on when the returned is closed."""
        return self._listener.accept()[0]


def counter(worker: WorkerUnderTest, id: str = "a") -> Any:
    return worker.classes["Counter"].get(id)


def connected(worker: WorkerUnderTest) -> socket.socket:
    caller = socket.socket(socket.AF_UNIX)
    caller.settimeout(30)
    caller.connect(str(worker.project.socket))
    return caller


def frame(method: str, *arguments: Any, id: str = "a") -> bytes:
    return request_frame(Call("Counter", id, method, msgspec.Raw(msgspec.json.encode(arguments))))


def answer(caller: socket.socket) -> Any:
    received = b""
    while len(received) < HEADER.size or len(received) < HEADER.size + HEADER.unpack(received[: HEADER.size])[0]:
        part = caller.recv(65536)
        if not part:
            return "hung up"
        received += part
    return msgspec.json.decode(received[HEADER.size :])
