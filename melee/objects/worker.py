"""The object worker: a host behind a Unix socket, in a process of its own, where one thread runs at a time."""

import contextlib
import math
import os
import selectors
import signal
import socket
from collections.abc import Iterator

from melee import log
from melee.clock import Clock
from melee.objects.connection import CallerConnection
from melee.objects.host import Host
from melee.objects.listener import CALLERS_AT_MOST, Listener
from melee.objects.peers import Peers
from melee.objects.turn import LOOK_AGAIN_SECONDS
from melee.processes.report import Listening, Reports

GRACE_SECONDS = 10
_READ_BYTES = 4096
_SERVER_GONE = "the server is gone"


class Worker:
    """Serves a host's objects to callers on a Unix socket, until it is told to stop.

    One turn of its loop is one batch: every request that is waiting runs, timers that are due fire, all of it is
    committed, the replies go out.

    Args:
        listening: the socket; closed at the end, which leaves its path and those who wait in its queue to others that
            have it open.
        reports: to the server that started this process.
        grace_seconds: how long the end may take. A call that is not over by then ends with the process.
        peer_listening: the socket for the app's other workers, if there are others.
    """

    def __init__(
        self,
        host: Host,
        listening: socket.socket,
        clock: Clock,
        reports: Reports | None = None,
        grace_seconds: float = GRACE_SECONDS,
        peer_listening: socket.socket | None = None,
    ) -> None:
        self._host, self._clock, self._grace_seconds = host, clock, grace_seconds
        self._reports = reports or Reports()
        self._name = str(listening.getsockname())
        self._peer_listening = peer_listening
        self._wakes, self._woken = socket.socketpair()
        self._wakes.setblocking(False)
        self._stopping = ""
        self._failure: BaseException | None = None
        self._ends_at = math.inf
        self._selector = selectors.DefaultSelector()
        self._listener = Listener(listening, CALLERS_AT_MOST)
        self._selector.register(self._listener, selectors.EVENT_READ)

    def run(self) -> None:
        """Serves until SIGTERM, SIGINT or the end of the server, and finishes what is running. What it has not taken
        from its socket has not started, and its caller learns that."""
        with self._watching_for_the_end(), self._serving_peers():
            log.worker_listens(self._name, os.getpid())
            self._report()
            wait_seconds = 0.0
            while not self._stopping:
                ready = self._selector.select(wait_seconds)
                with self._host.turn:
                    self._turn(ready)
                    wait_seconds = self._wait_seconds()
        log.worker_stops(self._stopping)
        self._selector.unregister(self._listener)
        self._listener.close()
        for connection in self._connections():
            if not connection.wants_to_send:
                self._let_go(connection)

    def send_the_rest(self) -> None:
        """Sends the replies that wait for their callers to read, as long as the grace time lasts. It needs no host."""
        while waiting := self._connections():
            left = self._ends_at - self._clock.elapsed()
            ready = self._selector.select(left) if left > 0 else []
            if not ready:
                break
            for key, _events in ready:
                if isinstance(key.fileobj, CallerConnection):
                    key.fileobj.send()
            for connection in waiting:
                if connection.has_gone or not connection.wants_to_send:
                    self._let_go(connection)
        self.close()

    def close(self) -> None:
        for connection in self._connections():
            self._let_go(connection)
        self._listener.close()
        self._wakes.close()
        self._woken.close()
        self._selector.close()

    def _turn(self, ready: list[tuple[selectors.SelectorKey, int]]) -> None:
        for key, events in ready:
            if self._stopping:
                break
            if key.fileobj == self._reports.descriptor:
                self._stop(_SERVER_GONE)
            elif key.fileobj is self._woken:
                self._woken.recv(_READ_BYTES)
                if self._failure:
                    raise self._failure
            elif key.fileobj is self._listener:
                for connection in self._listener.accept():
                    self._selector.register(connection, selectors.EVENT_READ)
            elif isinstance(key.fileobj, CallerConnection):
                self._serve(key.fileobj, events)
        self._host.fire_due()
        self._host.commit()
        self._host.unload_idle()
        self._report()
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
        if request := connection.take_request():
            self._host.run(request, connection.reply, connection.is_waited_for)

    def _watch(self, connection: CallerConnection, watched: int) -> None:
        """Waits for what the connection needs next; lets go of one whose caller has gone."""
        wanted = selectors.EVENT_WRITE if connection.wants_to_send else selectors.EVENT_READ
        if connection.has_gone:
            self._let_go(connection)
        elif wanted != watched:
            self._selector.modify(connection, wanted)

    def _let_go(self, connection: CallerConnection) -> None:
        self._selector.unregister(connection)
        self._listener.let_go(connection)

    def _connections(self) -> list[CallerConnection]:
        return [key.fileobj for key in self._selector.get_map().values() if isinstance(key.fileobj, CallerConnection)]

    def _report(self) -> None:
        """Tells the server when it is next needed; at the next turn, if the server is too busy to hear it now."""
        try:
            self._reports.tell(Listening(self._host.next_wake_at()), wait_seconds=0)
        except BrokenPipeError:
            self._stop(_SERVER_GONE)

    @contextlib.contextmanager
    def _watching_for_the_end(self) -> Iterator[None]:
        """Lets SIGTERM, SIGINT and the end of the server end the wait, and the loop after the turn it is in."""
        watched: list[socket.socket | int] = [self._woken, *filter(None, [self._reports.descriptor])]
        for source in watched:
            self._selector.register(source, selectors.EVENT_READ)
        previous_descriptor = signal.set_wakeup_fd(self._wakes.fileno())
        previous = {number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in previous.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(previous_descriptor)
            for source in watched:
                self._selector.unregister(source)

    @contextlib.contextmanager
    def _serving_peers(self) -> Iterator[None]:
        """What a peer asks may set a timer, so the loop looks again when that has run. However the loop ends, what is
        under way for a peer ends first, in the grace time: afterwards the objects have another host."""
        peers = Peers(self._host, self._peer_listening, self._wake, self._fail) if self._peer_listening else None
        try:
            yield
        except BaseException as error:
            self._stop(repr(error))
            log.worker_stops(self._stopping)
            raise
        finally:
            if peers:
                peers.close()

    def _wake(self) -> None:
        # One that is full wakes it too.
        with contextlib.suppress(BlockingIOError):
            self._wakes.send(b"\0")

    def _fail(self, error: BaseException) -> None:
        self._failure = error
        self._wake()

    def _on_signal(self, number: int, _frame: object) -> None:
        self._stop(signal.Signals(number).name)

    def _stop(self, reason: str) -> None:
        """Begins the end. A call that is not over in time ends with the process: SIGALRM does that by itself, whatever
        the call does."""
        if self._stopping:
            return
        self._stopping = reason
        self._ends_at = self._clock.elapsed() + self._grace_seconds
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, self._grace_seconds)
