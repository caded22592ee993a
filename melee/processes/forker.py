"""A process that forks children on demand, and ends each of them with all that it started.

It has imported what its children need and holds nothing that must not cross a fork: no database, no connection, no
thread.
"""

import contextlib
import os
import selectors
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Protocol

from melee import log
from melee.processes import memory
from melee.processes.child import flush_output, lead_a_group, run_as_child
from melee.processes.control import Asked, Channel, Ended, Fork, Forked, Kill, Loaded
from melee.processes.parent import adopt_orphans

_LOOK_AGAIN_SECONDS = 60
_RETRY_SECONDS = 0.5


class _Closes(Protocol):
    def close(self) -> object: ...


class Forker:
    """Forks children for the process at the other end of `control`, until that process is gone or SIGTERM comes.

    Args:
        control: a socket on which children are asked for, see `processes.control`.
        work: what a child does with its end of a new socket, whose other end goes to whoever asked. The child ends
            when it returns.
        loaded: what is told first.
    """

    def __init__(
        self, control: socket.socket, work: Callable[[socket.socket], None], loaded: Loaded | None = None
    ) -> None:
        self._channel = Channel(control, Asked)
        self._loaded = loaded or Loaded()
        # What no child may hold.
        self._own: list[_Closes] = [self._channel]
        self._work = work
        self._pid = os.getpid()
        self._wanted = 0
        self._children: set[int] = set()
        self._is_stopping = False

    def run(self) -> None:
        memory.settle()
        adopt_orphans()
        with self._woken_by_signals() as woken, selectors.DefaultSelector() as selector, self._ending_children():
            self._own.append(selector)
            selector.register(self._channel, selectors.EVENT_READ)
            selector.register(woken, selectors.EVENT_READ)
            self._tell(self._loaded)
            while not self._is_stopping:
                ready = {key.fileobj for key, _events in selector.select(self._wait_seconds())}
                if woken in ready:
                    _drain(woken)
                if self._channel in ready:
                    self._listen()
                self._reap()
                self._fork_wanted()

    def _wait_seconds(self) -> float:
        return _RETRY_SECONDS if self._wanted else _LOOK_AGAIN_SECONDS

    def _listen(self) -> None:
        messages = self._channel.receive()
        if messages is None:
            self._is_stopping = True
            return
        for message in messages:
            if isinstance(message, Fork):
                self._wanted += message.children
            elif isinstance(message, Kill) and message.pid in self._children:
                _end_group(message.pid)

    def _fork_wanted(self) -> None:
        while self._wanted and not self._is_stopping:
            try:
                self._fork()
            except OSError as error:
                # No room for a process or a descriptor now; there may be some in a moment.
                log.fork_failed(error)
                return
            self._wanted -= 1

    def _fork(self) -> None:
        theirs, ours = socket.socketpair()
        with theirs:
            with ours:
                flush_output()
                pid = os.fork()
                if pid == 0:
                    run_as_child(self._pid, lambda: _close_all(*self._own, theirs), lambda: self._work(ours))
            lead_a_group(pid)
            # From here on the child alone holds its end, so that it closes when the child ends. One that nobody hears
            # of ends by itself: the other end is closed, too.
            self._tell(Forked(pid), theirs.fileno())
            self._children.add(pid)

    def _reap(self) -> None:
        """Ends what each ended child left behind. Its process id stays taken until `waitpid`, so that the group that is
        killed is surely its own."""
        while ended := _an_ended_child():
            if ended in self._children:
                _end_group(ended)
            _pid, status = os.waitpid(ended, 0)
            if ended in self._children:
                self._children.discard(ended)
                self._tell(Ended(ended, os.waitstatus_to_exitcode(status)))

    def _tell(self, message: Loaded | Forked | Ended, *descriptors: int) -> None:
        """Raises `OSError` when too many descriptors are on their way."""
        try:
            self._channel.send(message, *descriptors)
        except ConnectionError:
            # Nobody is left to ask for children.
            self._is_stopping = True

    @contextlib.contextmanager
    def _ending_children(self) -> Iterator[None]:
        try:
            yield
        finally:
            for pid in self._children:
                _end_group(pid)
            for pid in self._children:
                os.waitpid(pid, 0)
            self._channel.close()

    @contextlib.contextmanager
    def _woken_by_signals(self) -> Iterator[socket.socket]:
        """A socket that becomes readable when a child ends or SIGTERM comes, so that neither slips in before a wait."""
        wakes, woken = socket.socketpair()
        self._own += [wakes, woken]
        with wakes, woken:
            wakes.setblocking(False)
            woken.setblocking(False)
            signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
            signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
            signal.signal(signal.SIGTERM, self._stop)
            try:
                yield woken
            finally:
                signal.set_wakeup_fd(-1)

    def _stop(self, _number: int, _frame: object) -> None:
        self._is_stopping = True


def _an_ended_child() -> int:
    """A child that ended and was not reaped yet; 0 when there is none."""
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return 0
    return found.si_pid if found else 0


def _close_all(*held: _Closes) -> None:
    for thing in held:
        thing.close()


def _end_group(pid: int) -> None:
    # It is empty already when its leader was the last, and a process that changed its user cannot be reached.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _drain(woken: socket.socket) -> None:
    with contextlib.suppress(BlockingIOError):
        while woken.recv(4096):
            pass
