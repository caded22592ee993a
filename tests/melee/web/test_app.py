"""`App` is Flask with the app's own database: migrated once, and one connection a request."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from flask import Flask

from melee.errors import DatabaseError, MigrationError, NotAnApp, StatementRefused
from melee.project import Project
from melee.store.connection import Connection
from melee.store.database import Database
from melee.web.app import App
from tests.conftest import write_app

SOURCE = """
from melee import App

app = App(__name__)


@app.get("/")
def days():
    return [row["on_date"] for row in app.db.query("SELECT on_date FROM days ORDER BY on_date")]


@app.post("/<on_date>")
def add(on_date):
    app.db.run("INSERT INTO days VALUES (?)", on_date)
    return [app.db is app.db]


@app.post("/broken/<on_date>")
def broken(on_date):
    with app.db.transaction():
        app.db.run("INSERT INTO days VALUES (?)", on_date)
        raise RuntimeError("after the insert")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = write_app(tmp_path / "board", SOURCE)
    (folder / "db").mkdir()
    (folder / "templates").mkdir()
    (folder / "templates" / "index.html").write_text("{{ 1 + 1 }}")
    (folder / "db" / "001_days.sql").write_text("CREATE TABLE days (on_date TEXT PRIMARY KEY)")
    return folder


@pytest.fixture
def app(folder: Path) -> App:
    app = Project.at(folder).load().app
    assert isinstance(app, App)
    return app


def test_an_app_is_flask_and_knows_its_folder(app: App, folder: Path) -> None:
    assert isinstance(app, Flask)
    assert app.project == Project.at(folder)
    assert app.jinja_env.get_template("index.html").render() == "2"


def test_an_app_outside_of_an_apps_folder_is_refused() -> None:
    with pytest.raises(NotAnApp, match=r"it has no app\.py"):
        App(__name__)


def test_the_database_is_made_and_migrated_by_the_first_request_that_uses_it(app: App) -> None:
    assert not app.project.data.exists()
    assert app.test_client().get("/").json == []
    assert app.project.database.is_file()


def test_what_a_request_wrote_the_next_one_reads(app: App) -> None:
    client = app.test_client()
    assert client.post("/2030-01-01").json == [True]
    assert client.get("/").json == ["2030-01-01"]


def test_a_request_that_fails_in_a_transaction_leaves_nothing_and_holds_nothing(app: App) -> None:
    client = app.test_client()
    assert client.post("/broken/2030-01-01").status_code == 500
    assert client.post("/2030-01-02").status_code == 200
    assert client.get("/").json == ["2030-01-02"]


def test_the_connection_is_closed_when_the_request_ends(app: App) -> None:
    app.test_client().post("/2030-01-01")
    assert [file.name for file in app.project.data.iterdir()] == ["app.sqlite3"]
    with app.app_context():
        first = app.db
    with pytest.raises(DatabaseError, match="connection has been closed"):
        first.query("SELECT 1 AS a")


def test_outside_of_a_request_the_error_says_what_to_do(app: App) -> None:
    with pytest.raises(RuntimeError, match="application context"):
        _ = app.db


def test_a_test_can_give_the_app_another_data_folder(app: App, tmp_path: Path) -> None:
    app.test_client().post("/2030-01-01")
    app.project = replace(app.project, data=tmp_path / "elsewhere" / "data")
    assert app.test_client().get("/").json == []
    assert (tmp_path / "elsewhere" / "data" / "app.sqlite3").is_file()


def test_migrations_are_read_once_by_a_process_and_again_after_a_failure(app: App, folder: Path) -> None:
    client = app.test_client()
    (folder / "db" / "002_more.sql").write_text("CREATE TABLE more (x); CREATE TABLE more (x);")
    app.testing = True
    with pytest.raises(MigrationError, match=r"002_more\.sql:1:24: table more already exists"):
        client.get("/")
    # Nothing is left open that would keep others from the database.
    with closing(Connection(app.project.database)) as connection:
        assert Database(connection).query("SELECT * FROM days") == []
    assert [file.name for file in app.project.data.iterdir()] == ["app.sqlite3"]
    (folder / "db" / "002_more.sql").write_text("CREATE TABLE more (x);")
    assert client.get("/").json == []
    (folder / "db" / "003_later.sql").write_text("NONSENSE")
    assert client.get("/").json == []


def test_an_object_table_of_melee_is_out_of_reach_of_the_app(app: App) -> None:
    with app.app_context(), pytest.raises(StatementRefused, match="tables that begin with _melee_ are melee's own"):
        app.db.query("SELECT * FROM _melee_migrations")
