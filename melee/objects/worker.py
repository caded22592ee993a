"""The object worker: a host behind a Unix socket, in a single-threaded process of its own."""

import contextlib
import errno
import math
import os
import resource
import selectors
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

from melee import log
from melee.clock import Clock
from melee.errors import Overloaded
from melee.objects.connection import CallerConnection, Held
from melee.objects.host import Host
from melee.objects.protocol import NotAFrame

CALLERS_AT_MOST = 1000
LOOK_AGAIN_SECONDS = 60
_DESCRIPTORS_WANTED = 8192
_NO_DESCRIPTOR_LEFT = {errno.EMFILE, errno.ENFILE}


class Worker:
    """Serves a host's objects to callers on a Unix socket, until it is told to stop.

    One turn of its loop is one batch: every request that is waiting runs, timers that are due fire, all of it is
    committed, the replies go out.

    Args:
        path: of the socket; a stale one is replaced, which is safe because the host holds the data folder's lock.
    """

    def __init__(self, host: Host, path: Path, clock: Clock) -> None:
        self._host, self._path, self._clock = host, path, clock
        self._callers = 0
        self._held = Held()
        self._spare = socket.socket(socket.AF_UNIX)
        self._stopping = ""
        self._selector = selectors.DefaultSelector()
        self._listener = self._listen()
        self._selector.register(self._listener, selectors.EVENT_READ)

    def run(self) -> None:
        """Serves until SIGTERM or SIGINT, finishes what is running, and returns."""
        with self._stop_signals():
            log.worker_listens(str(self._path), os.getpid())
            while not self._stopping:
                self._turn(self._wait_seconds())
        log.worker_stops(self._stopping)
        self.close()

    def close(self) -> None:
        self._path.unlink(missing_ok=True)
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._selector.close()
        self._spare.close()

    def _turn(self, wait_seconds: float) -> None:
        ready = self._selector.select(wait_seconds)
        for key, events in ready:
            if self._stopping:
                # What is not taken from its socket has not started, and its caller learns that.
                break
            if key.fileobj is self._listener:
                self._accept()
            elif isinstance(key.fileobj, CallerConnection):
                self._serve(key.fileobj, events)
        self._host.fire_due()
        self._host.commit()
        self._host.unload_idle()
        for key, _events in ready:
            if isinstance(key.fileobj, CallerConnection):
                self._watch(key.fileobj, key.events)

    def _wait_seconds(self) -> float:
        wake_at = self._host.next_wake_at()
        due_in_seconds = math.inf if wake_at is None else wake_at - self._clock.now()
        return max(0.0, min(due_in_seconds, self._host.idle_in_seconds(), LOOK_AGAIN_SECONDS))

    def _serve(self, connection: CallerConnection, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            connection.send()
            return
        try:
            request = connection.take_request()
        except NotAFrame as error:
            log.frame_refused(str(error))
            connection.has_gone = True
            return
        except Overloaded as refusal:
            connection.reply(refusal)
            return
        if request:
            self._host.run(request, connection.reply)

    def _watch(self, connection: CallerConnection, watched: int) -> None:
        """Waits for what the connection needs next; lets go of one whose caller has gone."""
        wanted = selectors.EVENT_WRITE if connection.wants_to_send else selectors.EVENT_READ
        if connection.has_gone:
            self._callers -= 1
            self._selector.unregister(connection)
            connection.close()
        elif wanted != watched:
            self._selector.modify(connection, wanted)

    def _accept(self) -> None:
        try:
            while True:
                caller, _address = self._listener.accept()
                connection = CallerConnection(caller, self._held)
                if self._callers >= CALLERS_AT_MOST:
                    self._turn_away(connection)
                    continue
                self._callers += 1
                self._selector.register(connection, selectors.EVENT_READ)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno not in _NO_DESCRIPTOR_LEFT:
                raise
            self._turn_away_on_the_spare()

    def _turn_away_on_the_spare(self) -> None:
        """Gives a caller its refusal although no descriptor is left: the one that is kept for this serves it."""
        self._spare.close()
        # Another process may have taken it meanwhile; the caller waits for the next turn then.
        with contextlib.suppress(OSError):
            caller, _address = self._listener.accept()
            self._turn_away(CallerConnection(caller, self._held))
        with contextlib.suppress(OSError):
            self._spare = socket.socket(socket.AF_UNIX)

    def _turn_away(self, connection: CallerConnection) -> None:
        connection.reply(Overloaded("*", "*", f"{self._callers} callers are waiting already"))
        connection.close()

    def _listen(self) -> socket.socket:
        allow_many_descriptors()
        self._path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self._path))
        self._path.chmod(0o600)
        listener.listen(CALLERS_AT_MOST)
        listener.setblocking(False)
        return listener

    @contextlib.contextmanager
    def _stop_signals(self) -> Iterator[None]:
        """Lets SIGTERM and SIGINT end the wait, and the loop after the turn it is in."""
        wakes, woken = socket.socketpair()
        wakes.setblocking(False)
        self._selector.register(woken, selectors.EVENT_READ)
        previous_descriptor = signal.set_wakeup_fd(wakes.fileno())
        previous = {number: signal.signal(number, self._stop) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(previous_descriptor)
            self._selector.unregister(woken)
            wakes.close()
            woken.close()

    def _stop(self, number: int, _frame: object) -> None:
        self._stopping = signal.Signals(number).name


def allow_many_descriptors() -> None:
    """An open object takes three descriptors, a caller one; the usual soft limit of 1,024 is too low for both."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS_WANTED if hard == resource.RLIM_INFINITY else min(_DESCRIPTORS_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
