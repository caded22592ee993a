"""The suite of databases on SQLite, and what only SQLite does."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from melee.errors import ConstraintError, DatabaseError
from melee.store.connection import Connection
from melee.store.database import Database
from tests.melee.store.database_suite import DatabaseSuite, days


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with closing(Connection(tmp_path / "app.sqlite3")) as connection:
        database = Database(connection)
        database.run("CREATE TABLE days (on_date TEXT PRIMARY KEY NOT NULL, views INTEGER)")
        yield database


class TestDatabaseOnSqlite(DatabaseSuite):
    pass


def test_values_come_out_as_they_went_in(db: Database) -> None:
    values = [None, -(2**63), 2**63 - 1, 1.5, "é\0x", b"\0\xff"]
    for value in values:
        assert db.query("SELECT ? AS value", value) == [{"value": value}]
    assert db.query("SELECT ? AS value", True) == [{"value": 1}]


def test_run_does_not_count_what_a_trigger_changed(db: Database) -> None:
    db.run("CREATE TABLE log (x)")
    db.run("CREATE TRIGGER t AFTER INSERT ON days BEGIN INSERT INTO log VALUES (1), (2), (3); END")
    assert db.run("INSERT INTO days VALUES ('a', 1)") == 1
    assert db.run("CREATE TABLE later (x)") == 0


def test_a_statement_that_fails_leaves_the_transaction_open(db: Database) -> None:
    with db.transaction():
        db.run("INSERT INTO days VALUES ('a', 1)")
        with pytest.raises(ConstraintError):
            db.run("INSERT INTO days VALUES ('b', 1), ('a', 1)")
    assert days(db) == ["a"]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_an_error_that_rolled_everything_back_is_the_one_that_is_seen(db: Database, depth: int) -> None:
    db.run("CREATE TRIGGER t BEFORE INSERT ON days WHEN new.views < 0 BEGIN SELECT RAISE(ROLLBACK, 'below 0'); END")

    def inside(level: int) -> None:
        with db.transaction():
            db.run("INSERT INTO days VALUES (?, ?)", f"level {level}", -1 if level == 0 else 1)
            inside(level - 1)

    with pytest.raises(DatabaseError, match="below 0 in: INSERT"):
        inside(depth)
    assert days(db) == []
    with db.transaction():
        db.run("INSERT INTO days VALUES ('again', 1)")
    assert days(db) == ["again"]
