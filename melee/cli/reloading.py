"""A process that begins anew in its own place when the sources of its app change.

It replaces itself (exec) instead of keeping a parent that starts children: signals, the exit code, the terminal and
the lock of the data folder belong to one process. Its listening socket stays open meanwhile, so that a browser waits
instead of being refused.
"""

import os
import signal
import socket
import sys
import time
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

from watchfiles import Change, watch
from watchfiles.main import FileChange

_STOP_SIGNALS = {signal.SIGINT, signal.SIGTERM}
_SOCKET = "MELEE_DEV_SOCKET"
_LOOK_MILLISECONDS = 100
# Made at run time, or no part of the app that is served.
_NOT_SOURCES = {"data", "tests", "site-packages", "node_modules", "__pycache__"}


class Stop:
    """The wish to end, from Ctrl-C or SIGTERM. It is looked at and never raised, because an exception that comes up in
    any line at all is lost in some. A second one ends the process on the spot."""

    def __init__(self) -> None:
        self._is_wanted = False
        for number in _STOP_SIGNALS:
            signal.signal(number, self._want)
        # A process that replaces itself holds them back.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)

    def is_set(self) -> bool:
        return self._is_wanted

    def wait(self) -> None:
        while not self._is_wanted:
            time.sleep(_LOOK_MILLISECONDS / 1000)

    def _want(self, _number: int, _frame: object) -> None:
        self._is_wanted = True
        for number in _STOP_SIGNALS:
            signal.signal(number, signal.SIG_DFL)


class Sources:
    """The files that an app is made of, watched from the moment this is made.

    What is read afterwards is either current or reported as changed.
    """

    def __init__(self, folder: Path, stop: Stop) -> None:
        self._folder = folder
        self._changes: Generator[set[FileChange], None, None] = watch(
            folder,
            watch_filter=self._is_source,
            stop_event=stop,
            rust_timeout=_LOOK_MILLISECONDS,
            yield_on_timeout=True,
            ignore_permission_denied=True,
        )
        next(self._changes, None)

    def wait_for_change(self) -> str:
        """Returns the name of a file that was changed, added or removed; an empty one when it is time to stop."""
        with closing(self._changes):
            changed = next(filter(None, self._changes), set())
        return min((str(Path(path).relative_to(self._folder)) for _change, path in changed), default="")

    def _is_source(self, change: Change, path: str) -> bool:
        parts = Path(path).relative_to(self._folder).parts
        if any(part in _NOT_SOURCES or part.startswith(".") for part in parts):
            return False
        if change is Change.added and Path(path).is_dir():
            # What was put into a new folder before it was watched is not reported by itself.
            inside = (f"{folder}/{name}" for folder, _folders, names in os.walk(path) for name in names)
            return any(self._is_source(change, file) for file in inside)
        return parts[-1].endswith((".py", ".sql")) or parts[:-1][:1] == ("templates",) or parts == ("melee.toml",)


def inherited_socket() -> socket.socket | None:
    """The listening socket of the process that was here before; None in the first one."""
    descriptor = os.environ.pop(_SOCKET, "")
    return socket.socket(fileno=int(descriptor)) if descriptor else None


def begin_anew(listener: socket.socket, environment: dict[str, str], stop: Stop) -> None:
    """Starts the command again in this process, with the environment it began with and its listening socket.

    Returns only when it is time to stop.
    """
    listener.set_inheritable(True)
    sys.stdout.flush()
    # Until the new command looks at it, a wish to stop waits.
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
    if not stop.is_set():
        kept = environment | {_SOCKET: str(listener.fileno())}
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], kept)
