"""A connection keeps the promises: what SQLite refuses comes in words, and an app cannot undo what melee set up."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import apsw
import pytest

from melee.errors import (
    ConstraintError,
    DatabaseError,
    DatabaseFull,
    DatabaseLocked,
    StatementRefused,
    WrongProcess,
)
from melee.store.connection import Connection
from melee.store.database import Database
from tests.melee.child import child_that
from tests.melee.failing_disk import FailingDisk


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    with closing(Connection(tmp_path / "app.sqlite3")) as opened:
        opened.own("CREATE TABLE _melee_secret (x)")
        opened.execute("CREATE TABLE days (on_date TEXT PRIMARY KEY, views INTEGER CHECK (views >= 0))", ())
        yield opened


def setting(connection: Connection, pragma: str) -> object:
    return next(iter(connection.own(f"PRAGMA {pragma}")[0].values()))


def test_a_commit_is_on_disk_when_it_returns(connection: Connection) -> None:
    assert setting(connection, "journal_mode") == "wal"
    assert setting(connection, "synchronous") == 2
    assert setting(connection, "foreign_keys") == 1


def test_durability_can_be_lowered_and_comes_back(connection: Connection) -> None:
    connection.set_durable(False)
    assert setting(connection, "synchronous") == 1
    connection.set_durable(True)
    assert setting(connection, "synchronous") == 2


def test_closing_leaves_one_file_with_everything_in_it(tmp_path: Path) -> None:
    with closing(Connection(tmp_path / "a.sqlite3")) as connection:
        connection.execute("CREATE TABLE a (x)", ())
    assert [file.name for file in tmp_path.iterdir()] == ["a.sqlite3"]


def test_a_file_in_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "a.sqlite3"
    with pytest.raises(DatabaseError, match=f"cannot open {path}: "):
        Connection(path)


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite3"
    path.write_bytes(b"not a database " * 100)
    with pytest.raises(DatabaseError, match=f"cannot open {path}: .*file is not a database"):
        Connection(path)


def test_a_read_only_connection_reads_and_refuses_to_write(connection: Connection) -> None:
    connection.execute("INSERT INTO days VALUES ('2030-01-01', 1)", ())
    with closing(Connection(connection.path, read_only=True)) as reader:
        assert reader.execute("SELECT views FROM days", ()) == [{"views": 1}]
        with pytest.raises(DatabaseError, match="readonly"):
            reader.execute("DELETE FROM days", ())


def test_a_read_only_connection_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="cannot open"):
        Connection(tmp_path / "a.sqlite3", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_syntax_error_says_which_statement(connection: Connection) -> None:
    with pytest.raises(DatabaseError) as caught:
        connection.execute("SELEKT 1", ())
    assert str(caught.value) == 'near "SELEKT": syntax error in: SELEKT 1'


@pytest.mark.parametrize("broken", ["INSERT INTO days VALUES ('a', 1)", "INSERT INTO days VALUES ('b', -1)"])
def test_a_broken_constraint_is_an_error_of_its_own(connection: Connection, broken: str) -> None:
    connection.execute("INSERT INTO days VALUES ('a', 1)", ())
    with pytest.raises(ConstraintError, match=r"constraint failed: .* in: INSERT"):
        connection.execute(broken, ())


@pytest.mark.parametrize("value", [object(), 2**63, {"a": 1}, [1], "\ud800"])
def test_a_value_that_sqlite_has_no_type_for_is_refused(connection: Connection, value: object) -> None:
    with pytest.raises(DatabaseError, match="pass None, bool, int"):
        connection.execute("INSERT INTO days VALUES (?, ?)", ("a", value))
    assert connection.execute("SELECT * FROM days", ()) == []


def test_parameters_that_do_not_fit_the_statement_are_refused(connection: Connection) -> None:
    with pytest.raises(DatabaseError, match="in: SELECT \\?"):
        connection.execute("SELECT ? AS a", ())
    with pytest.raises(DatabaseError, match="the dict of parameters has no 'a' in: SELECT :a"):
        connection.execute("SELECT :a AS a", ({"b": 1},))


def test_two_columns_of_one_name_are_refused_rather_than_lost(connection: Connection) -> None:
    with pytest.raises(
        DatabaseError, match=r"two columns have one name in \['x', 'x'\]; give one another name with AS"
    ):
        connection.execute("SELECT 1 AS x, 2 AS x", ())


BY_HAND = ["BEGIN", "BEGIN IMMEDIATE", "COMMIT", "END", "ROLLBACK", "SAVEPOINT a", "RELEASE a", "ROLLBACK TO a"]
BEYOND = ["ATTACH 'other.sqlite3' AS other", "DETACH other", "VACUUM", "VACUUM INTO 'copy.sqlite3'"]
SETTINGS = ["synchronous = OFF", "journal_mode = DELETE", "foreign_keys = OFF", "writable_schema = 1", "user_version"]
OURS = [
    "SELECT * FROM _melee_secret",
    "SELECT * FROM (SELECT x FROM _MELEE_Secret)",
    "INSERT INTO _melee_secret VALUES (1)",
    "UPDATE _melee_secret SET x = 1",
    "DELETE FROM _melee_secret",
    "DROP TABLE _melee_secret",
    "ALTER TABLE _melee_secret RENAME TO mine",
    "CREATE TABLE _melee_mine (x)",
    "CREATE INDEX _melee_index ON days (views)",
    "CREATE TRIGGER spy AFTER INSERT ON _melee_secret BEGIN SELECT 1; END",
    "INSERT INTO days SELECT x, 1 FROM _melee_secret",
]


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        *((statement, "by hand is refused; use `with storage.transaction():`") for statement in BY_HAND),
        *((statement, "ATTACH, DETACH and VACUUM reach past the one database") for statement in BEYOND),
        *((f"PRAGMA {name}", f"PRAGMA {name.split()[0]} is refused, since the settings keep") for name in SETTINGS),
        *((statement, "tables that begin with _melee_ are melee's own; choose another name") for statement in OURS),
    ],
)
def test_what_melee_keeps_for_itself_is_refused(connection: Connection, statement: str, says: str) -> None:
    with pytest.raises(StatementRefused) as caught:
        connection.execute(statement, ())
    assert says in caught.value.problem
    assert caught.value.statement == statement
    assert connection.own("SELECT * FROM _melee_secret") == []
    assert not connection.in_transaction


@pytest.mark.parametrize("statement", ["BEGIN", "COMMIT", "SELECT * FROM _melee_secret", "PRAGMA synchronous"])
@pytest.mark.parametrize("behind", ["", " -- melee"])
def test_a_statement_is_refused_also_after_melee_itself_ran_the_same_text(
    connection: Connection, statement: str, behind: str
) -> None:
    for _ in range(2):
        connection.begin()
        connection.own("SELECT * FROM _melee_secret")
        connection.own("PRAGMA synchronous")
        connection.commit()
    with pytest.raises(StatementRefused):
        connection.execute(statement + behind, ())
    connection.begin()
    connection.rollback()


def test_a_view_or_trigger_of_the_app_is_no_way_around(connection: Connection) -> None:
    connection.execute("CREATE VIEW spy AS SELECT * FROM _melee_secret", ())
    connection.execute("CREATE TRIGGER t AFTER INSERT ON days BEGIN DELETE FROM _melee_secret; END", ())
    with pytest.raises(StatementRefused):
        connection.execute("SELECT * FROM spy", ())
    with pytest.raises(StatementRefused):
        connection.execute("INSERT INTO days VALUES ('a', 1)", ())


def test_a_pragma_that_only_reads_is_allowed(connection: Connection) -> None:
    assert [row["name"] for row in connection.execute("PRAGMA table_info(days)", ())] == ["on_date", "views"]
    assert connection.execute("PRAGMA integrity_check", ()) == [{"integrity_check": "ok"}]


def test_a_table_for_full_text_search_can_be_written_and_searched(connection: Connection) -> None:
    connection.execute("CREATE VIRTUAL TABLE search USING fts5 (name)", ())
    for name in ("green tea", "a pot"):
        connection.execute("INSERT INTO search (name) VALUES (?)", (name,))
    connection.execute("DELETE FROM search WHERE rowid = 2", ())
    assert connection.execute("SELECT name FROM search WHERE search MATCH 'tea'", ()) == [{"name": "green tea"}]


def test_an_error_in_a_statement_of_melee_shows_the_statement_as_it_was_written(connection: Connection) -> None:
    with pytest.raises(DatabaseError) as caught:
        connection.own("SELECT * FROM _melee_nothing")
    assert str(caught.value) == "no such table: _melee_nothing in: SELECT * FROM _melee_nothing"


def test_a_database_that_another_process_holds_is_locked_not_broken(connection: Connection) -> None:
    connection._sqlite.set_busy_timeout(0)
    with (
        closing(Connection(connection.path)) as other,
        Database(other).transaction(),
        pytest.raises(DatabaseLocked, match="database is locked in: INSERT"),
    ):
        connection.execute("INSERT INTO days VALUES ('a', 1)", ())
    connection.execute("INSERT INTO days VALUES ('a', 1)", ())


@pytest.mark.parametrize(
    "use",
    [
        lambda connection: connection.execute("SELECT 1 AS a", ()),
        lambda connection: connection.own("SELECT 1 AS a"),
        lambda connection: connection.begin(),
        lambda connection: connection.set_durable(False),
        lambda connection: connection.back_up(connection.path.with_suffix(".copy")),
        lambda connection: connection.close(),
        lambda connection: Database(connection).run("DELETE FROM days"),
    ],
    ids=["execute", "own", "begin", "set_durable", "back_up", "close", "run"],
)
def test_a_connection_carried_over_a_fork_refuses_every_use_and_names_both_processes(
    connection: Connection, use: Callable[[Connection], None]
) -> None:
    def refused() -> None:
        with pytest.raises(WrongProcess, match=f"opened by process {os.getppid()} and used by {os.getpid()}"):
            use(connection)

    with child_that(refused):
        pass
    assert connection.execute("SELECT count(*) AS n FROM days", ()) == [{"n": 0}]


def test_a_backup_holds_what_is_still_in_the_wal(connection: Connection, tmp_path: Path) -> None:
    connection.execute("INSERT INTO days VALUES ('a', 1)", ())
    assert Path(f"{connection.path}-wal").stat().st_size > 0
    copy = tmp_path / "copy.sqlite3"
    connection.back_up(copy)
    alone = tmp_path / "alone"
    alone.mkdir()
    copy.rename(alone / "copy.sqlite3")
    with closing(sqlite3.connect(alone / "copy.sqlite3")) as opened:
        assert opened.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert opened.execute("SELECT * FROM days").fetchall() == [("a", 1)]
    assert [file.name for file in alone.iterdir()] == ["copy.sqlite3"]


def test_a_backup_that_cannot_be_written_names_both_files(connection: Connection, tmp_path: Path) -> None:
    target = tmp_path / "nowhere" / "copy.sqlite3"
    with pytest.raises(DatabaseError, match=f"cannot copy {connection.path} to {target}: "):
        connection.back_up(target)


def fill(database: Database, nested: bool, disk: FailingDisk, full_at: int) -> None:
    """Writes 160 kB in one transaction, on a disk that is full at one of its 40 statements."""
    with database.transaction():
        for number in range(40):
            if number == full_at:
                disk.fails_with = apsw.FullError
            with database.transaction() if nested else nullcontext():
                database.run("INSERT INTO kept VALUES (randomblob(4000))")


@pytest.mark.parametrize("full_at", [0, 1, 20, 39])
@pytest.mark.parametrize("nested", [False, True])
def test_a_full_disk_in_a_transaction_is_the_error_that_is_seen(tmp_path: Path, full_at: int, nested: bool) -> None:
    with FailingDisk.mounted() as disk, closing(Connection(tmp_path / "app.sqlite3")) as connection:
        database = Database(connection)
        # A cache of ten pages makes the transaction write to the disk before it commits.
        connection.own("PRAGMA cache_size = 10")
        database.run("CREATE TABLE kept (x)")
        database.run("INSERT INTO kept VALUES ('confirmed')")
        with pytest.raises(DatabaseFull, match=r"FullError in: (INSERT|COMMIT|RELEASE)"):
            fill(database, nested, disk, full_at)
        assert not connection.in_transaction
        disk.fails_with = None
        assert database.query("SELECT x FROM kept") == [{"x": "confirmed"}]
        with database.transaction():
            database.run("INSERT INTO kept VALUES ('again')")
        assert database.query("SELECT count(*) AS n FROM kept") == [{"n": 2}]


@pytest.mark.parametrize(
    ("sql", "marked"),
    [
        ("SELECT views,\n  vews FROM days", "vews"),
        ("SELECT 'é' AS é, vews FROM days", "vews"),
        ("SELECT views FORM days", "days"),
        # SQLite names these, and does not say where they are.
        ("SELECT 'dais' /* dais */ FROM dais -- dais", "dais --"),
        ("UPDATE days SET views_vews = 1, vews = 2", "views_vews"),
        ("INSERT INTO days (on_date, vews) VALUES ('vews', 1)", "vews)"),
        ("SELECT 1 FROM days JOIN days AS d ON views = 1", "views = 1"),
    ],
)
def test_an_error_says_where_in_the_statement_it_is(connection: Connection, sql: str, marked: str) -> None:
    for refuses in (lambda: connection.execute(sql, ()), lambda: connection.prepare(sql)):
        with pytest.raises(DatabaseError) as caught:
            refuses()
        assert sql[caught.value.position :].startswith(marked)


@pytest.mark.parametrize("sql", ["SELECT * FROM days WHERE", "INSERT INTO days VALUES ('x', 1)"])
def test_an_error_that_is_nowhere_in_particular_is_at_the_beginning(connection: Connection, sql: str) -> None:
    connection.execute("INSERT INTO days VALUES ('x', 1)", ())
    with pytest.raises(DatabaseError) as caught:
        connection.execute(sql, ())
    assert caught.value.position == 0


def test_what_is_prepared_does_not_run(connection: Connection) -> None:
    assert connection.prepare("INSERT INTO days VALUES (?, :views)") == (None, "views")
    assert connection.prepare("CREATE TABLE more (x)") == ()
    assert connection.execute("SELECT * FROM days", ()) == []
    with pytest.raises(DatabaseError, match="no such table: more"):
        connection.prepare("SELECT * FROM more")


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("BEGIN", StatementRefused),
        ("ATTACH 'a' AS a", StatementRefused),
        ("PRAGMA journal_mode = OFF", StatementRefused),
        ("SELECT * FROM _melee_secret", StatementRefused),
        ("SELECT views AS a, on_date AS a FROM days", DatabaseError),
        ("SELECT 'a", DatabaseError),
        ("SELECT '\ud83d'", DatabaseError),
    ],
)
def test_what_would_be_refused_is_refused_in_the_same_words_before_it_runs(
    connection: Connection, sql: str, kind: type[DatabaseError]
) -> None:
    connection.execute("INSERT INTO days VALUES ('x', 1)", ())
    with pytest.raises(kind) as executed:
        connection.execute(sql, ())
    with pytest.raises(kind) as prepared:
        connection.prepare(sql)
    assert str(prepared.value).startswith(executed.value.problem.partition(";")[0])
