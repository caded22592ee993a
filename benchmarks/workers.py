"""The workers of a peer: started, held up while jobs are enqueued, and ended with all that they have started."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.marks import FOLDER, Marks
from benchmarks.peers.peer import Peer

ROOT = Path(__file__).parents[1]
ENDS_WITHIN_SECONDS = 30
WAITS_AT_MOST_SECONDS = 120
LAST_CHARACTERS = 4000


class Misbehaved(click.ClickException):
    """Workers did not run their jobs, or did not end; with the last that they printed."""


@dataclass
class Workers:
    """The workers of a peer that run.

    Attributes:
        process: leads a group of processes.
        printed: a file with what they printed.
    """

    peer: Peer
    process: subprocess.Popen[bytes]
    marks: Marks
    printed: Path

    @contextmanager
    def held_up(self) -> Iterator[None]:
        """Inside, they do nothing."""
        os.killpg(self.process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self.process.pid, signal.SIGCONT)

    def wait_until(self, is_so: Callable[[], bool], what: str, look_seconds: float) -> None:
        """Looks again and again; raises `Misbehaved` when it takes too long or they have ended."""
        ends_at = time.monotonic() + WAITS_AT_MOST_SECONDS
        while not is_so():
            if self.process.poll() is not None:
                raise self.misbehaved(f"they ended with {self.process.returncode} before {what}")
            if time.monotonic() > ends_at:
                raise self.misbehaved(f"{what} did not happen within {WAITS_AT_MOST_SECONDS} s")
            time.sleep(look_seconds)

    def misbehaved(self, how: str) -> Misbehaved:
        last = self.printed.read_bytes()[-LAST_CHARACTERS:].decode(errors="replace")
        return Misbehaved(f"the workers of {self.peer.name}: {how}. The last that they printed:\n{last}")

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(ENDS_WITHIN_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise self.misbehaved(f"they are still there {ENDS_WITHIN_SECONDS} s after SIGTERM") from error


@contextmanager
def working(peer: Peer) -> Iterator[Workers]:
    """Runs the workers of a peer until the block ends. Raises `Misbehaved` when they do not end."""
    with tempfile.TemporaryDirectory() as folder_name:
        marks, printed = Path(folder_name) / "marks", Path(folder_name) / "printed"
        marks.mkdir()
        with printed.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, *peer.worker],
                cwd=ROOT,
                env=os.environ | peer.environment | {FOLDER: str(marks)},
                stdout=output,
                stderr=subprocess.STDOUT,
                # A session of its own: Ctrl-C reaches this process alone, which then ends the workers.
                start_new_session=True,
            )
        workers = Workers(peer, process, Marks(marks), printed)
        try:
            yield workers
            workers.stop()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
