"""Copies a database while the app goes on, and reads the copy."""

from contextlib import closing
from pathlib import Path

import apsw


def back_up(database: Path, copy: Path) -> str:
    # Otherwise a wrong path would be a new, empty database.
    must_exist = apsw.SQLITE_OPEN_READWRITE
    with (
        closing(apsw.Connection(str(database), flags=must_exist)) as source,
        closing(apsw.Connection(str(copy))) as target,
    ):
        with target.backup("main", source, "main") as backup:
            backup.step()
        return str(target.pragma("integrity_check"))
