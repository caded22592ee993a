"""An app's database is SQLite, or Postgres where `DATABASE_URL` says so; its jobs are a part of its transactions."""

from contextlib import closing
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from melee.errors import BadConfig, ConstraintError, DatabaseUnreachable, DefinitionError, MigrationError, ShapeError
from melee.project import Project
from melee.store.postgres import PostgresConnection
from melee.web.app import App
from tests.conftest import write_app

SOURCE = """
from flask import abort

from melee import App, Job

app = App(__name__)


@app.jobs.register
class Welcome(Job):
    NAME = "welcome"
    name: str

    def unique_key(self):
        return self.name

    def run(self, resources):
        pass


class Unknown(Welcome):
    NAME = "unknown"


@app.post("/together/<name>")
def together(name):
    with app.db.transaction():
        app.db.run("INSERT INTO users VALUES (?)", name)
        return [app.jobs.enqueue(Welcome(name=name))]


@app.post("/job_first/<name>")
def job_first(name):
    with app.db.transaction():
        app.jobs.enqueue(Welcome(name=name))
        app.db.run("INSERT INTO users VALUES (?)", name)
    return []


@app.post("/breaks/<name>")
def breaks(name):
    with app.db.transaction():
        app.db.run("INSERT INTO users VALUES (?)", name)
        app.jobs.enqueue(Welcome(name=name))
        abort(409)


@app.post("/breaks_outside/<name>")
def breaks_outside(name):
    app.db.run("INSERT INTO users VALUES (?)", name)
    app.jobs.enqueue(Welcome(name=name))
    abort(409)


@app.post("/inner_breaks/<name>")
def inner_breaks(name):
    with app.db.transaction():
        app.db.run("INSERT INTO users VALUES (?)", name)
        try:
            with app.db.transaction():
                app.jobs.enqueue(Welcome(name=name))
                raise LookupError(name)
        except LookupError:
            app.jobs.enqueue(Welcome(name="admin"))
    return []


@app.post("/many/<path:names>")
def many(names):
    return app.jobs.enqueue_many(Welcome(name=int(name) if name.isdigit() else name) for name in names.split("/"))


@app.post("/loses_connection")
def loses_connection():
    app.db.query("SELECT pg_terminate_backend(pg_backend_pid()) AS ended")
    return []


@app.get("/")
def stored():
    users = [row["name"] for row in app.db.query("SELECT name FROM users ORDER BY name")]
    return {"users": users, "jobs": sorted(job.unique_key for job in app.jobs.waiting(at_most=100))}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = write_app(tmp_path / "shop", SOURCE)
    (folder / "db").mkdir()
    (folder / "db" / "001_users.sql").write_text("CREATE TABLE users (name TEXT PRIMARY KEY);")
    return folder


@pytest.fixture(params=["sqlite", "postgres"])
def app(folder: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> App:
    if request.param == "postgres":
        monkeypatch.setenv("DATABASE_URL", request.getfixturevalue("postgres_url"))
    app = Project.at(folder).load().app
    assert isinstance(app, App)
    app.testing = True
    return app


@pytest.fixture
def client(app: App) -> FlaskClient:
    return app.test_client()


@pytest.fixture
def on_postgres(folder: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> App:
    monkeypatch.setenv("DATABASE_URL", postgres_url)
    app = Project.at(folder).load().app
    assert isinstance(app, App)
    app.testing = True
    return app


def stored(client: FlaskClient) -> tuple[list[str], list[str]]:
    found = client.get("/").json
    assert found
    return found["users"], found["jobs"]


def test_a_row_and_its_job_are_stored_together(client: FlaskClient) -> None:
    assert client.post("/together/ada").json == [True]
    assert client.post("/job_first/ben").status_code == 200
    assert stored(client) == (["ada", "ben"], ["ada", "ben"])


def test_an_error_in_the_transaction_leaves_neither(client: FlaskClient) -> None:
    assert client.post("/breaks/ada").status_code == 409
    assert stored(client) == ([], [])
    assert client.post("/together/ada").json == [True]


def test_a_statement_that_fails_behind_the_job_takes_it_back(client: FlaskClient) -> None:
    client.post("/together/ada")
    with pytest.raises(ConstraintError):
        client.post("/job_first/ada")
    with pytest.raises(ConstraintError):
        client.post("/together/ada")
    assert stored(client) == (["ada"], ["ada"])


def test_outside_of_a_transaction_each_stands_on_its_own(client: FlaskClient) -> None:
    assert client.post("/breaks_outside/ada").status_code == 409
    assert stored(client) == (["ada"], ["ada"])


def test_a_job_of_an_inner_transaction_is_taken_back_with_it(client: FlaskClient) -> None:
    assert client.post("/inner_breaks/ada").status_code == 200
    assert stored(client) == (["ada"], ["admin"])


def test_a_duplicate_is_told_and_the_rest_is_kept(client: FlaskClient) -> None:
    client.post("/many/ada")
    assert client.post("/together/ada").json == [False]
    assert client.post("/many/ada/ben/ada/ben").json == [False, True, False, False]
    assert stored(client) == (["ada"], ["ada", "ben"])


def test_of_many_jobs_none_is_stored_if_one_cannot_be(client: FlaskClient) -> None:
    with pytest.raises(ShapeError, match="Welcome"):
        client.post("/many/ada/2/ben")
    assert stored(client) == ([], [])


def test_outside_of_a_request_the_error_says_what_to_do(app: App) -> None:
    job = app.jobs.classes["welcome"](name="ada")
    with pytest.raises(RuntimeError, match=r"app\.app_context"):
        app.jobs.enqueue(job)
    with app.app_context():
        assert app.jobs.enqueue(job)
        assert not app.jobs.enqueue(job)


def test_a_class_that_is_not_registered_is_named(app: App) -> None:
    unknown = app.view_functions["together"].__globals__["Unknown"]
    with app.app_context(), pytest.raises(DefinitionError, match=r"Unknown: it is not registered; write app\.jobs\."):
        app.jobs.enqueue(unknown(name="ada"))


def test_one_connection_serves_a_request_after_the_other_while_it_is_kept(app: App) -> None:
    with app.keeping_database():
        with app.app_context():
            first = app.db
        with app.app_context():
            assert app.db is first
            app.db.run("INSERT INTO users VALUES ('ada')")


def test_a_connection_that_was_left_in_a_transaction_is_not_kept(app: App) -> None:
    with app.keeping_database():
        with app.app_context():
            first = app.db
            app.db._connection.control("BEGIN")
            app.db.run("INSERT INTO users VALUES ('ada')")
        with app.app_context():
            assert app.db is not first
            assert app.db.query("SELECT * FROM users") == []


def test_a_request_that_loses_its_connection_costs_no_other_one_anything(on_postgres: App) -> None:
    client = on_postgres.test_client()
    with on_postgres.keeping_database():
        assert client.post("/together/ada").json == [True]
        with pytest.raises(DatabaseUnreachable):
            client.post("/loses_connection")
        assert stored(client) == (["ada"], ["ada"])


def test_a_connection_that_was_lost_between_two_requests_costs_none_of_them(
    on_postgres: App, postgres_url: str
) -> None:
    client = on_postgres.test_client()
    with on_postgres.keeping_database(), closing(PostgresConnection(postgres_url)) as other:
        assert client.post("/together/ada").json == [True]
        sql = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        other.own(f"{sql} AND datname = current_database() AND backend_type = 'client backend'")
        assert client.post("/together/ben").json == [True]


def test_on_postgres_there_is_no_file(on_postgres: App) -> None:
    assert stored(on_postgres.test_client()) == ([], [])
    assert not on_postgres.project.data.exists()


def test_a_migration_that_fails_on_postgres_keeps_nothing_and_runs_again(on_postgres: App, folder: Path) -> None:
    file = folder / "db" / "001_users.sql"
    good = file.read_text()
    file.write_text(f"{good}\nCREATE TABLE more (x integer);\nCREATE TABLE users (name text);")
    client = on_postgres.test_client()
    with pytest.raises(MigrationError, match=r'001_users\.sql:3:1: relation "users" already exists in: CREATE'):
        client.get("/")
    file.write_text(good)
    assert stored(client) == ([], [])


@pytest.mark.parametrize("url", ["mysql://somebody:s3cret@host/app", "postgresql://somebody:s3%cret@host/app"])
def test_a_url_that_names_no_postgres_is_refused_without_its_password(
    folder: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    app = Project.at(folder).load().app
    with app.app_context(), pytest.raises(BadConfig, match="DATABASE_URL: it") as caught:
        _ = app.db
    assert "cret" not in str(caught.value)
