"""A real request parent, started as the server starts it."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from melee.processes.control import Ended, Failed, Loaded
from melee.web.exchange import Request
from tests.melee.processes.forking import WAIT_SECONDS, Asking
from tests.melee.web.served import GET, Answer, Served


class Parent(Asking):
    """The asking side of a request parent."""

    def answer(self, request: Request = GET) -> Answer:
        """What a new child answers before it ends in order."""
        pid, child = self.new_child()
        child.ask(request)
        answer = child.answer()
        child.hang_up()
        assert self.next(Ended) == Ended(pid, 0)
        return answer

    def new_child(self) -> tuple[int, Served]:
        self.ask_for(1)
        pid, connection = self.forked_with_connection()
        return pid, Served(connection)


def command(target: str, control: socket.socket) -> list[str]:
    options = ["--control", str(control.fileno()), "--parent", str(os.getpid())]
    return [sys.executable, "-m", "melee.web", target, *options]


@contextmanager
def started(target: str, folder: Path) -> Iterator[tuple[Parent, "subprocess.Popen[str]"]]:
    """A request parent that is being started in a folder; at the end of the block it is gone."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            command(target, theirs), pass_fds=[theirs.fileno()], cwd=folder, stdout=subprocess.PIPE, text=True
        )
    with process, closing(Parent(process.pid, ours)) as parent:
        try:
            yield parent, process
        finally:
            process.kill()


@contextmanager
def request_parent(target: str, folder: Path) -> Iterator[Parent]:
    """One that has loaded its app."""
    with started(target, folder) as (parent, _process):
        parent.next(Loaded)
        yield parent


def problem_of(target: str, folder: Path) -> str:
    """Why a target does not load, as the request parent says before it ends."""
    with started(target, folder) as (parent, process):
        problem = parent.next(Failed).problem
        printed, _ = process.communicate(timeout=WAIT_SECONDS)
    assert (process.returncode, printed) == (1, "")
    return problem
