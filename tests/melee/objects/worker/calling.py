"""A caller's end of the worker's socket, byte by byte where that matters."""

import socket
from typing import Any

import msgspec

from melee.objects.protocol import HEADER, request_frame
from melee.objects.request import Call
from melee.objects.shard import Shard
from melee.testing import WorkerUnderTest


def counter(worker: WorkerUnderTest, id: str = "a") -> Any:
    return worker.classes["Counter"].get(id)


def connected(worker: WorkerUnderTest) -> socket.socket:
    caller = socket.socket(socket.AF_UNIX)
    caller.settimeout(30)
    caller.connect(str(Shard().socket(worker.project)))
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
