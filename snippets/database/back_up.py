"""Copies a database while the app goes on, and looks whether the copy is whole."""

from contextlib import closing
from pathlib import Path

import apsw


def back_up(database: Path, copy: Path) -> str:
    # Without this, a wrong path would be a new database, and the copy of it well.
    must_exist = apsw.SQLITE_OPEN_READWRITE
    with (
        closing(apsw.Connection(str(database), flags=must_exist)) as source,
        closing(apsw.Connection(str(copy))) as target,
    ):
        with target.backup("main", source, "main") as backup:
            backup.step()
        return str(target.pragma("integrity_check"))
