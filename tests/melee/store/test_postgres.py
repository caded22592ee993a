"""The suite of databases on Postgres, and what only Postgres does: it can be lost, and gives up a transaction early."""

import os
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal

import psycopg
import pytest

from melee.errors import (
    BadConfig,
    ConstraintError,
    DatabaseError,
    DatabaseFull,
    DatabaseLocked,
    DatabaseUnreachable,
    StatementRefused,
    WrongProcess,
)
from melee.store.database import Database
from melee.store.postgres import PostgresConnection
from tests.melee.child import child_that
from tests.melee.store.database_suite import DatabaseSuite, days


@pytest.fixture
def connection(postgres_url: str) -> Iterator[PostgresConnection]:
    with closing(PostgresConnection(postgres_url)) as opened:
        Database(opened).run("CREATE TABLE days (on_date TEXT PRIMARY KEY NOT NULL, views INTEGER)")
        yield opened


@pytest.fixture
def db(connection: PostgresConnection) -> Database:
    return Database(connection)


@pytest.fixture
def other(postgres_url: str) -> Iterator[PostgresConnection]:
    with closing(PostgresConnection(postgres_url)) as opened:
        yield opened


class TestDatabaseOnPostgres(DatabaseSuite):
    pass


def end(connection: PostgresConnection, by: PostgresConnection) -> None:
    """As an administrator does it, or a server that restarts."""
    pid = connection.own("SELECT pg_backend_pid() AS pid")[0]["pid"]
    by.own("SELECT pg_terminate_backend(?, 10000)", pid)


def together(db: Database, *steps: str | Callable[[], object]) -> None:
    """Does all of it in one transaction."""
    with db.transaction():
        for step in steps:
            db.run(step) if isinstance(step, str) else step()


def fails(does: Callable[..., object], *arguments: object) -> None:
    with pytest.raises(ConstraintError):
        does(*arguments)


def raises() -> None:
    raise Interrupted


def heard(listener: PostgresConnection) -> bool:
    """Waits for what there is to hear."""
    while not listener.has_news():
        assert select.select([listener], [], [], 30)[0]
    return True


class Interrupted(Exception):
    pass


ONE = "INSERT INTO days VALUES ('a', 1)"


def test_values_come_out_as_they_went_in(db: Database) -> None:
    moment = datetime(2030, 1, 1, 12, tzinfo=UTC)
    for value in [None, True, -(2**63), 2**63 - 1, 2**70, 1.5, "é\n", b"\0\xff", moment, Decimal("1.10"), [1, 2]]:
        assert db.query("SELECT ? AS value", value) == [{"value": value}]


@pytest.mark.parametrize("value", [object(), "é\0", "\ud800", {1}])
def test_a_value_that_postgres_has_no_type_for_is_refused_and_the_connection_goes_on(
    db: Database, value: object
) -> None:
    with pytest.raises(DatabaseError, match=r"in: SELECT \?") as caught:
        db.query("SELECT ? AS value", value)
    assert type(caught.value) is DatabaseError
    assert days(db) == []


def test_a_statement_has_its_parameters_in_one_way(db: Database) -> None:
    with pytest.raises(DatabaseError, match="it has both \\? and named parameters; write all in one way"):
        db.query("SELECT ? + :a AS sum", {"a": 1})
    with pytest.raises(DatabaseError, match="it has named parameters, such as :a; pass one dict"):
        db.query("SELECT :a AS a", 1)
    assert db.query("SELECT '{\"a\": 1}'::jsonb ?? :key AS has, :key AS key", {"key": "a"}) == [
        {"has": True, "key": "a"}
    ]


@pytest.mark.parametrize(
    ("sql", "count"),
    [
        ("SELECT * FROM days", 0),
        ("SHOW server_version", 0),
        ("CREATE TABLE copied AS SELECT * FROM days", 0),
        ("INSERT INTO days SELECT on_date || 'x', 1 FROM days", 2),
        ("MERGE INTO days USING days AS d ON d.on_date = days.on_date WHEN MATCHED THEN UPDATE SET views = 0", 2),
        ("EXPLAIN SELECT 1", 0),
    ],
)
def test_run_counts_what_changed_and_not_what_was_read(db: Database, sql: str, count: int) -> None:
    db.run("INSERT INTO days VALUES ('a', 1), ('b', 2)")
    assert db.run(sql) == count


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SET search_path = other", "SET would hold for whoever has the connection next; use SET LOCAL"),
        ("RESET ALL", "RESET would hold for whoever has"),
        ("LISTEN melee_jobs", "LISTEN would hold for whoever has"),
        ("PREPARE TRANSACTION 'a'", "PREPARE by hand is refused"),
        ("COPY days FROM STDIN", "COPY to and from the client is refused"),
        ("COPY (SELECT 1) TO STDOUT", "COPY to and from the client is refused"),
    ],
)
def test_what_would_outlast_the_statement_is_refused(db: Database, sql: str, says: str) -> None:
    with pytest.raises(StatementRefused, match=says):
        db.run(sql)
    with db.transaction():
        db.run("SET LOCAL lock_timeout = '1s'")
    assert days(db) == []


