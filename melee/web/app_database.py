"""The connections of an app to its database, SQLite or Postgres: one for each request or job."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from melee import clock
from melee.jobs.counting import counting
from melee.jobs.sqlite_store import SqliteStore
from melee.jobs.store import Store
from melee.project import Project
from melee.store.connection import Connection
from melee.store.database import Database, Statements
from melee.store.migrations import migrate, read_migrations
from melee.store.notifying import NotifyingDatabase


class AppConnection:
    """A connection, and what is done on it.

    Attributes:
        database: `app.db`.
        jobs: the store behind `app.jobs`; what it writes is a part of the transaction that is open on `database`.
    """

    database: Database
    jobs: Store

    def __init__(self, project: Project) -> None:
        self._connection: Statements
        self._is_quiet: Callable[[], bool]
        if url := project.database_url:
            # Who keeps everything in SQLite need not have it installed.
            from melee.jobs.postgres_store import PostgresStore
            from melee.store.postgres import PostgresConnection

            postgres = PostgresConnection(url)
            self._connection, self.close, self._is_quiet = postgres, postgres.close, postgres.is_quiet
            database = NotifyingDatabase(postgres)
            self.jobs = PostgresStore(postgres, clock.current(), database, counting(database, project))
        else:
            project.database.parent.mkdir(parents=True, exist_ok=True)
            sqlite = Connection(project.database)
            self._connection, self.close = sqlite, sqlite.close
            self._is_quiet = lambda: True
            database = NotifyingDatabase(sqlite)
            self.jobs = SqliteStore(database, clock.current(), counting(database, project))
        self.database = database

    @property
    def can_be_kept(self) -> bool:
        return not self._connection.in_transaction and self._is_quiet()

    def prepare(self, project: Project, has_jobs: bool) -> None:
        """Brings the tables up to date."""
        migrate(self._connection, self.database, read_migrations(project.migrations))
        if has_jobs:
            self.jobs.create()


class AppDatabase:
    """Opens connections, and brings the database up to date with the first of them."""

    def __init__(self) -> None:
        self._prepared: set[str] = set()
        self._preparing = threading.Lock()
        self._keeps = False
        self._kept: AppConnection | None = None

    def open(self, project: Project, has_jobs: bool) -> AppConnection:
        """Raises `MigrationError` when a migration fails, or was changed after it ran."""
        if self._kept:
            kept, self._kept = self._kept, None
            if kept.can_be_kept:
                return kept
            # A server that was started anew meanwhile costs nobody anything.
            kept.close()
        connection = AppConnection(project)
        try:
            with self._preparing:
                place = project.database_url or str(project.database)
                if place not in self._prepared:
                    connection.prepare(project, has_jobs)
                    self._prepared.add(place)
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self, connection: AppConnection) -> None:
        if self._keeps and not self._kept and connection.can_be_kept:
            self._kept = connection
        else:
            connection.close()

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Inside, a connection is used again by the next one who wants one, in a process that has one at a time."""
        self._keeps = True
        try:
            yield
        finally:
            self._keeps = False
            if self._kept:
                self._kept.close()
                self._kept = None
