"""Numbered SQL files that bring a database to the schema its code expects."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import apsw

from melee import clock
from melee.errors import DatabaseError, MigrationError
from melee.store.database import Database, Statements

_NAME = re.compile(r"(\d{3,})_[a-z0-9_]+\.sql")


@dataclass(frozen=True)
class Migration:
    """One file `NNN_what.sql`."""

    path: Path
    number: int
    sql: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


def read_migrations(folder: Path) -> list[Migration]:
    """The migrations of a folder in the order of their numbers; none when the folder does not exist.

    Raises:
        MigrationError: a file with another name, two with one number, or one that is not UTF-8.
    """
    migrations: list[Migration] = []
    for path in sorted(folder.glob("*.sql")):
        name = _NAME.fullmatch(path.name)
        if not name:
            raise MigrationError(str(path), "", "a migration is named NNN_what.sql, such as 001_days.sql; rename it")
        migrations.append(Migration(path, int(name[1]), _text(path)))
    migrations.sort(key=lambda migration: migration.number)
    for one, next_one in pairwise(migrations):
        if one.number == next_one.number:
            raise MigrationError(str(next_one.path), "", f"{one.path.name} has the same number; give it the next one")
    return migrations


def migrate(connection: Statements, database: Database, migrations: list[Migration]) -> None:
    """Runs what has not run yet, in order: each file and its line in the ledger in one transaction of `database`.

    Raises:
        MigrationError: a statement fails (of its file nothing is kept), or the files are no longer those that ran.
    """
    applied = _ledger(connection)
    known = {migration.number for migration in migrations}
    for number, (name, _digest) in applied.items():
        if number not in known:
            raise MigrationError(name, "", f"it ran on {connection.place} and is gone; put the file back")
    for migration in migrations:
        if migration.number in applied:
            _check_unchanged(migration, applied[migration.number][1])
        elif applied and migration.number < max(applied):
            problem = f"number {max(applied)} ran before it on {connection.place}; give it a higher number"
            raise MigrationError(str(migration.path), "", problem)
        else:
            _run(connection, database, migration)


def statements(sql: str) -> Iterator[tuple[int, str]]:
    """Each statement of a script for SQLite with the index in the script at which it begins."""
    begins_at, text = 0, ""
    for part in re.findall(r"[^;]*;|[^;]+$", sql):
        text += part
        # A `;` may stand inside a string, a comment or the body of a trigger; SQLite knows which.
        if apsw.complete(text):
            if text.strip(" \n\t\r;"):
                yield begins_at + _blank(text), text.strip()
            begins_at, text = begins_at + len(text), ""
    if text.strip():
        yield begins_at + _blank(text), text.strip()


def place(text: str, index: int) -> tuple[int, int]:
    """Line and column of a character, from 1."""
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)


def _blank(text: str) -> int:
    return len(text) - len(text.lstrip())


def _text(path: Path) -> str:
    try:
        # Some editors begin a file with a mark that SQLite does not read.
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"it is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8"
        raise MigrationError(str(path), "", problem) from error
    if "\0" in text:
        raise MigrationError(str(path), "", "it holds NUL characters, as UTF-16 does; save it as UTF-8")
    return text


def _ledger(connection: Statements) -> dict[int, tuple[str, str]]:
    if not connection.own(connection.finds_table, "_melee_migrations"):
        return {}
    rows = connection.own("SELECT number, name, digest FROM _melee_migrations ORDER BY number")
    return {row["number"]: (row["name"], row["digest"]) for row in rows}


def _check_unchanged(migration: Migration, digest: str) -> None:
    if migration.digest != digest:
        problem = "it was edited after it ran; put it back as it was and write a new file for the change"
        raise MigrationError(str(migration.path), "", problem)


def _run(connection: Statements, database: Database, migration: Migration) -> None:
    with database.transaction():
        connection.own(connection.lets_one_migrate)
        if migration.number in _ledger(connection):
            # Another process ran it while this one waited for the lock.
            return
        for index, statement in connection.statements(migration.sql):
            try:
                database.run(statement)
            except DatabaseError as error:
                line, column = place(migration.sql, index + error.position)
                where = f"{migration.path}:{line}:{column}"
                raise MigrationError(where, " ".join(statement.split()), error.problem) from error
        connection.own(
            "CREATE TABLE IF NOT EXISTS _melee_migrations "
            "(number INTEGER PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL, applied_at TEXT NOT NULL)"
        )
        connection.own(
            "INSERT INTO _melee_migrations VALUES (?, ?, ?, ?)",
            migration.number,
            migration.path.name,
            migration.digest,
            clock.now().isoformat(timespec="seconds"),
        )
