"""The lock of a data folder: one process hosts its objects."""

import fcntl
import os
from pathlib import Path

from melee.errors import AlreadyRunning


class FolderLock:
    """Held from its creation until `release`, or until the process ends, however it ends.

    Raises:
        AlreadyRunning: another process holds it; names the process.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / "lock").open("a+", encoding="ascii")
        try:
            # A POSIX record lock is not inherited by children, so a child that lingers cannot keep the folder locked.
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.seek(0)
            pid = int(self._file.read() or 0)
            self._file.close()
            raise AlreadyRunning(str(folder), pid) from None
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def release(self) -> None:
        self._file.close()
