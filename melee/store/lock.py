"""The lock of a data folder: one process hosts its objects, once."""

import fcntl
import os
from pathlib import Path

from melee.errors import AlreadyRunning

# A POSIX lock belongs to the process as a whole: a second one in it would be granted, and would end with the first.
_held: dict[Path, int] = {}


class FolderLock:
    """Held from its creation until `release`, or until the process ends, however it ends.

    Raises:
        AlreadyRunning: another process holds it, or this one does already; names the process.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder.resolve()
        # A forked child has the entry of its parent, not the lock.
        if _held.get(self._folder) == os.getpid():
            raise AlreadyRunning(str(folder), os.getpid())
        self._file = (folder / "lock").open("a+", encoding="ascii", errors="replace")
        try:
            # A POSIX record lock is not inherited by children, so a child that lingers cannot keep the folder locked.
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            self._file.seek(0)
            holder = self._file.read()
            self._file.close()
            raise AlreadyRunning(str(folder), int(holder) if holder.isdecimal() else 0) from None
        _held[self._folder] = os.getpid()
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def release(self) -> None:
        if not self._file.closed:
            del _held[self._folder]
            self._file.close()
