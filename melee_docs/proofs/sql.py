"""SQL: a migration shown from its file applies, in its place in the row, to an empty database; SQL written in the page
prepares against the migrated database of the app that the fence names.

`app="melee_examples/board"` is the app's own database, `app="melee_examples/board:stats"` that of its class `Stats`.
"""

import tempfile
from pathlib import Path

import apsw
import apsw.ext

from melee.clock import SystemClock
from melee.errors import MeleeError
from melee.jobs.sqlite_store import SqliteStore
from melee.store.connection import Connection
from melee.store.database import Database
from melee.store.migrations import migrate, read_migrations, statements
from melee_docs.blocks import Block
from melee_docs.proofs.python import source_of
from melee_docs.proofs.verdict import NotProvenError


def prove_file(block: Block, root: Path) -> tuple[str, ...]:
    """Applies the folder's migrations up to and with the one shown. Raises `NotProvenError`."""
    file = source_of(block, root)
    with tempfile.TemporaryDirectory(prefix="melee-sql-") as folder:
        migrated(file.parent, Path(folder, "app.sqlite3"), root, last=file)
    return ("applied to an empty database, after the migrations before it",)


def prove_page(block: Block, root: Path) -> tuple[str, ...]:
    """Prepares each statement without running it. Raises `NotProvenError` with the line of the page."""
    if not block.app:
        raise NotProvenError(
            'no app is named whose tables this could use; write app="FOLDER" or app="FOLDER:object" on the fence'
        )
    app, _, object_class = block.app.partition(":")
    migrations = root / app / "db" / "objects" / object_class if object_class else root / app / "db"
    if not migrations.is_dir():
        raise NotProvenError(
            f"app={block.app!r}: there is no folder {migrations.relative_to(root).as_posix()}; correct the name"
        )
    with tempfile.TemporaryDirectory(prefix="melee-sql-") as folder:
        database = Path(folder, "app.sqlite3")
        migrated(migrations, database, root, has_jobs=not object_class)
        prepare(block, database)
    return (f"prepared against the migrated database of {block.app}",)


def migrated(migrations: Path, database: Path, root: Path, last: Path | None = None, has_jobs: bool = False) -> None:
    """Makes the file `database` by running the folder's migrations; those after `last` are left out. With `has_jobs` it
    has the table of jobs, as the database of an app does."""
    connection = Connection(database)
    try:
        found = read_migrations(migrations)
        if last is not None:
            found = found[: [migration.path for migration in found].index(last) + 1]
        migrate(connection, Database(connection), found)
        if has_jobs:
            SqliteStore(Database(connection), SystemClock()).create()
    except MeleeError as error:
        raise NotProvenError(str(error).replace(f"{root}/", "")) from error
    finally:
        connection.close()


def prepare(block: Block, database: Path) -> None:
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        for index, statement in statements(block.text):
            try:
                apsw.ext.query_info(connection, statement)
            except apsw.Error as error:
                reason = f"{error} in: {' '.join(statement.split())}; correct the statement"
                raise NotProvenError(reason, block.text.count("\n", 0, index)) from error
    finally:
        connection.close()
