"""Where objects lie: `<class>/<2 hex>/<digest of the id>.sqlite3`. An id is never a path."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from melee import log
from melee.objects.request import ObjectRef, underscored


def file_of(folder: Path, ref: ObjectRef) -> Path:
    """The file of an object below the folder of all objects."""
    return folder / place_of(ref)


def place_of(ref: ObjectRef) -> str:
    """Where an object lies in the folder of all objects."""
    digest = hashlib.sha256(ref.id.encode()).hexdigest()
    return f"{underscored(ref.class_name)}/{digest[:2]}/{digest}.sqlite3"


def every_file(folder: Path) -> Iterator[Path]:
    return folder.glob("*/??/*.sqlite3")


def make_folder(folder: Path) -> None:
    """Makes a folder whose existence survives a power cut: the entry in its parent is on disk."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    _sync_folder(folder.parent)


def delete_file(path: Path) -> None:
    """Deletes a database nobody has open, with what SQLite keeps beside it.

    One that the file system keeps is named in the log. What is in it says that there is no object in it any more.
    """
    try:
        remove(path)
    except OSError as error:
        log.file_left_behind(str(path), error)


def remove(path: Path) -> None:
    """Deletes a database and what SQLite keeps beside it; on disk when it returns. Raises `OSError`."""
    # The database goes first: without it the log is nothing, while without the log it would be an older database.
    for beside in (path, f"{path}-wal", f"{path}-shm"):
        Path(beside).unlink(missing_ok=True)
    if path.parent.is_dir():
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