@pytest.mark.parametrize(
    ("sql", "marked"),
    [
        ("SELECT views,\n  vews FROM days", "vews"),
        ("SELECT 'é' AS é, :long_name AS a, '{}'::jsonb ?? 'a' AS b, :long_name::text AS c, vews FROM days", "vews"),
        ("SELECT :long_name AS a FORM (days", "FORM"),
        ("SELECT * FROM dais", "dais"),
    ],
)
def test_an_error_says_where_in_the_statement_it_is(db: Database, sql: str, marked: str) -> None:
    with pytest.raises(DatabaseError) as caught:
        db.query(sql, {"long_name": "x"})
    assert sql[caught.value.position :].startswith(marked)


def test_a_transaction_in_which_a_statement_failed_is_not_taken_for_kept(db: Database) -> None:
    with pytest.raises(DatabaseError, match="nothing in this transaction is kept: an earlier statement in it failed"):
        together(db, ONE, lambda: fails(db.run, ONE))
    assert days(db) == []
    together(db, ONE, lambda: fails(together, db, ONE))
    assert days(db) == ["a"]


def test_after_a_statement_that_failed_the_next_one_says_what_to_do(db: Database) -> None:
    with pytest.raises(DatabaseError, match=r"of its own in: DELETE"):
        together(db, ONE, lambda: fails(db.run, ONE), "DELETE FROM days")


def test_what_another_connection_locks_is_locked_not_broken(db: Database, other: PostgresConnection) -> None:
    db.run("INSERT INTO days VALUES ('a', 1)")
    with Database(other).transaction():
        Database(other).run("UPDATE days SET views = 2")
        with pytest.raises(DatabaseLocked, match="lock timeout in: UPDATE"):
            together(db, "SET LOCAL lock_timeout = '1ms'", "UPDATE days SET views = 3")
        with pytest.raises(DatabaseLocked, match="could not obtain lock"):
            db.query("SELECT * FROM days FOR UPDATE NOWAIT")


def test_of_two_that_wait_for_each_other_one_is_told(db: Database, other: PostgresConnection) -> None:
    db.run("INSERT INTO days VALUES ('a', 1), ('b', 1)")
    met = threading.Barrier(2)
    ends: list[str] = []

    def update(database: Database, first: str, second: str) -> None:
        try:
            with database.transaction():
                database.run("UPDATE days SET views = 2 WHERE on_date = ?", first)
                met.wait(30)
                database.run("UPDATE days SET views = 2 WHERE on_date = ?", second)
            ends.append("done")
        except DatabaseLocked as error:
            ends.append(error.problem)

    threads = [
        threading.Thread(target=update, args=(db, "a", "b")),
        threading.Thread(target=update, args=(Database(other), "b", "a")),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ends) == ["deadlock detected", "done"]


def test_two_that_contradict_each_other_are_told_to_try_again(db: Database, other: PostgresConnection) -> None:
    db.run("INSERT INTO days VALUES ('a', 1)")
    with pytest.raises(DatabaseLocked, match="could not serialize access"):
        together(
            db,
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
            "SELECT * FROM days",
            lambda: Database(other).run("UPDATE days SET views = 2"),
            "UPDATE days SET views = 3",
        )


def test_a_full_disk_is_an_error_of_its_own(db: Database) -> None:
    # As Postgres says it; to fill the disk would hit the other tests.
    with pytest.raises(DatabaseFull, match="no space left"):
        db.run("DO $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = 'disk_full'; END $$")


def test_what_the_user_may_not_do_is_refused(db: Database) -> None:
    role = "melee_" + os.urandom(6).hex()
    db.run(f"CREATE ROLE {role}")
    try:
        with pytest.raises(StatementRefused, match="permission denied for table days"):
            together(db, f"SET LOCAL ROLE {role}", "DELETE FROM days")
    finally:
        db.run(f"DROP ROLE {role}")


# A connection that breaks.


def test_a_connection_that_broke_says_so_each_time(
    db: Database, connection: PostgresConnection, other: PostgresConnection
) -> None:
    end(connection, other)
    for _again in range(2):
        with pytest.raises(DatabaseUnreachable):
            db.query("SELECT 1 AS a")
    assert connection.is_broken
    assert not connection.in_transaction


