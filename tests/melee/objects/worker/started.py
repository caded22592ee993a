"""A worker started as a server starts it: on a socket that outlives it, with a pipe for what it has to say."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from melee.processes.report import Report, read_report


class Started:
    """A worker process, killed at the end of the block if need be.

    Args:
        listener: the descriptor of the listening socket.
        options: more of the command line.
        passed: descriptors that they name.
    """

    def __init__(self, app: Path, data: Path, listener: int, *options: str, passed: Sequence[int] = ()) -> None:
        self._from_worker, to_server = os.pipe()
        self._lines = os.fdopen(self._from_worker, "rb")
        command = [sys.executable, "-m", "melee.objects", str(app), "--data", str(data), "--listener", str(listener)]
        command += ["--reports", str(to_server), "--parent", str(os.getpid()), *options]
        self.process = subprocess.Popen(
            command, pass_fds=[listener, to_server, *passed], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_server)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        self._lines.close()

    def report(self) -> Report:
        """The next one, when it comes; `EOFError` when the worker has ended without one."""
        line = self._lines.readline()
        if not line:
            raise EOFError
        return read_report(line)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def hang_up(self) -> None:
        """The end of the server, as the worker sees it."""
        self._lines.close()

    def exit_code(self) -> int:
        return self.process.wait(timeout=30)
