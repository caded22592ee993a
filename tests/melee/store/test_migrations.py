"""The suite of migrations on SQLite, and how a script is read there."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from melee.store.connection import Connection
from melee.store.migrations import place, statements
from tests.melee.store.migrations_suite import DAYS, Migrated, MigrationsSuite, Opening

TRIGGER = """CREATE TRIGGER stamp AFTER INSERT ON days BEGIN
    INSERT INTO log VALUES ('a;b');  -- a comment; with a semicolon
    UPDATE log SET x = x;
END"""


@pytest.fixture
def opening(tmp_path: Path) -> Opening:
    @contextmanager
    def open_one() -> Iterator[Connection]:
        with closing(Connection(tmp_path / "app.sqlite3")) as connection:
            yield connection

    return open_one


@pytest.fixture
def migrated(opening: Opening, tmp_path: Path) -> Iterator[Migrated]:
    with opening() as connection:
        yield Migrated(connection, tmp_path / "db")


class TestMigrationsOnSqlite(MigrationsSuite):
    pass


def test_a_trigger_with_semicolons_in_it_is_one_statement(migrated: Migrated) -> None:
    migrated.write("001_days.sql", f"{DAYS}\nCREATE TABLE log (x);\n{TRIGGER};\nINSERT INTO days VALUES ('x')")
    migrated.run()
    assert migrated.connection.execute("SELECT x FROM log", ()) == [{"x": "a;b"}]


@pytest.mark.parametrize("by_hand", ["ATTACH 'a' AS a", "PRAGMA journal_mode = OFF"])
def test_a_migration_may_not_reach_out_of_its_database(migrated: Migrated, by_hand: str) -> None:
    file = migrated.write("001_days.sql", f"{DAYS}\n{by_hand};")
    assert migrated.refusal().startswith(f"{file}:2:1: ")
    assert not migrated.has_table("days")


def test_a_table_can_be_rebuilt_while_others_refer_to_it(migrated: Migrated) -> None:
    migrated.write(
        "001_days.sql", f"{DAYS}\nCREATE TABLE views (day TEXT REFERENCES days);\nINSERT INTO days VALUES ('a');"
    )
    migrated.write("002_seed.sql", "INSERT INTO views VALUES ('a');")
    migrated.run()
    migrated.write(
        "003_rebuild.sql",
        "PRAGMA defer_foreign_keys = ON; CREATE TABLE kept AS SELECT * FROM days; DROP TABLE days;"
        "CREATE TABLE days (on_date TEXT PRIMARY KEY, note TEXT);"
        "INSERT INTO days SELECT on_date, 'kept' FROM kept; DROP TABLE kept;",
    )
    migrated.run()
    assert migrated.connection.execute("SELECT * FROM days JOIN views ON day = on_date", ()) == [
        {"on_date": "a", "note": "kept", "day": "a"}
    ]


def test_statements_are_told_apart_with_the_place_where_each_begins() -> None:
    script = f"-- first\nCREATE TABLE a (x);;\n\n  SELECT ';' AS \"b;\"; /* c;\n */ SELECT 2;\n{TRIGGER};\nSELECT 3"
    assert [(place(script, index), statement) for index, statement in statements(script)] == [
        ((1, 1), "-- first\nCREATE TABLE a (x);"),
        ((4, 3), "SELECT ';' AS \"b;\";"),
        ((4, 23), "/* c;\n */ SELECT 2;"),
        ((6, 1), f"{TRIGGER};"),
        ((10, 1), "SELECT 3"),
    ]


def test_a_script_of_nothing_has_no_statements() -> None:
    assert list(statements(" \n;;\n ; ")) == []


pieces = st.sampled_from(["';'", '";"', "/* ; */", "-- ;\n", "1", "a", "\n", "  "])
expressions = st.lists(pieces, max_size=4).map(lambda parts: f"SELECT {' '.join(parts)} \n NULL")
triggers = st.just(TRIGGER)


def without_space(text: str) -> str:
    return "".join(text.split())


@given(st.lists(expressions | triggers), st.sampled_from(["", "\n", "  -- ; end\n"]))
def test_whatever_statements_are_joined_they_come_apart_again(written: list[str], between: str) -> None:
    script = "".join(f"{statement};{between}" for statement in written)
    found = list(statements(script))
    assert without_space("".join(statement for _line, statement in found)) == without_space(script)
    for index, statement in found:
        assert script.startswith(statement, index)
    assert sum(statement.endswith(("NULL;", "END;")) for _line, statement in found) == len(written)
