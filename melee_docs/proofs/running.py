"""A command that is running: what it has printed so far, and how it ends."""

import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

READ_SECONDS = 2


def unmeasured(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables without those that would make coverage measure the command."""
    return {name: value for name, value in variables.items() if not name.startswith("COVERAGE_")}


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Inside, ^C waits for the end, so that a process that is just starting is known to whoever has to end it.

    A process that starts inside can be interrupted, even where a shell lets all that it starts in the background ignore
    ^C, which is inherited.
    """
    came = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came and callable(before):
        before(signal.SIGINT, None)


class Running:
    """A command in a process group of its own; `output` holds both its streams, whole lines only."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.output = ""
        self.closed = False
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    @classmethod
    def start(cls, arguments: list[str], folder: Path, variables: Mapping[str, str]) -> "Running":
        process = subprocess.Popen(
            arguments,
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        return cls(process)

    def _read(self) -> None:
        assert self.process.stdout is not None, "started with a pipe"
        with self.process.stdout as lines:
            for line in lines:
                with self.changed:
                    self.output += line
                    self.changed.notify_all()
        with self.changed:
            self.closed = True
            self.changed.notify_all()

    @property
    def exit_code(self) -> int:
        """Negative when a signal ended it."""
        return self.process.wait()

    def await_output(self, expected: str, seconds: float) -> bool:
        """Whether the output begins as the regular expression says, before the time is over or the command ends."""
        with self.changed:
            self.changed.wait_for(lambda: self.closed or re.match(expected, self.output), seconds)
            return re.match(expected, self.output) is not None

    def await_end(self, seconds: float) -> bool:
        """Whether it ends in time. What it leaves running behind itself is killed."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        self.reader.join(READ_SECONDS)
        self.kill()
        return True

    def interrupt(self) -> bool:
        """Does what ^C does in a terminal; False when the command had ended already."""
        if self.process.poll() is not None:
            return False
        os.killpg(self.process.pid, signal.SIGINT)
        return True

    def kill(self) -> None:
        """Kills what is left of the process group and reads the rest of its output."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.reader.join(READ_SECONDS)
