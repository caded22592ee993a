"""One server for the data of an app, `melee serve` or `melee dev`, also while its app sleeps or does not load."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from melee.store.lock import FolderLock


@contextmanager
def alone_on(data: Path, inherited: int | None = None) -> Iterator[FolderLock]:
    """Inside, no other server has this data folder.

    Args:
        inherited: the descriptor of the lock, from the process that was here before.

    Raises:
        AlreadyRunning: another one has it.
    """
    lock = FolderLock(data, "server.lock", inherited=inherited)
    try:
        yield lock
    finally:
        lock.release()
