"""`App`: Flask, and the app's own database."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

from flask import Flask, Response, g, request
from werkzeug.exceptions import InternalServerError

from melee import log
from melee.jobs.queue import Jobs
from melee.project import Project
from melee.store.database import Database
from melee.web.app_database import AppConnection, AppDatabase
from melee.web.pages import error_page

Service = TypeVar("Service")


class App(Flask):
    """A Flask app whose folder is a melee app: `app = App(__name__)` in `app.py`.

    Routes, templates, sessions and the test client are Flask's. Added are `db`, `jobs` and `provide`.
    """

    project: Project
    """The folder this app lives in. A test gives it another data folder before the first request."""

    def __init__(self, import_name: str, **options: Any) -> None:
        super().__init__(import_name, **options)
        self.project = Project.at(Path(self.root_path))
        self._database = AppDatabase()
        self.jobs = Jobs(lambda: self._connection.jobs)
        """The durable jobs of this app."""
        self.services: list[object] = []
        """What `provide` was given."""
        self.teardown_appcontext(self._close_database)

    @property
    def db(self) -> Database:
        """The app's database with the migrations in `db/` applied: `data/app.sqlite3`, or in Postgres where
        `DATABASE_URL` says so.

        Each request has a connection of its own; it is closed when the request ends.

        Raises:
            MigrationError: a migration fails, or was changed after it ran.
            RuntimeError: outside a request; use `with app.app_context():`.
        """
        return self._connection.database

    def provide(self, service: Service) -> Service:
        """Lets every job have this as `resources.require(TheClass)`. Returns it."""
        self.services.append(service)
        return service

    def keeping_database(self) -> AbstractContextManager[None]:
        """Inside, one connection serves one request or job after the other, in a process that has one at a time."""
        return self._database.keeping()

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

    @property
    def _connection(self) -> AppConnection:
        if "melee_connection" not in g:
            g.melee_connection = self._database.open(self.project, bool(self.jobs.classes))
        connection: AppConnection = g.melee_connection
        return connection

    def _close_database(self, _error: BaseException | None) -> None:
        if connection := g.pop("melee_connection", None):
            self._database.close(connection)
