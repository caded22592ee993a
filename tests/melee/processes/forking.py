"""A real forker in a process of its own, and children that do what a test tells them."""

import ast
import os
import select
import signal
import socket
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from melee.processes.control import Channel, Ended, Failed, Fork, Forked, Kill, Loaded, Told
from melee.processes.forker import Forker

WAIT_SECONDS = 60

Work = Callable[[socket.socket], None]
Told_ = TypeVar("Told_", Loaded, Failed, Forked, Ended)


def obey(connection: socket.socket) -> None:
    """The work of a child: takes a line of Python, answers with its value, until the test hangs up."""
    with connection, connection.makefile("rw") as lines:
        for line in lines:
            lines.write(f"{eval(line)!r}\n")
            lines.flush()


def leave_behind(*, ignoring: tuple[signal.Signals, ...] = (), in_own_session: bool = False) -> int:
    """Starts a process that hangs, and holds all that this one holds; returns its id when it is there.

    Should a test fail to end it, it ends by itself.
    """
    here, there = os.pipe()
    pid = os.fork()
    if pid == 0:
        for number in ignoring:
            signal.signal(number, signal.SIG_IGN)
        if in_own_session:
            os.setsid()
        signal.alarm(2 * WAIT_SECONDS)
        os.write(there, b".")
        while True:
            signal.pause()
    os.read(here, 1)
    os.close(here)
    os.close(there)
    return pid


class Broken:
    """An output that raises when it is flushed."""

    def __init__(self, error: type[BaseException]) -> None:
        self._error = error

    def flush(self) -> None:
        raise self._error


class Child:
    """A child that obeys, seen from the test."""

    def __init__(self, pid: int, connection: socket.socket) -> None:
        self.pid = pid
        connection.settimeout(WAIT_SECONDS)
        self._socket, self._lines = connection, connection.makefile("rw")

    def ask(self, expression: str) -> Any:
        """The value of an expression there, if its `repr` is a literal."""
        self.tell(expression)
        return ast.literal_eval(self._lines.readline())

    def tell(self, expression: str) -> None:
        """The same, for what ends the child or does not come back."""
        self._lines.write(f"{expression}\n")
        self._lines.flush()

    def hang_up(self) -> None:
        with suppress(BrokenPipeError):
            self._lines.close()
        self._socket.close()


class Asking:
    """The asking side of a forker.

    Attributes:
        pid: of the forker.
    """

    def __init__(self, pid: int, control: socket.socket) -> None:
        control.settimeout(WAIT_SECONDS)
        self.pid, self._channel = pid, Channel(control, Told)
        self._told: deque[Loaded | Failed | Forked | Ended] = deque()
        self._children: list[Child] = []

    def next(self, kind: type[Told_]) -> Told_:
        """What the forker says next, which must be of this kind; `EOFError` when it says nothing more."""
        while not self._told:
            messages = self._channel.receive()
            if messages is None:
                raise EOFError
            self._told.extend(messages)
        message = self._told.popleft()
        assert isinstance(message, kind), message
        return message

    def ask_for(self, children: int) -> None:
        self._channel.send(Fork(children))

    def forked(self) -> Child:
        """The next child."""
        child = Child(*self.forked_with_connection())
        self._children.append(child)
        return child

    def forked_with_connection(self) -> tuple[int, socket.socket]:
        """The same of a child that does not obey: its process id, and our end of its socket."""
        return self.next(Forked).pid, socket.socket(fileno=self._channel.take_descriptor())

    def child(self) -> Child:
        self.ask_for(1)
        return self.forked()

    def kill(self, pid: int) -> None:
        self._channel.send(Kill(pid))

    def exit_code(self, child: Child) -> int:
        """How the child ended, which is what happens next."""
        ended = self.next(Ended)
        assert ended.pid == child.pid
        return ended.exit_code

    def hang_up(self) -> None:
        self._channel.close()

    def close(self) -> None:
        self.hang_up()
        for child in self._children:
            child.hang_up()


@contextmanager
def forker(work: Work = obey, before: Callable[[], None] = lambda: None) -> Iterator[Asking]:
    """Runs a forker, whose children do `work`; at the end of the block it is killed, unless it has ended.

    Args:
        before: what the forker's process does first.
    """
    with forker_process(work, before) as (pid, control), closing(Asking(pid, control)) as asking:
        asking.next(Loaded)
        yield asking


@contextmanager
def forker_process(work: Work, before: Callable[[], None] = lambda: None) -> Iterator[tuple[int, socket.socket]]:
    """The process id of a forker, and the socket on which it is asked."""
    ours, theirs = socket.socketpair()
    with theirs:
        pid = _fork()
        if pid == 0:
            ours.close()
            _run(theirs, work, before)
    with ended_by(pid), ours:
        yield pid, ours


def _fork() -> int:
    with warnings.catch_warnings():
        # Python 3.12 and later warn of a fork beside a thread; the thread is the test run's own.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _run(control: socket.socket, work: Work, before: Callable[[], None]) -> NoReturn:
    exit_code = 1
    try:
        before()
        Forker(control, work).run()
        exit_code = 0
    except BaseException:  # noqa: BLE001 - it must not return into the test
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(exit_code)


@contextmanager
def ended_by(pid: int) -> Iterator[None]:
    """Kills and reaps a child of the test at the end of the block, if the block has not."""
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)


def exit_code_of(pid: int) -> int:
    """Waits for the end of a child of the test."""
    wait_for_end(pid)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def wait_for_end(*pids: int) -> None:
    """Returns when these processes, of whomever, have ended."""
    for pid in pids:
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            ended, _, _ = select.select([descriptor], [], [], WAIT_SECONDS)
            os.close(descriptor)
            assert ended, f"process {pid} goes on"


def is_running(pid: int) -> bool:
    """Whether there is such a process, and it is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children_of(pid: int) -> list[int]:
    """All its children, zombies too."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def descriptors_of(pid: int) -> dict[int, str]:
    """What a process holds open, by number."""
    held = {}
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            held[int(link.name)] = str(link.readlink())
    return held
