"""How a worker serves the app's other workers, at any time: also while an object of its own waits for one of theirs.

Otherwise two workers whose objects call each other would wait for ever, about quite different objects. Other workers
come in by a socket of their own, so that they can be told from callers, who wait. Each of their connections has a
thread, and each thread waits for its turn; how many there are is bounded, since a worker begins one call of a caller at
a time.
"""

import select
import socket
import threading
from collections.abc import Callable

from melee.objects.connection import CallerConnection
from melee.objects.host import Host
from melee.objects.listener import CALLERS_AT_MOST, Listener
from melee.objects.turn import LOOK_AGAIN_SECONDS

_MOMENT_SECONDS = 0.1


class Peers:
    """Serves a host's objects to the other workers, from its creation until `close`.

    Args:
        listening: the socket; closed at the end, which leaves its path and those who wait in its queue to others that
            have it open.
        after: called in a thread of a peer when a request of it has run.
    """

    def __init__(self, host: Host, listening: socket.socket, after: Callable[[], None]) -> None:
        self._host, self._after = host, after
        self._listener = Listener(listening, CALLERS_AT_MOST)
        self._changed = threading.Condition()
        self._under_way = 0
        self._is_closing = self._is_closed = False
        self._end, self._ended = socket.socketpair()
        self._threads: set[threading.Thread] = set()
        self._accepting = threading.Thread(target=self._accept, name="melee-peers", daemon=True)
        self._accepting.start()

    def close(self) -> None:
        """Ends what is under way, and begins only what that may be waiting for. What is not taken by then has not
        started, and its callers learn that."""
        with self._changed:
            self._is_closing = True
            while self._under_way:
                self._changed.wait(LOOK_AGAIN_SECONDS)
            self._is_closed = True
            self._end.close()
            self._changed.notify_all()
        self._accepting.join()
        for thread in list(self._threads):
            thread.join()
        self._ended.close()
        self._listener.close()

    def _accept(self) -> None:
        while self._is_ready(self._listener, select.POLLIN):
            with self._changed:
                # Who is let go at the end, and tries again, is for the next worker.
                accepted = [] if self._is_closed else self._listener.accept()
            for connection in accepted:
                thread = threading.Thread(target=self._serve, args=(connection,), name="melee-peer", daemon=True)
                self._threads.add(thread)
                thread.start()

    def _serve(self, connection: CallerConnection) -> None:
        try:
            while not connection.has_gone and self._is_ready(connection, select.POLLIN) and self._begin():
                try:
                    self._answer(connection)
                finally:
                    self._finish()
        finally:
            with self._changed:
                self._listener.let_go(connection)
            self._threads.discard(threading.current_thread())

    def _answer(self, connection: CallerConnection) -> None:
        if request := connection.take_request():
            self._host.serve_peer(request, connection.is_waited_for, connection.reply)
            self._after()
            while connection.wants_to_send and self._is_ready(connection, select.POLLOUT):
                connection.send()

    def _begin(self) -> bool:
        """Whether there is time for one more request. At the end only for one without which those under way may never
        end: none of them has for a moment, and an object here waits for another worker."""
        with self._changed:
            while self._is_closing:
                if self._is_closed:
                    return False
                if not self._changed.wait(_MOMENT_SECONDS) and self._host.waits_elsewhere:
                    break
            self._under_way += 1
            return True

    def _finish(self) -> None:
        with self._changed:
            self._under_way -= 1
            self._changed.notify_all()

    def _is_ready(self, source: Listener | CallerConnection, event: int) -> bool:
        """Waits for it; False when the end comes first."""
        poll = select.poll()
        poll.register(source, event)
        poll.register(self._ended, select.POLLIN)
        while not (ready := poll.poll(LOOK_AGAIN_SECONDS * 1000)):
            pass
        return self._ended.fileno() not in dict(ready)
