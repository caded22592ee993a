"""What an app does with its database: rows as dicts, counts of rows, and transactions that nest."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from melee.errors import ConstraintError, DatabaseError
from melee.store.connection import Connection
from melee.store.database import Database


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with closing(Connection(tmp_path / "app.sqlite3")) as connection:
        database = Database(connection)
        database.run("CREATE TABLE days (on_date TEXT PRIMARY KEY, views INTEGER)")
        yield database


def days(db: Database) -> list[str]:
    return [row["on_date"] for row in db.query("SELECT on_date FROM days ORDER BY on_date")]


def test_rows_are_dicts_by_column_name(db: Database) -> None:
    db.run("INSERT INTO days VALUES (?, ?)", "2030-01-01", 3)
    assert db.query("SELECT * FROM days") == [{"on_date": "2030-01-01", "views": 3}]
    assert db.query("SELECT count(*) AS n, NULL AS note FROM days") == [{"n": 1, "note": None}]


def test_first_is_the_first_row_or_none(db: Database) -> None:
    assert db.first("SELECT * FROM days") is None
    db.run("INSERT INTO days VALUES ('a', 1), ('b', 2)")
    assert db.first("SELECT views FROM days ORDER BY views DESC") == {"views": 2}


def test_values_come_out_as_they_went_in(db: Database) -> None:
    values = [None, -(2**63), 2**63 - 1, 1.5, "é\0x", b"\0\xff"]
    for value in values:
        assert db.query("SELECT ? AS value", value) == [{"value": value}]
    assert db.query("SELECT ? AS value", True) == [{"value": 1}]


def test_a_dict_gives_named_parameters(db: Database) -> None:
    assert db.query("SELECT :a + :b AS sum", {"a": 1, "b": 2}) == [{"sum": 3}]


def test_rows_are_read_before_anything_else_happens(db: Database) -> None:
    db.run("INSERT INTO days VALUES ('a', 1), ('b', 2)")
    for row in db.query("SELECT on_date FROM days"):
        db.run("DELETE FROM days WHERE on_date = ?", row["on_date"])
    assert days(db) == []


@pytest.mark.parametrize(
    ("statement", "count"),
    [
        ("INSERT INTO days VALUES ('c', 3), ('d', 4)", 2),
        ("UPDATE days SET views = 0", 2),
        ("UPDATE days SET views = 0 WHERE on_date = 'z'", 0),
        ("DELETE FROM days", 2),
        ("INSERT INTO days VALUES ('a', 1) ON CONFLICT DO NOTHING", 0),
        ("CREATE TABLE other (x)", 0),
        ("SELECT * FROM days", 0),
        ("UPDATE days SET views = 5 WHERE on_date = 'a' RETURNING views", 1),
    ],
)
def test_run_returns_how_many_rows_changed(db: Database, statement: str, count: int) -> None:
    db.run("INSERT INTO days VALUES ('a', 1), ('b', 2)")
    assert db.run(statement) == count


def test_run_does_not_count_what_a_trigger_changed(db: Database) -> None:
    db.run("CREATE TABLE log (x)")
    db.run("CREATE TRIGGER t AFTER INSERT ON days BEGIN INSERT INTO log VALUES (1), (2), (3); END")
    assert db.run("INSERT INTO days VALUES ('a', 1)") == 1
    assert db.run("CREATE TABLE later (x)") == 0


def insert_and_fail(db: Database, on_date: str) -> None:
    with db.transaction():
        with db.transaction():
            db.run("INSERT INTO days VALUES (?, 1)", on_date)
        raise KeyError(on_date)


def test_a_transaction_keeps_all_or_nothing(db: Database) -> None:
    with db.transaction():
        db.run("INSERT INTO days VALUES ('kept', 1)")
    with pytest.raises(KeyError):
        insert_and_fail(db, "gone")
    assert days(db) == ["kept"]


def test_a_nested_transaction_that_fails_takes_back_what_is_inside_and_no_more(db: Database) -> None:
    with db.transaction():
        db.run("INSERT INTO days VALUES ('outer', 1)")
        with pytest.raises(KeyError):
            insert_and_fail(db, "inner")
        db.run("INSERT INTO days VALUES ('after', 1)")
    assert days(db) == ["after", "outer"]


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


def test_a_commit_that_breaks_a_deferred_constraint_rolls_back(db: Database) -> None:
    db.run("CREATE TABLE views (on_date TEXT REFERENCES days DEFERRABLE INITIALLY DEFERRED)")
    with pytest.raises(ConstraintError, match="FOREIGN KEY constraint failed in: COMMIT"), db.transaction():
        db.run("INSERT INTO views VALUES ('no such day')")
    assert db.query("SELECT * FROM views") == []
    with db.transaction():
        db.run("INSERT INTO days VALUES ('a', 1)")
    assert days(db) == ["a"]
