"""The locks of a data folder: one process hosts its objects, and one serves its app."""

import fcntl
import os
import signal
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from melee.errors import AlreadyRunning

# A POSIX lock belongs to the process as a whole: a second one in it would be granted, and would end with the first.
_held: dict[Path, int] = {}
_FLOCK = "hhqqi4x" if sys.platform == "linux" else "qqihh"


class FolderLock:
    """Held from its creation until `release`, or until the process ends, however it ends.

    Args:
        name: of the lock, a file in the folder.
        slots: the part of the lock that is wanted, so that several processes can each hold one; default: all of it.
        wait_seconds: how long to wait for a process that holds it. A wait needs the main thread, and takes SIGALRM.
        inherited: the descriptor of the lock of a process that replaced itself by this one, and kept it open for that.

    Raises:
        AlreadyRunning: another process holds it, or this one does already; names the process.
    """

    def __init__(
        self,
        folder: Path,
        name: str = "lock",
        slots: range | None = None,
        wait_seconds: float = 0,
        inherited: int | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder.resolve() / name
        # A forked child has the entry of its parent, not the lock.
        if _held.get(self._path) == os.getpid():
            raise AlreadyRunning(str(folder), os.getpid())
        # A length of 0 means everything from there on.
        part = (slots.start, len(slots)) if slots else (0, 0)
        self._file = self._path.open("ab") if inherited is None else os.fdopen(inherited, "ab")
        os.set_inheritable(self._file.fileno(), False)
        try:
            _lock(self._file.fileno(), part, wait_seconds)
        except (BlockingIOError, PermissionError, _TimeIsUp):
            holder = _holder(self._file.fileno(), part)
            self._file.close()
            raise AlreadyRunning(str(folder), holder) from None
        _held[self._path] = os.getpid()

    def fileno(self) -> int:
        return self._file.fileno()

    def release(self) -> None:
        if not self._file.closed:
            del _held[self._path]
            self._file.close()


class _TimeIsUp(Exception):
    pass


def _lock(descriptor: int, part: tuple[int, int], wait_seconds: float) -> None:
    start, length = part
    # A POSIX record lock is not inherited by children, so a child that lingers cannot keep the folder locked.
    if not wait_seconds:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, length, start)
        return
    with _interrupted_after(wait_seconds):
        fcntl.lockf(descriptor, fcntl.LOCK_EX, length, start)


@contextmanager
def _interrupted_after(seconds: float) -> Iterator[None]:
    def interrupt(_number: int, _frame: object) -> None:
        raise _TimeIsUp

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _holder(descriptor: int, part: tuple[int, int]) -> int:
    """A process that holds some of that part of the lock; 0 when it has let go by now."""
    wanted = fcntl.F_WRLCK, os.SEEK_SET
    # The members of struct flock have another order on BSD and macOS.
    if sys.platform == "linux":
        asked = struct.pack(_FLOCK, *wanted, *part, 0)
        kind, _whence, _start, _length, pid = struct.unpack(_FLOCK, fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
    else:
        asked = struct.pack(_FLOCK, *part, 0, *wanted)
        _start, _length, pid, kind, _whence = struct.unpack(_FLOCK, fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
    return 0 if kind == fcntl.F_UNLCK else pid
