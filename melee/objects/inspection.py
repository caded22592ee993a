"""Objects seen from outside, by a process that does not host them: only reading, whether the app runs or not."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from melee.errors import DatabaseError, NoSuchObject
from melee.objects.files import every_file, file_of
from melee.objects.loaded import state_in
from melee.objects.record import State, read_state
from melee.objects.request import ObjectRef, check_id, underscored
from melee.store.connection import Connection
from melee.store.database import Row

_KNOWN_AT_MOST = 6


@dataclass(frozen=True)
class Seen:
    """An object as its file shows it. `size_bytes` counts the database and its write-ahead log."""

    file: Path
    state: State
    size_bytes: int


@dataclass(frozen=True)
class Unreadable:
    """A file that should be an object's and cannot be read."""

    file: Path
    problem: str


def look_at(file: Path) -> Seen | Unreadable | None:
    """What a file holds; None when there is no object in it, or no more."""
    try:
        state = state_in(file)
        return state and Seen(file, state, size_of(file))
    except (DatabaseError, FileNotFoundError) as error:
        # An object that is destroyed while we look is no fault.
        return Unreadable(file, str(error)) if file.is_file() else None


def size_of(file: Path) -> int:
    log = Path(f"{file}-wal")
    return file.stat().st_size + (log.stat().st_size if log.is_file() else 0)


@contextmanager
def opened(folder: Path, ref: ObjectRef) -> Iterator[Connection]:
    """A connection that can only read, to an object below the folder of all objects.

    Raises:
        NoSuchObject: it does not exist; names some that do.
        ShapeError: the id cannot be one.
    """
    check_id(ref.class_name, ref.id)
    file = file_of(folder, ref)
    if not file.is_file():
        raise _no_such(folder, ref)
    connection = Connection(file, read_only=True)
    try:
        state = read_state(connection)
        if state is None or state.destroyed or state.ref != ref:
            raise _no_such(folder, ref)
        yield connection
    finally:
        connection.close()


def tables(connection: Connection) -> dict[str, int]:
    """The app's own tables in an object, with how many rows each has."""
    names = connection.own(
        "SELECT name FROM sqlite_master WHERE type = 'table' "
        r"AND name NOT LIKE '\_melee\_%' ESCAPE '\' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name"
    )
    return {row["name"]: _count(connection, row["name"]) for row in names}


def values(connection: Connection) -> dict[str, str]:
    """The keys of an object's `storage.put`, in order, each with the JSON text of its value."""
    return {row["key"]: row["value"] for row in connection.own("SELECT key, value FROM _melee_values ORDER BY key")}


def migrations_applied(connection: Connection) -> list[str]:
    """The names of the migration files that ran on an object, in order."""
    if not connection.own("SELECT 1 FROM sqlite_master WHERE name = '_melee_migrations'"):
        return []
    return [row["name"] for row in connection.own("SELECT name FROM _melee_migrations ORDER BY number")]


def copy_to(connection: Connection, target: Path) -> None:
    """Writes a verified copy of an object to a new file; leaves nothing behind when that fails.

    Raises:
        FileExistsError: there is such a file; it is not touched.
        DatabaseError: SQLite cannot write the copy, or finds a fault in it.
    """
    target.open("xb").close()
    try:
        connection.back_up(target)
        _verify(connection, target)
    except BaseException:
        for left in (target, f"{target}-journal", f"{target}-wal", f"{target}-shm"):
            Path(left).unlink(missing_ok=True)
        raise


def _verify(original: Connection, target: Path) -> None:
    copy = Connection(target, read_only=True)
    try:
        faults = [row["integrity_check"] for row in copy.own("PRAGMA integrity_check")]
        if faults != ["ok"]:
            raise DatabaseError("", f"{original.path} has faults, its copy was deleted: {'; '.join(faults[:3])}")
    finally:
        copy.close()


def _count(connection: Connection, table: str) -> int:
    quoted = table.replace('"', '""')
    rows: list[Row] = connection.own(f'SELECT count(*) AS n FROM "{quoted}"')
    count: int = rows[0]["n"]
    return count


def _no_such(folder: Path, ref: ObjectRef) -> NoSuchObject:
    """Names some that there are, those of the same class first."""
    same_class = folder / underscored(ref.class_name)
    files = sorted(every_file(folder), key=lambda file: not file.is_relative_to(same_class))
    seen = (found for found in map(look_at, files) if isinstance(found, Seen))
    return NoSuchObject(str(ref), sorted(str(found.state.ref) for found in islice(seen, _KNOWN_AT_MOST)))
