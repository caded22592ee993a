"""What a job worker and its executors tell each other: frames of MessagePack over a socket, each with its length.

What changes with every job is on a *board* instead, memory that both share: how many jobs the executor has begun and
ended, and when it began the last. It is right even when the executor is killed in the middle of a job, and costs no
system call.
"""

import mmap
import socket
import struct
from typing import Generic, TypeVar

import msgspec

_LENGTH = struct.Struct("!I")
_LINE = struct.Struct("=qqd")
_READ_BYTES = 256 * 1024


class Order(msgspec.Struct, array_like=True, frozen=True):
    """A job to run."""

    id: int
    name: str
    payload: str
    attempt: int


class Begin(msgspec.Struct, tag="begin", array_like=True, frozen=True):
    """Told once, first: which line of the board the executor writes."""

    line: int


class Run(msgspec.Struct, tag="run", array_like=True, frozen=True):
    """Told: run these, in order."""

    orders: list[Order]


class Failed(msgspec.Struct, tag="failed", array_like=True, frozen=True):
    """Answered at once, before the executor goes on: its `number`-th job, from 1, raised.

    `is_final`: to run it again would be no use.
    """

    number: int
    error: str
    is_final: bool


class Ran(msgspec.Struct, tag="ran", array_like=True, frozen=True):
    """Answered after each `Run`: how long each of its jobs took."""

    seconds: list[float]


Told = Begin | Run
Answered = Failed | Ran


class Board:
    """How far each executor is; the memory is shared by processes forked from the one that made it."""

    def __init__(self, lines: int) -> None:
        self._memory = mmap.mmap(-1, max(lines, 1) * _LINE.size)

    def write(self, line: int, begun: int, ended: int, began_at: float) -> None:
        _LINE.pack_into(self._memory, line * _LINE.size, begun, ended, began_at)

    def read(self, line: int) -> tuple[int, int, float]:
        """How many jobs have begun and ended, and when the last began, as the clock's `elapsed` says."""
        begun, ended, began_at = _LINE.unpack_from(self._memory, line * _LINE.size)
        return begun, ended, began_at


_encoder = msgspec.msgpack.Encoder()


def packed(message: Told | Answered) -> bytes:
    encoded = _encoder.encode(message)
    return _LENGTH.pack(len(encoded)) + encoded


_Message = TypeVar("_Message")


class Unpacker(Generic[_Message]):
    """Finds the messages in what comes in, whatever pieces it comes in.

    Args:
        reads: `Told` or `Answered`.
    """

    def __init__(self, reads: object) -> None:
        self._decoder: msgspec.msgpack.Decoder[_Message] = msgspec.msgpack.Decoder(reads)
        self._received = bytearray()

    def receive(self, connection: socket.socket) -> list[_Message] | None:
        """The messages that are there, if any; None when there will be no more."""
        try:
            received = connection.recv(_READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return []
        except ConnectionError:
            return None
        if not received:
            return None
        self._received += received
        messages: list[_Message] = []
        begins_at = 0
        while len(self._received) - begins_at >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._received, begins_at)
            ends_at = begins_at + _LENGTH.size + length
            if len(self._received) < ends_at:
                break
            messages.append(self._decoder.decode(memoryview(self._received)[begins_at + _LENGTH.size : ends_at]))
            begins_at = ends_at
        del self._received[:begins_at]
        return messages