@pytest.mark.parametrize("depth", [1, 2])
def test_a_connection_that_breaks_in_a_transaction_is_the_error_that_is_seen(
    db: Database, connection: PostgresConnection, other: PostgresConnection, depth: int
) -> None:
    def inside(level: int) -> None:
        with db.transaction():
            db.run("INSERT INTO days VALUES (?, 1)", str(level))
            if level:
                inside(level - 1)
            end(connection, other)
            db.run("DELETE FROM days")

    with pytest.raises(DatabaseUnreachable, match="terminating connection due to administrator command in: DELETE"):
        inside(depth - 1)
    assert Database(other).query("SELECT * FROM days") == []


def test_an_error_of_the_app_is_not_hidden_by_a_connection_that_broke(
    db: Database, connection: PostgresConnection, other: PostgresConnection
) -> None:
    with pytest.raises(Interrupted):
        together(db, ONE, lambda: end(connection, other), raises)
    assert connection.is_broken


def test_a_commit_that_does_not_arrive_is_an_error(
    db: Database, connection: PostgresConnection, other: PostgresConnection
) -> None:
    with pytest.raises(DatabaseUnreachable, match="in: COMMIT"):
        together(db, ONE, lambda: end(connection, other))


def test_a_listener_whose_connection_breaks_is_woken_and_told(
    connection: PostgresConnection, other: PostgresConnection
) -> None:
    connection.listen("news")
    end(connection, other)
    assert select.select([connection], [], [], 30)[0]
    with pytest.raises(DatabaseUnreachable):
        heard(connection)
    # Whoever waited on it still has to be able to say which one it was.
    assert connection.fileno() >= 0
    connection.close()
    connection.close()


# Notifications.


def test_a_notification_comes_after_the_commit_and_not_after_a_rollback(
    db: Database, connection: PostgresConnection, other: PostgresConnection
) -> None:
    other.listen("news")
    with pytest.raises(Interrupted):
        together(db, lambda: connection.notify("news"), raises)
    together(db, ONE)
    assert days(db) == ["a"]
    # What had been sent would be here with the answer.
    other.own("SELECT 1 AS a")
    assert not other.has_news()
    with db.transaction():
        with db.transaction():
            connection.notify("news")
        connection.notify("news")
        assert days(db) == ["a"]
        assert not other.has_news()
    assert heard(other)
    connection.notify("news")
    assert heard(other)
    assert not other.has_news()


def test_a_notification_that_came_with_a_statement_is_news(connection: PostgresConnection) -> None:
    connection.listen("news")
    connection.notify("news")
    connection.own("SELECT 1 AS a")
    assert connection.has_news()
    assert not connection.has_news()


# Who it belongs to.


@pytest.mark.parametrize(
    "use",
    [
        lambda connection: connection.execute("SELECT 1 AS a", ()),
        lambda connection: connection.own("SELECT 1 AS a"),
        lambda connection: connection.control("BEGIN"),
        lambda connection: connection.has_news(),
        lambda connection: connection.notify("news"),
        lambda connection: connection.close(),
        lambda connection: Database(connection).run("DELETE FROM days"),
    ],
    ids=["execute", "own", "control", "has_news", "notify", "close", "run"],
)
def test_a_connection_carried_over_a_fork_refuses_every_use_and_names_both_processes(
    connection: PostgresConnection, use: Callable[[PostgresConnection], None]
) -> None:
    def refused() -> None:
        with pytest.raises(WrongProcess, match=f"opened by process {os.getppid()} and used by {os.getpid()}"):
            use(connection)

    with child_that(refused):
        pass
    assert connection.execute("SELECT count(*) AS n FROM days", ()) == [{"n": 0}]


# What is shown of a URL.


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://somebody:s3cret@127.0.0.1:1/app",
        "postgresql://somebody:s3cret@127.0.0.1:1/app?sslmode=disable",
        "postgresql://somebody@127.0.0.1:1/app?password=s3cret",
    ],
)
def test_a_server_that_is_not_there_is_named_without_the_password(url: str) -> None:
    with pytest.raises(DatabaseUnreachable, match=r"postgresql://127\.0\.0\.1:1/app: ") as caught:
        PostgresConnection(url)
    assert "s3cret" not in "".join(map(str, [caught.value, repr(caught.value), caught.value.__cause__]))


@pytest.mark.parametrize(
    "url", ["postgresql://u:s3cret@[host/app", "postgresql://u:s3%cret@host/app", "postgresql://u:s3@cret:x@host/app?a"]
)
def test_a_url_that_cannot_be_read_is_not_repeated(url: str) -> None:
    with pytest.raises((BadConfig, DatabaseUnreachable)) as caught:
        PostgresConnection(url)
    assert "cret" not in str(caught.value)
    assert "cret" not in str(caught.value.__cause__)


def test_a_database_that_does_not_exist_is_named(postgres: str) -> None:
    with pytest.raises(DatabaseUnreachable, match='database "melee_nowhere" does not exist'):
        PostgresConnection(psycopg.conninfo.make_conninfo(postgres, dbname="melee_nowhere"))
