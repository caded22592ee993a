"""Copies a database while the app goes on, and looks whether the copy is whole."""

from contextlib import closing
from pathlib import Path

import apsw


def back_up(database: Path, copy: Path) -> str:
    with (
        closing(apsw.Connection(str(database))) as source,
        closing(apsw.Connection(str(copy))) as target,
    ):
        with target.backup("main", source, "main") as backup:
            backup.step()
        return str(target.pragma("integrity_check"))
