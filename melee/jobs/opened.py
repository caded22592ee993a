"""The jobs of an app on a connection of their own, for a process that is none of its requests."""

from collections.abc import Callable
from dataclasses import dataclass

from melee.clock import Clock
from melee.jobs.bell import Bell, PostgresBell, SqliteBell
from melee.jobs.counting import counting
from melee.jobs.sqlite_store import SqliteStore
from melee.jobs.store import Store
from melee.project import Project
from melee.store.connection import Connection
from melee.store.notifying import NotifyingDatabase


@dataclass(frozen=True)
class Opened:
    """An open store, what rings when there is something new in it, and how both are closed."""

    store: Store
    bell: Bell
    close: Callable[[], None]


def open_jobs(project: Project, clock: Clock) -> Opened:
    """Connects to the jobs of an app, and makes their tables if they are missing; raises `DatabaseError`."""
    return _on_postgres(project, clock) if project.database_url else _on_sqlite(project, clock)


def _on_sqlite(project: Project, clock: Clock) -> Opened:
    project.database.parent.mkdir(parents=True, exist_ok=True)
    connection = Connection(project.database)
    try:
        database = NotifyingDatabase(connection)
        store = SqliteStore(database, clock, counting(database, project))
        store.create()
    except BaseException:
        connection.close()
        raise
    return Opened(store, SqliteBell(connection), connection.close)


def _on_postgres(project: Project, clock: Clock) -> Opened:
    # Who keeps jobs in SQLite need not have it installed.
    from melee.jobs.postgres_store import PostgresStore
    from melee.store.postgres import PostgresConnection

    connection = PostgresConnection(project.database_url)
    try:
        database = NotifyingDatabase(connection)
        store = PostgresStore(connection, clock, database, counting(database, project))
        store.create()
        bell = PostgresBell(PostgresConnection(project.database_url))
    except BaseException:
        connection.close()
        raise

    def close() -> None:
        bell.close()
        connection.close()

    return Opened(store, bell, close)
