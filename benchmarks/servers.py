"""A server as a process: started in an app's folder, asked for its port, and ended with all that it started."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import IO

import click

STARTS_WITHIN_SECONDS = 60
ENDS_WITHIN_SECONDS = 30
LISTENS_AT = re.compile(r"http://127\.0\.0\.1:(\d+)\D")
LAST_LINES = 20
KEPT_CHARACTERS = 20_000
# Far fewer than a pipe holds are printed meanwhile. To wake for every line would take time from what is measured.
BETWEEN_READS_SECONDS = 0.02


class Misbehaved(click.ClickException):
    """A server did not start, did not end, or answered wrongly; with the last lines that it printed."""


@dataclass
class Server:
    """A server that runs.

    Attributes:
        printed: the end of what it printed, on standard output and standard error.
    """

    name: str
    process: subprocess.Popen[bytes]
    printed: str = ""
    listens_on: Future[int] = field(default_factory=Future)

    @property
    def port(self) -> int:
        return self.listens_on.result()

    def misbehaved(self, how: str) -> Misbehaved:
        last_lines = "".join(self.printed.splitlines(keepends=True)[-LAST_LINES:])
        return Misbehaved(f"{self.name}: {how}. The last lines that it printed:\n{last_lines}")

    def start(self) -> None:
        """Returns when it says where it listens."""
        try:
            if not self.listens_on.result(STARTS_WITHIN_SECONDS):
                raise self.misbehaved("it ended before it said where it listens")
        except TimeoutError as error:
            raise self.misbehaved(f"it has not said where it listens after {STARTS_WITHIN_SECONDS} s") from error

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(ENDS_WITHIN_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise self.misbehaved(f"it is still there {ENDS_WITHIN_SECONDS} s after SIGTERM") from error

    @contextmanager
    def held_up(self) -> Iterator[None]:
        """Inside, it does nothing, whatever it has begun: gunicorn still starts workers after its last request."""
        os.killpg(self.process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self.process.pid, signal.SIGCONT)

    def follow(self, output: IO[bytes]) -> None:
        """Reads what it prints until nobody is left who could print."""
        with output:
            while read := os.read(output.fileno(), KEPT_CHARACTERS):
                self.printed = (self.printed + read.decode(errors="replace"))[-KEPT_CHARACTERS:]
                if not self.listens_on.done() and (found := LISTENS_AT.search(self.printed)):
                    self.listens_on.set_result(int(found[1]))
                time.sleep(BETWEEN_READS_SECONDS)
        if not self.listens_on.done():
            self.listens_on.set_result(0)


@contextmanager
def served(name: str, command: Sequence[str], app: Path) -> Iterator[Server]:
    """Runs a server in the folder `app` until the block ends. It prints `http://127.0.0.1:` and its port.

    Raises:
        Misbehaved: it says no port, or it or a process that it started is still there long after SIGTERM.
    """
    process = subprocess.Popen(
        command,
        cwd=app,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # A session of its own: Ctrl-C reaches this process alone, which then ends the server.
        start_new_session=True,
    )
    assert process.stdout
    server = Server(name, process)
    follower = Thread(target=server.follow, args=(process.stdout,))
    follower.start()
    try:
        server.start()
        yield server
        server.stop()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        follower.join(ENDS_WITHIN_SECONDS)
    if follower.is_alive():
        raise server.misbehaved("a process that it started is left and can still print")
