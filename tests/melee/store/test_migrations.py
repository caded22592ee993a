"""Migrations run in order, each file whole or not at all, once."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from melee.errors import MigrationError
from melee.store.connection import Connection
from melee.store.database import Database
from melee.store.migrations import migrate, place, read_migrations, statements

DAYS = "CREATE TABLE days (on_date TEXT PRIMARY KEY);"
TRIGGER = """CREATE TRIGGER stamp AFTER INSERT ON days BEGIN
    INSERT INTO log VALUES ('a;b');  -- a comment; with a semicolon
    UPDATE log SET x = x;
END"""

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    folder = tmp_path / "db"
    folder.mkdir()

    def written(name: str, sql: str) -> Path:
        (folder / name).write_text(sql, encoding="utf-8")
        return folder / name

    return written


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    with closing(Connection(tmp_path / "app.sqlite3")) as opened:
        yield opened


def run(connection: Connection) -> None:
    migrate(connection, Database(connection), read_migrations(connection.path.parent / "db"))


def refusal(connection: Connection) -> str:
    with pytest.raises(MigrationError) as caught:
        run(connection)
    assert not connection.in_transaction
    return str(caught.value)


def tables(connection: Connection) -> set[str]:
    rows = connection.own("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {row["name"] for row in rows} - {"_melee_migrations"}


def ledger(connection: Connection) -> list[str]:
    if not connection.own("SELECT 1 FROM sqlite_master WHERE name = '_melee_migrations'"):
        return []
    return [row["name"] for row in connection.own("SELECT name FROM _melee_migrations ORDER BY number")]


def test_a_folder_that_does_not_exist_has_no_migrations(connection: Connection) -> None:
    run(connection)
    assert ledger(connection) == []


def test_files_run_in_the_order_of_their_numbers(connection: Connection, write: Write) -> None:
    write("1000_c.sql", "INSERT INTO a VALUES (3);")
    write("002_b.sql", "INSERT INTO a VALUES (2);")
    write("001_a.sql", "CREATE TABLE a (x); INSERT INTO a VALUES (1)")
    run(connection)
    assert ledger(connection) == ["001_a.sql", "002_b.sql", "1000_c.sql"]
    assert [row["x"] for row in connection.execute("SELECT x FROM a ORDER BY rowid", ())] == [1, 2, 3]


def test_what_ran_does_not_run_again(connection: Connection, write: Write) -> None:
    write("001_days.sql", DAYS)
    run(connection)
    run(connection)
    write("002_log.sql", "CREATE TABLE log (x);")
    run(connection)
    assert tables(connection) == {"days", "log"}


def test_a_failing_third_statement_takes_back_the_first_two_and_the_fixed_file_works(
    connection: Connection, write: Write
) -> None:
    write("001_days.sql", DAYS)
    file = write("002_log.sql", "CREATE TABLE log (x);\nCREATE TABLE more (y);\n\nCREATE  TABEL\n  broken (z);\n")
    assert refusal(connection) == f'{file}:4:9: near "TABEL": syntax error in: CREATE TABEL broken (z);'
    assert tables(connection) == {"days"}
    assert ledger(connection) == ["001_days.sql"]
    write("002_log.sql", "CREATE TABLE log (x);\nCREATE TABLE more (y);\nCREATE TABLE fixed (z);\n")
    run(connection)
    assert tables(connection) == {"days", "log", "more", "fixed"}


def test_a_file_that_was_edited_after_it_ran_is_refused(connection: Connection, write: Write) -> None:
    write("001_days.sql", DAYS)
    run(connection)
    file = write("001_days.sql", DAYS + " -- edited")
    problem = "it was edited after it ran; put it back as it was and write a new file for the change"
    assert refusal(connection) == f"{file}: {problem}"
    write("001_days.sql", DAYS)
    run(connection)


def test_a_file_whose_line_ends_changed_is_the_same(connection: Connection, write: Write) -> None:
    file = write("001_days.sql", "CREATE TABLE a (x);\nCREATE TABLE b (x);\n")
    run(connection)
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    run(connection)


def test_a_file_that_was_removed_after_it_ran_is_missed(connection: Connection, write: Write) -> None:
    file = write("001_days.sql", DAYS)
    run(connection)
    file.unlink()
    assert refusal(connection) == f"001_days.sql: it ran on {connection.path} and is gone; put the file back"


def test_a_lower_number_that_comes_later_is_refused(connection: Connection, write: Write) -> None:
    write("003_days.sql", DAYS)
    run(connection)
    file = write("002_log.sql", "CREATE TABLE log (x);")
    assert refusal(connection) == f"{file}: number 3 ran before it on {connection.path}; give it a higher number"


@pytest.mark.parametrize("name", ["01_days.sql", "days.sql", "001-days.sql", "001_Days.sql", "001_.sql", "001_a b.sql"])
def test_a_name_that_is_no_migrations_name_is_refused(connection: Connection, write: Write, name: str) -> None:
    file = write(name, DAYS)
    assert refusal(connection) == f"{file}: a migration is named NNN_what.sql, such as 001_days.sql; rename it"


def test_two_files_of_one_number_are_refused(connection: Connection, write: Write) -> None:
    write("001_days.sql", DAYS)
    file = write("0001_log.sql", "CREATE TABLE log (x);")
    other = file.with_name("001_days.sql")
    assert refusal(connection) in {
        f"{file}: 001_days.sql has the same number; give it the next one",
        f"{other}: 0001_log.sql has the same number; give it the next one",
    }
    assert tables(connection) == set()


def test_a_file_that_is_not_utf_8_is_named(connection: Connection, write: Write) -> None:
    file = write("001_days.sql", "")
    file.write_bytes("CREATE TABLE é (x)".encode("latin-1"))
    assert refusal(connection) == f"{file}: it is not UTF-8 (invalid continuation byte at byte 13); save it as UTF-8"


def test_a_file_in_utf_16_is_named(connection: Connection, write: Write) -> None:
    file = write("001_days.sql", "")
    file.write_bytes(DAYS.encode("utf-16-le"))
    assert refusal(connection) == f"{file}: it holds NUL characters, as UTF-16 does; save it as UTF-8"


def test_a_mark_that_some_editors_write_first_is_no_part_of_the_sql(connection: Connection, write: Write) -> None:
    write("001_days.sql", "\ufeff" + DAYS)
    run(connection)
    assert tables(connection) == {"days"}


def test_a_trigger_with_semicolons_in_it_is_one_statement(connection: Connection, write: Write) -> None:
    write("001_days.sql", f"{DAYS}\nCREATE TABLE log (x);\n{TRIGGER};\nINSERT INTO days VALUES ('x')")
    run(connection)
    assert connection.execute("SELECT x FROM log", ()) == [{"x": "a;b"}]


@pytest.mark.parametrize("by_hand", ["BEGIN", "COMMIT", "ATTACH 'a' AS a", "PRAGMA journal_mode = OFF"])
def test_a_migration_may_not_do_what_an_app_may_not(connection: Connection, write: Write, by_hand: str) -> None:
    file = write("001_days.sql", f"{DAYS}\n{by_hand};")
    assert refusal(connection).startswith(f"{file}:2:1: ")
    assert tables(connection) == set()


def test_a_table_can_be_rebuilt_while_others_refer_to_it(connection: Connection, write: Write) -> None:
    write("001_days.sql", f"{DAYS}\nCREATE TABLE views (day TEXT REFERENCES days);\nINSERT INTO days VALUES ('a');")
    write("002_seed.sql", "INSERT INTO views VALUES ('a');")
    run(connection)
    write(
        "003_rebuild.sql",
        "PRAGMA defer_foreign_keys = ON; CREATE TABLE kept AS SELECT * FROM days; DROP TABLE days;"
        "CREATE TABLE days (on_date TEXT PRIMARY KEY, note TEXT);"
        "INSERT INTO days SELECT on_date, 'kept' FROM kept; DROP TABLE kept;",
    )
    run(connection)
    assert connection.execute("SELECT * FROM days JOIN views ON day = on_date", ()) == [
        {"on_date": "a", "note": "kept", "day": "a"}
    ]


class _Arriving(Database):
    """Says when it is about to open a transaction."""

    def __init__(self, connection: Connection, arrived: Event) -> None:
        super().__init__(connection)
        self._arrived = arrived

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._arrived.set()
        with super().transaction():
            yield


def test_two_processes_that_migrate_at_once_run_each_file_once(connection: Connection, write: Write) -> None:
    write("001_days.sql", DAYS)
    files = read_migrations(connection.path.parent / "db")
    database, arrived = Database(connection), Event()
    with closing(Connection(connection.path)) as other, ThreadPoolExecutor() as pool:
        with database.transaction():
            # The other has read an empty ledger, and waits for the lock that this transaction holds.
            second = pool.submit(migrate, other, _Arriving(other, arrived), files)
            assert arrived.wait(10)
            migrate(connection, database, files)
        assert second.result() is None
        assert ledger(other) == ["001_days.sql"]


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
