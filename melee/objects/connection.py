"""One caller of the object worker: the bytes that came and the bytes that wait to go, without ever waiting."""

import socket
import threading

from melee import log
from melee.errors import Overloaded
from melee.objects.commit import Outcome
from melee.objects.protocol import HEADER, NotAFrame, payload_length, read_request, reply_frame
from melee.objects.request import Request, ref_of

HELD_BYTES_AT_MOST = 256 * 1024 * 1024
_READ_BYTES = 64 * 1024
_NOTHING = memoryview(b"")


class Held:
    """How many bytes the worker holds for all its callers: of requests that have not arrived whole, and of answers
    that have not been read."""

    def __init__(self) -> None:
        self.total_bytes = 0
        self._changing = threading.Lock()

    def add(self, more_bytes: int) -> None:
        with self._changing:
            self.total_bytes += more_bytes

    def has_room_for(self, more_bytes: int) -> bool:
        return self.total_bytes + more_bytes <= HELD_BYTES_AT_MOST

    def refusal(self, name: str, method: str) -> Overloaded:
        return Overloaded(name, method, f"{self.total_bytes:,} bytes of requests and answers are under way already")


class CallerConnection:
    """The worker's end of a caller's connection.

    A request is taken from the socket only when it is about to run. What the worker has not taken is still in the
    kernel, so when the worker dies its caller sees a reset instead of an end, and knows that the call never started.
    """

    def __init__(self, caller: socket.socket, held: Held) -> None:
        caller.setblocking(False)
        self._socket = caller
        self._held, self._held_bytes = held, 0
        self._received = bytearray()
        self._to_send = _NOTHING
        self._has_request = False
        self.has_gone = False

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def wants_to_send(self) -> bool:
        return bool(self._to_send)

    def take_request(self) -> Request | None:
        """Reads what is there; a request when that completes one and there is room for it. One for which there is none
        is refused; a caller that sends what is no request is let go."""
        try:
            return self._taken_request()
        except NotAFrame as error:
            log.frame_refused(str(error))
            self.has_gone = True
        except Overloaded as refusal:
            self.reply(refusal)
        return None

    def _taken_request(self) -> Request | None:
        try:
            received = self._socket.recv(_READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            received = b""
        if not received:
            self.has_gone = True
            return None
        self._received += received
        if len(self._received) < HEADER.size:
            return None
        announced = payload_length(self._received)
        missing = announced - (len(self._received) - HEADER.size)
        if missing > 0:
            if not self._held_bytes and not self._held.has_room_for(announced):
                # The rest is on its way and has nowhere to go.
                self.has_gone = True
                raise self._held.refusal("*", "*")
            self._hold(announced)
            return None
        if missing < 0 or self._has_request:
            raise NotAFrame("a second request before the first was answered")
        request = read_request(bytes(self._received[HEADER.size :]))
        self._received.clear()
        self._hold(0)
        self._has_request = True
        if not self._held.has_room_for(0):
            # It may return much.
            raise self._held.refusal(str(ref_of(request)), request.method)
        return request

    def is_waited_for(self) -> bool:
        """Whether the caller has kept its end open. If not, nobody waits for its request, and it must not run."""
        try:
            self.has_gone = self._socket.recv(1, socket.MSG_PEEK) == b""
        except (BlockingIOError, InterruptedError):
            return True
        except OSError:
            self.has_gone = True
        return not self.has_gone

    def reply(self, outcome: Outcome) -> None:
        """Sends the outcome, as far as the caller's buffer goes; the rest goes with `send`."""
        self._has_request = False
        self._to_send = memoryview(reply_frame(outcome))
        self._hold(len(self._to_send))
        self.send()

    def send(self) -> None:
        try:
            while self._to_send:
                self._to_send = self._to_send[self._socket.send(self._to_send) :]
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            # Nobody takes the rest.
            self.has_gone = True
        # Even an empty view of an answer would keep all of it in memory.
        self._to_send = _NOTHING
        self._hold(0)

    def close(self) -> None:
        self._hold(0)
        self._socket.close()

    def _hold(self, held_bytes: int) -> None:
        if held_bytes != self._held_bytes:
            self._held.add(held_bytes - self._held_bytes)
            self._held_bytes = held_bytes
