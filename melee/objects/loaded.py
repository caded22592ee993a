"""An object in memory: opening its file, creating it, bringing its schema up to date, and letting go of it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from melee.clock import Clock
from melee.errors import ObjectUnavailable
from melee.objects.durable import Durable, bind
from melee.objects.files import delete_file, make_folder
from melee.objects.record import Record, State, read_state
from melee.objects.request import ObjectRef
from melee.objects.storage import ObjectConnection, Storage
from melee.store.connection import Connection
from melee.store.migrations import Migration, migrate


@dataclass(eq=False)
class LoadedObject:
    """An open object.

    `asked_at` is when the registry will ask for its timer. `used_at` is a moment of `clock.elapsed()`.
    """

    ref: ObjectRef
    instance: Durable
    connection: ObjectConnection
    record: Record
    asked_at: float | None = None
    is_new: bool = False
    ends_after_call: bool = False
    commit_failed: bool = False
    used_at: float = 0.0

    @property
    def is_lost(self) -> bool:
        """SQLite has taken back what this object wrote since its last commit; it must be loaded anew."""
        return self.connection.lost is not None

    def method_named(self, name: str) -> Callable[..., Any]:
        """A method that callers may call; raises `ObjectUnavailable` when the class has none of that name."""
        known = type(self.instance).spec.method_names
        if name not in known:
            problem = f"the class has no such method; it has {', '.join(sorted(known))}"
            raise ObjectUnavailable(str(self.ref), name, problem)
        method: Callable[..., Any] = getattr(self.instance, name)
        return method

    def close(self) -> None:
        """Lets go of the instance and takes back what was not committed; of an object never committed, nothing
        remains."""
        self.connection.close()
        if self.is_new:
            delete_file(self.connection.path)


def state_in(path: Path) -> State | None:
    """The state of the object in a file; None when there is none, or a destroyed one."""
    if not path.is_file():
        return None
    # Without a log beside it nobody has the file open, so looking at a thousand objects leaves no thousand logs behind.
    connection = Connection(path, read_only=True, at_rest=not Path(f"{path}-wal").exists())
    try:
        state = read_state(connection)
    finally:
        connection.close()
    return None if state is None or state.destroyed else state


def open_object(
    cls: type[Durable], ref: ObjectRef, path: Path, migrations: list[Migration], clock: Clock
) -> LoadedObject | None:
    """Opens an object and runs the migrations it has not had; None when there is no such object.

    Raises:
        MigrationError: they do not run; the object is as it was.
    """
    if state_in(path) is None:
        return None
    return _load(cls, ref, path, migrations, clock, is_new=False)


def create_object(
    cls: type[Durable], ref: ObjectRef, path: Path, migrations: list[Migration], clock: Clock
) -> LoadedObject:
    """Makes the file, its schema and the object's row, in a transaction that the next commit ends.

    Raises:
        MigrationError: they do not run; there is no object and no file.
    """
    make_folder(path.parent)
    delete_file(path)
    return _load(cls, ref, path, migrations, clock, is_new=True)


def _load(
    cls: type[Durable], ref: ObjectRef, path: Path, migrations: list[Migration], clock: Clock, is_new: bool
) -> LoadedObject:
    connection = ObjectConnection(path)
    try:
        storage, record = Storage(connection), Record(connection, clock)
        with storage.transaction():
            migrate(connection, storage, migrations)
            if is_new:
                record.create(ref)
        return LoadedObject(ref, bind(cls, ref.id, storage, record), connection, record, is_new=is_new)
    except BaseException:
        connection.close()
        if is_new:
            delete_file(path)
        raise
