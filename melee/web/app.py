"""`App`: Flask, and the app's own database."""

import threading
from pathlib import Path
from typing import Any

from flask import Flask, g

from melee.project import Project
from melee.store.connection import Connection
from melee.store.database import Database
from melee.store.migrations import migrate, read_migrations


class App(Flask):
    """A Flask app whose folder is a melee app: `app = App(__name__)` in `app.py`.

    Routes, templates, sessions and the test client are Flask's. Added is `db`.
    """

    project: Project
    """The folder this app lives in. A test gives it another data folder before the first request."""

    def __init__(self, import_name: str, **options: Any) -> None:
        super().__init__(import_name, **options)
        self.project = Project.at(Path(self.root_path))
        self._migrated: set[Path] = set()
        self._migrating = threading.Lock()
        self.teardown_appcontext(self._close_database)

    @property
    def db(self) -> Database:
        """The app's database, `data/app.sqlite3`, with the migrations in `db/` applied.

        Each request has a connection of its own; it is closed when the request ends.

        Raises:
            MigrationError: a migration fails, or was changed after it ran.
            RuntimeError: outside a request; use `with app.app_context():`.
        """
        if "melee_database" not in g:
            g.melee_connection = self._connect()
            g.melee_database = Database(g.melee_connection)
        database: Database = g.melee_database
        return database

    def _connect(self) -> Connection:
        path = self.project.database
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = Connection(path)
        try:
            with self._migrating:
                if path not in self._migrated:
                    migrate(connection, Database(connection), read_migrations(self.project.migrations))
                    self._migrated.add(path)
        except BaseException:
            connection.close()
            raise
        return connection

    def _close_database(self, _error: BaseException | None) -> None:
        connection: Connection | None = g.pop("melee_connection", None)
        g.pop("melee_database", None)
        if connection:
            connection.close()
