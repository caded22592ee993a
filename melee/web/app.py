"""`App`: Flask, and the app's own database."""

import threading
from pathlib import Path
from typing import Any

from flask import Flask, Response, g, request
from werkzeug.exceptions import InternalServerError

from melee import log
from melee.project import Project
from melee.store.connection import Connection
from melee.store.database import Database
from melee.store.migrations import migrate, read_migrations
from melee.web.pages import error_page


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

    def handle_exception(self, e: Exception) -> Any:
        """What a visitor sees when a view raises: the app's own handler of 500 if it has one, a page with the request's
        id to quote under `melee serve`, and Flask's page otherwise."""
        response = super().handle_exception(e)
        id = request.environ.get("melee.request_id")
        is_flasks_own = isinstance(response, Response) and response.get_data(True) == InternalServerError().get_body()
        if not id or not is_flasks_own:
            return response
        content_type, page = error_page(500, id, request.headers.get("accept", ""))
        return self.response_class(page, 500, content_type=content_type)

    def log_exception(self, exc_info: Any) -> None:
        log.request_failed(request.method, request.path, exc_info[1])

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
