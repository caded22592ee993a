"""The owner as a request child sees it: the object worker's socket, and what a lost connection means for a call."""

import fcntl
import os
import select
import socket
import struct
import termios
from pathlib import Path

from melee.clock import Clock
from melee.errors import CallTimeout, MeleeError, ObjectUnavailable, OutcomeUnknown, Overloaded
from melee.objects.commit import Outcome
from melee.objects.protocol import HEADER, payload_length, read_reply, request_frame
from melee.objects.request import CALL_SECONDS, Request, ref_of

TRIES_AT_MOST = 3


class AnswerTo:
    """Shows to other threads whether the answer to a request has come, before the one that asks has come to read it.

    What this says and what is in the connection never miss each other: an answer is in one of them at each moment.
    """

    def __init__(self) -> None:
        self._connection: socket.socket | None = None
        self._has_come = False

    @property
    def has_come(self) -> bool:
        """False from the beginning until something comes back, or it is certain that nothing will."""
        connection = self._connection
        if self._has_come or connection is None:
            return self._has_come
        poll = select.poll()
        try:
            poll.register(connection, select.POLLIN)
            return bool(poll.poll(0))
        except (OSError, ValueError):
            # Closed at this moment.
            return True

    def expect_on(self, connection: socket.socket) -> None:
        """The request is sent there now."""
        self._connection, self._has_come = connection, False

    def wait(self) -> None:
        """Returns when there is something to read, and leaves it there."""
        assert self._connection
        self._connection.recv(1, socket.MSG_PEEK)
        self._has_come = True

    def end(self) -> None:
        self._has_come = True


class Client:
    """Sends requests to the object worker, on connections that it keeps for the next; any thread may use it.

    Args:
        path: the worker's socket.
        call_seconds: how long a caller waits for an answer.
    """

    def __init__(self, path: Path, clock: Clock, call_seconds: float = CALL_SECONDS) -> None:
        self._path, self._clock, self._call_seconds = path, clock, call_seconds
        self._idle: list[socket.socket] = []
        self._pid = os.getpid()

    def ask(self, request: Request, answer: AnswerTo | None = None) -> bytes:
        """The answer of the worker; meanwhile other threads can ask `answer` whether it has come.

        Raises:
            ObjectUnavailable: the request never started.
            OutcomeUnknown: the worker was lost while it may have been running.
            CallTimeout: the worker has taken it, and gave no answer within `call_seconds`.
            Overloaded: refused, too much is waiting already.
            ObjectError: what became of the call, from the worker.
        """
        answer = answer or AnswerTo()
        attempt = _Attempt(request, self._clock, self._call_seconds, answer)
        try:
            connection, outcome = self._exchanged(attempt)
        except TimeoutError:
            raise attempt.too_late() from None
        finally:
            answer.end()
        self._idle.append(connection)
        if isinstance(outcome, MeleeError):
            raise outcome
        return outcome

    def close(self) -> None:
        """Closes the connections that wait for a next request."""
        while connection := self._take_idle():
            connection.close()

    def _exchanged(self, attempt: "_Attempt") -> tuple[socket.socket, Outcome]:
        """The answer and the connection it came on. A request that never left the connection goes to another: by then
        the worker may have been replaced."""
        for idle in (self._take_idle(), *[None] * (TRIES_AT_MOST - 1)):
            connection = idle or attempt.connect(self._path)
            try:
                return connection, attempt.exchange(connection)
            except ObjectUnavailable as error:
                lost = error
        raise lost

    def _take_idle(self) -> socket.socket | None:
        if os.getpid() != self._pid:
            # Connections from before a fork are the parent's too; an answer could go to the wrong process.
            for connection in self._idle:
                connection.close()
            self._idle, self._pid = [], os.getpid()
        try:
            # One operation, so that two threads never take the same.
            return self._idle.pop()
        except IndexError:
            return None


class _Attempt:
    """One request on its way: how long it may still take, and what the loss of its connection means."""

    def __init__(self, request: Request, clock: Clock, call_seconds: float, answer: AnswerTo) -> None:
        self._awaited = answer
        self._names = str(ref_of(request)), request.method
        self._request, self._frame, self._clock = request, request_frame(request), clock
        self._call_seconds, self._ends_at = call_seconds, clock.elapsed() + call_seconds
        self._may_run = False

    def too_late(self) -> CallTimeout | ObjectUnavailable:
        """What the end of the time means for the caller."""
        if self._may_run:
            return CallTimeout(*self._names, self._call_seconds)
        return ObjectUnavailable(*self._names, f"no object worker took it within {self._call_seconds:g} s")

    def connect(self, path: Path) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        try:
            self._limit(connection)
            connection.connect(str(path))
        except BaseException as error:
            connection.close()
            if isinstance(error, BlockingIOError):
                raise Overloaded(*self._names, "the queue of callers is full") from error
            if isinstance(error, FileNotFoundError | ConnectionError):
                raise ObjectUnavailable(*self._names, f"no object worker listens on {path}") from error
            raise
        return connection

    def exchange(self, connection: socket.socket) -> Outcome:
        try:
            return self._exchange(connection)
        except BaseException:
            connection.close()
            raise

    def _exchange(self, connection: socket.socket) -> Outcome:
        self._awaited.expect_on(connection)
        try:
            self._limit(connection)
            connection.sendall(self._frame)
        except ConnectionError as error:
            # It did not take the whole request, so it cannot have begun; but it may have said why.
            return self._last_words(connection, error)
        try:
            return self._answer(connection)
        except ConnectionResetError as error:
            # The kernel resets a connection whose request was never taken from it.
            raise ObjectUnavailable(*self._names, "the object worker ended before it began") from error
        except EOFError as error:
            raise OutcomeUnknown(*self._names, "the object worker ended before it answered") from error
        except TimeoutError:
            self._may_run = _was_taken(connection)
            raise

    def _last_words(self, connection: socket.socket, error: ConnectionError) -> Outcome:
        try:
            return self._answer(connection)
        except (ConnectionError, EOFError):
            raise ObjectUnavailable(*self._names, f"the object worker hung up ({error})") from error

    def _answer(self, connection: socket.socket) -> Outcome:
        self._limit(connection)
        self._awaited.wait()
        header = self._receive(connection, HEADER.size)
        return read_reply(self._receive(connection, payload_length(header)), self._request)

    def _receive(self, connection: socket.socket, count: int) -> bytes:
        received = bytearray()
        while len(received) < count:
            self._limit(connection)
            part = connection.recv(min(count - len(received), 1024 * 1024))
            if not part:
                raise EOFError
            received += part
        return bytes(received)

    def _limit(self, connection: socket.socket) -> None:
        left = self._ends_at - self._clock.elapsed()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)


def _was_taken(connection: socket.socket) -> bool:
    """Whether the worker may have read the whole request. If not it never runs: what the worker reads from now on ends
    with the end of its caller."""
    connection.shutdown(socket.SHUT_WR)
    try:
        unread: int = struct.unpack("i", fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)))[0]
    except OSError:
        # Not every system can say.
        return True
    return unread == 0
