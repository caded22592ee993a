"""A process that begins anew in its own place when the sources of its app change.

It replaces itself (exec) instead of keeping a parent that starts children: signals, the exit code, the terminal and
the lock of the data folder belong to one process. Its listening socket stays open meanwhile, so that a browser waits
instead of being refused.
"""

import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_STOP_SIGNALS = {signal.SIGINT, signal.SIGTERM}
_KEPT = "MELEE_DEV_KEPT"
_LOOK_SECONDS = 0.2
# Made at run time, or no part of the app that is served.
_NOT_SOURCES = {"data", "tests", "site-packages", "node_modules", "__pycache__"}
_State = tuple[int, int, int]


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
        while not self.comes_within_a_look():
            pass

    def comes_within_a_look(self) -> bool:
        """Waits a moment, the time between two looks at anything; returns whether it is time to end."""
        if not self._is_wanted:
            time.sleep(_LOOK_SECONDS)
        return self._is_wanted

    def _want(self, _number: int, _frame: object) -> None:
        self._is_wanted = True
        for number in _STOP_SIGNALS:
            signal.signal(number, signal.SIG_DFL)


class Sources:
    """The files that an app is made of, as they are at the moment this is made.

    What is read afterwards is either current or reported as changed. The files are looked at again and again, which is
    cheap for the few of an app, and has no special case for folders that are new or files that were moved.
    """

    def __init__(self, folder: Path, stop: Stop) -> None:
        self._folder, self._stop = folder, stop
        self._known = self._look()

    def wait_for_change(self) -> str:
        """Returns the name of a file that was changed, added or removed; an empty one when it is time to stop."""
        before = seen = self._known
        # An edit of many files, or of a large one, takes its time: it is over when two looks in a row see the same.
        while seen == self._known or seen != before:
            if self._stop.comes_within_a_look():
                return ""
            before, seen = seen, self._look()
        return min(name for name, _state in seen.items() ^ self._known.items())

    def _look(self) -> dict[str, _State]:
        """Each source by its name below the folder, with what tells two of its states apart."""
        states = {}
        for folder, folders, names in os.walk(self._folder):
            folders[:] = [name for name in folders if name not in _NOT_SOURCES and not name.startswith(".")]
            for name in names:
                path = Path(folder, name).relative_to(self._folder)
                # A file can be gone by now; then it is no source.
                with suppress(OSError):
                    if _is_source(path):
                        status = (self._folder / path).stat()
                        states[str(path)] = status.st_mtime_ns, status.st_size, status.st_ino
        return states


def _is_source(path: Path) -> bool:
    return path.suffix in (".py", ".sql") or path.parts[0] == "templates" or path == Path("melee.toml")


def inherited_descriptors() -> list[int]:
    """What the process that was here before has left open; nothing in the first one."""
    return [int(descriptor) for descriptor in os.environ.pop(_KEPT, "").split()]


def begin_anew(kept: Sequence[int], environment: dict[str, str], stop: Stop) -> None:
    """Starts the command again in this process, with the environment it began with and the descriptors that are kept.

    Returns only when it is time to stop.
    """
    for descriptor in kept:
        os.set_inheritable(descriptor, True)
    sys.stdout.flush()
    # Until the new command looks at it, a wish to stop waits.
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
    if not stop.is_set():
        os.execve(
            sys.executable,
            [sys.executable, *sys.orig_argv[1:]],
            environment | {_KEPT: " ".join(map(str, kept))},
        )
