"""What a job worker and its executors tell each other: frames of MessagePack over a socket, each with its length.

What changes with every job is on a *board* instead, memory that both share: how many jobs the executor has begun and
ended, when it began the last, and how many it may begin. It is right even when the executor is killed in the middle of
a job, and costs no system call.
"""

import mmap
import socket
import struct
import sys
from typing import Generic, TypeVar

import msgspec

_LENGTH = struct.Struct("!I")
_CELL_BYTES = 8
_CELLS = 4
_BEGUN, _ENDED, _BEGAN_AT, _LIMIT = range(_CELLS)
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
    """Answered after each `Run`: how long each of its jobs took; None for one that was taken back before it began."""

    seconds: list[float | None]


Told = Begin | Run
Answered = Failed | Ran


class Board:
    """How far each executor is; the memory is shared by processes forked from the one that made it.

    Each cell is written by one side only, in one piece, so that nobody reads half of a number.
    """

    def __init__(self, lines: int) -> None:
        memory = memoryview(mmap.mmap(-1, max(lines, 1) * _CELLS * _CELL_BYTES))
        self._numbers, self._moments = memory.cast("q"), memory.cast("d")

    def clear(self, line: int) -> None:
        """For a new executor, before it begins."""
        self._numbers[line * _CELLS + _BEGUN] = self._numbers[line * _CELLS + _ENDED] = 0
        self.lift(line)

    # The executor's side.

    def begin(self, line: int, number: int, at: float) -> bool:
        """Says that an executor begins its `number`-th job, from 1; False when it may not, since it was taken back."""
        cell = line * _CELLS
        # In this order: who sees that it has begun also sees when.
        self._moments[cell + _BEGAN_AT] = at
        self._numbers[cell + _BEGUN] = number
        return number <= self._numbers[cell + _LIMIT]

    def end(self, line: int, number: int) -> None:
        self._numbers[line * _CELLS + _ENDED] = number

    # The worker's side.

    def read(self, line: int) -> tuple[int, int, float]:
        """How many jobs have begun and ended, and when the last began, as the clock's `elapsed` says."""
        cell, before = line * _CELLS, None
        while True:
            numbers = self._numbers
            read = numbers[cell + _BEGUN], numbers[cell + _ENDED], self._moments[cell + _BEGAN_AT]
            if read == before:
                return read
            before = read

    def stop_after_begun(self, line: int) -> tuple[int, int]:
        """Lets an executor begin no further job; returns how many it has surely begun, and how many perhaps.

        It writes that it begins before it looks whether it may, and this does so the other way round: so beyond the
        second number it runs nothing. What is between the two it may have run or not, as it will say.
        """
        cell = line * _CELLS
        surely = self._numbers[cell + _LIMIT] = self._numbers[cell + _BEGUN]
        return surely, self._numbers[cell + _BEGUN]

    def lift(self, line: int) -> None:
        """Lets an executor begin whatever it is given."""
        self._numbers[line * _CELLS + _LIMIT] = sys.maxsize


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
