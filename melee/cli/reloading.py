"""A process that begins anew in its own place when the sources of its app change.

It replaces itself (exec) instead of keeping a parent that starts children: signals, the exit code, the terminal and
the lock of the data folder belong to one process. Its listening socket stays open meanwhile, so that a browser waits
instead of being refused.
"""

import os
import signal
import socket
import sys
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import NoReturn

from watchfiles import Change, watch
from watchfiles.main import FileChange

STOP_SIGNALS = {signal.SIGINT, signal.SIGTERM}

_SOCKET = "MELEE_DEV_SOCKET"
_LOOK_MILLISECONDS = 100
# Made at run time, or no part of the app that is served.
_NOT_SOURCES = {"data", "tests", "site-packages", "node_modules", "__pycache__"}


class Sources:
    """The files that an app is made of, watched from the moment this is made.

    What is read afterwards is either current or reported as changed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._changes: Generator[set[FileChange], None, None] = watch(
            folder,
            watch_filter=self._is_source,
            rust_timeout=_LOOK_MILLISECONDS,
            yield_on_timeout=True,
            ignore_permission_denied=True,
        )
        next(self._changes)

    def wait_for_change(self) -> str:
        """Returns the name of a file that was changed, added or removed."""
        with closing(self._changes):
            changed = next(filter(None, self._changes))
        return str(min(Path(path).relative_to(self._folder) for _change, path in changed))

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


def begin_anew(listener: socket.socket, environment: dict[str, str]) -> NoReturn:
    """Starts the command again in this process, with the environment it began with and its listening socket."""
    listener.set_inheritable(True)
    sys.stdout.flush()
    # Until the new command is ready to be stopped in order, the wish waits.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    kept = environment | {_SOCKET: str(listener.fileno())}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], kept)
