"""The databases of an app, made in memory by its migrations, to ask what SQLite says of a statement."""

from dataclasses import dataclass
from pathlib import Path

from melee.builder import guide
from melee.builder.source import Finding
from melee.clock import SystemClock
from melee.errors import DatabaseError, MigrationError, StatementRefused
from melee.jobs.sqlite_store import SqliteStore
from melee.objects.record import Record
from melee.objects.request import ObjectRef, underscored
from melee.store.connection import Connection
from melee.store.database import Database
from melee.store.migrations import Migration, migrate, read_migrations


@dataclass(frozen=True)
class Owner:
    """Whose database it is: that of an object of a durable class, or, without a name, the app's, which may have the
    tables of jobs, too."""

    class_name: str = ""
    has_jobs: bool = False

    @property
    def title(self) -> str:
        return f"the database of {self.class_name}" if self.class_name else "the database of the app"

    @property
    def migrations(self) -> str:
        """The folder of its migrations in the folder of the app."""
        return f"db/objects/{underscored(self.class_name)}" if self.class_name else "db"


class Migrated:
    """A new database to which the migrations of its owner are applied as when an app runs.

    `finding` is why they could not be; nothing can be said about statements then.
    """

    def __init__(self, folder: Path, owner: Owner) -> None:
        self.owner = owner
        self.connection = Connection(Path(":memory:"))
        self.finding: Finding | None = None
        self._number = 0
        try:
            self._migrate(read_migrations(folder / owner.migrations))
        except MigrationError as error:
            self.finding = _finding(error, folder)
        except OSError as error:
            file = Path(error.filename).relative_to(folder).as_posix()
            problem = f"it cannot be read: {error.strerror}; make it readable, or remove it"
            self.finding = Finding(file, 1, 1, f"{problem} (see {guide.MIGRATIONS})")

    def close(self) -> None:
        self.connection.close()

    @property
    def next_file(self) -> str:
        """Where its next migration belongs."""
        return f"{self.owner.migrations}/{self._number + 1:03}_what.sql"

    def _migrate(self, migrations: list[Migration]) -> None:
        database = Database(self.connection)
        for count, migration in enumerate(migrations, 1):
            try:
                migrate(self.connection, database, migrations[:count])
            except DatabaseError as error:
                # A foreign key that is broken when the file ends.
                raise MigrationError(str(migration.path), "", advised(error, "correct the file")) from None
            self._number = migration.number
        if self.owner.has_jobs:
            SqliteStore(database, SystemClock()).create()
        if self.owner.class_name:
            Record(self.connection, SystemClock()).create(ObjectRef(self.owner.class_name, "any"))


def _finding(error: MigrationError, folder: Path) -> Finding:
    if isinstance(error.__cause__, DatabaseError):
        path, line, column = error.file.rsplit(":", 2)
        problem = advised(error.__cause__, "correct the statement")
    else:
        path, line, column = error.file, "1", "1"
        problem = error.problem
    file = Path(path).relative_to(folder).as_posix()
    return Finding(file, int(line), int(column), f"{problem} (see {guide.MIGRATIONS})")


def advised(error: DatabaseError, advice: str) -> str:
    """What is wrong, and what to do about it. What melee refuses by itself says both."""
    is_ours = isinstance(error, StatementRefused) or error.__cause__ is None
    return error.problem if is_ours else f"{error.problem}; {advice}"
