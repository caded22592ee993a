"""What a forker and the process that asks for its children tell each other: a line of JSON a message.

The message `Forked` comes with a descriptor, the asking side's end of a socket that the child serves.
"""

import os
import socket
from collections import deque
from typing import Any

import msgspec

_READ_BYTES = 64 * 1024
_DESCRIPTORS_AT_ONCE = 64


class Fork(msgspec.Struct, tag="fork"):
    """Asked: fork that many children more."""

    children: int


class Kill(msgspec.Struct, tag="kill"):
    """Asked: end this child and all that it started, at once."""

    pid: int


class Loaded(msgspec.Struct, tag="loaded"):
    """Told: children can be asked for from now on. `jobs` names the durable jobs that the app has registered."""

    jobs: list[str] = []


class Failed(msgspec.Struct, tag="failed"):
    """Told: there will be no children; why, in one line."""

    problem: str


class Forked(msgspec.Struct, tag="forked"):
    """Told: here is a child."""

    pid: int


class Ended(msgspec.Struct, tag="ended"):
    """Told: this child is gone, and all that it started; `exit_code` is below 0 when a signal ended it."""

    pid: int
    exit_code: int


Asked = Fork | Kill
Told = Loaded | Failed | Forked | Ended

_encoder = msgspec.json.Encoder()


class Channel:
    """One end of the conversation.

    Args:
        connection: a stream socket; this object closes it.
        reads: the messages that come in here: `Asked` or `Told`.
    """

    def __init__(self, connection: socket.socket, reads: Any) -> None:
        self._socket = connection
        self._decoder = msgspec.json.Decoder(reads)
        self._received = b""
        self._descriptors: deque[int] = deque()

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, message: Asked | Told, *descriptors: int) -> None:
        """Raises `OSError` when the other side is gone."""
        line = _encoder.encode(message) + b"\n"
        sent = socket.send_fds(self._socket, [line], descriptors)
        if sent < len(line):
            self._socket.sendall(line[sent:])

    def receive(self) -> list[Any] | None:
        """The messages that are there, at least a part of one; None when there will be no more: the other side is gone,
        or this process has no room for a descriptor that came."""
        try:
            received, descriptors, flags, _address = socket.recv_fds(self._socket, _READ_BYTES, _DESCRIPTORS_AT_ONCE)
        except (BlockingIOError, InterruptedError):
            return []
        except ConnectionError:
            return None
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        self._descriptors.extend(descriptors)
        if not received or flags & socket.MSG_CTRUNC:
            # Without one of them nobody knows to which child the next belongs.
            return None
        *lines, self._received = (self._received + received).split(b"\n")
        return [self._decoder.decode(line) for line in lines]

    def take_descriptor(self) -> int:
        """The descriptor that came with the next `Forked`, in their order."""
        return self._descriptors.popleft()

    def close(self) -> None:
        while self._descriptors:
            socket.close(self._descriptors.popleft())
        self._socket.close()
