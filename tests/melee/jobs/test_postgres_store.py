"""The suite of stores on Postgres, and what only Postgres has."""

import select
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest

from melee.clock import ManualClock, SystemClock
from melee.errors import DatabaseUnreachable
from melee.jobs.bell import CHANNEL
from melee.jobs.postgres_store import PostgresStore
from melee.jobs.store import Stats
from melee.store.database import Database, Row
from melee.store.postgres import PostgresConnection
from tests.melee.jobs.store_suite import Interrupted, Opened, Opening, StoreSuite, each_use, mail


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def opening(postgres_url: str, clock: ManualClock) -> Opening:
    @contextmanager
    def open_one() -> Iterator[Opened]:
        with closing(PostgresConnection(postgres_url)) as connection:
            yield Opened(PostgresStore(connection, clock), Database(connection))

    return open_one


@pytest.fixture
def opened(opening: Opening) -> Iterator[Opened]:
    with opening() as one:
        one.store.create()
        yield one


class TestPostgresStore(StoreSuite):
    pass


class TenMinutesAhead(SystemClock):
    def now(self) -> float:
        return super().now() + 600


def test_a_worker_whose_clock_is_ahead_takes_no_live_lease(opened: Opened, postgres_url: str) -> None:
    with closing(PostgresConnection(postgres_url)) as connection:
        ahead, right = PostgresStore(connection, TenMinutesAhead()), PostgresStore(connection, SystemClock())
        right.insert([mail("1", in_seconds=300), mail("2")])
        (claim,) = Opened(right, opened.database).claim()
        assert ahead.reap() == []
        assert Opened(ahead, opened.database).claim() == []
        assert right.succeed([claim]) == 1


def test_a_listener_is_told_once_a_transaction_whatever_the_size(opened: Opened, postgres_url: str) -> None:
    with closing(PostgresConnection(postgres_url)) as listener:
        listener.listen(CHANNEL)
        with opened.database.transaction():
            opened.store.insert([mail("x" * 1_000_000), mail("2")])
            opened.store.insert([mail("3")])
            assert not listener.has_news()
        assert hears_news(listener)
        assert not listener.has_news()
    assert opened.stats() == Stats(3, 0, 0)


def test_who_waits_is_told_of_what_others_give_back(opened: Opened, clock: ManualClock, postgres_url: str) -> None:
    opened.store.insert([mail(key="a")])
    with closing(PostgresConnection(postgres_url)) as listener:
        listener.listen(CHANNEL)

        def fails() -> None:
            opened.fail(opened.claim()[0], again_in_seconds=0)

        def is_lost() -> None:
            opened.claim()
            clock.move(31)
            opened.store.reap()

        def fails_and_is_retried() -> None:
            opened.fail(opened.claim()[0])
            opened.store.retry_failed()

        def is_released() -> None:
            opened.store.release(opened.claim())

        for gives_back in (fails, is_released, is_lost, fails_and_is_retried):
            gives_back()
            assert hears_news(listener)


def test_a_job_is_stored_even_if_nobody_can_be_told(opened: Opened, postgres_url: str) -> None:
    with closing(PostgresConnection(postgres_url)) as connection:
        store = PostgresStore(connection, SystemClock())
        with Database(connection).transaction():
            store.insert([mail()])
        end_connection(opened.database, connection)
        with pytest.raises(DatabaseUnreachable):
            store.insert([mail()])
    assert opened.stats() == Stats(1, 0, 0)


def test_nobody_is_told_of_what_was_not_stored(opened: Opened, postgres_url: str) -> None:
    opened.store.insert([mail(key="a")])
    with closing(PostgresConnection(postgres_url)) as listener:
        listener.listen(CHANNEL)
        assert opened.store.insert([mail(key="a")]) == [False]
        with suppress(Interrupted), opened.database.transaction():
            opened.store.insert([mail("never")])
            raise Interrupted
        # What comes next is the first that is heard.
        opened.store.insert([mail("2")])
        assert hears_news(listener)
        assert not listener.has_news()


def hears_news(listener: PostgresConnection) -> bool:
    select.select([listener], [], [], 30)
    return listener.has_news()


def end_connection(database: Database, connection: PostgresConnection) -> None:
    """As an administrator does it, or a server that restarts."""
    pid = Database(connection).query("SELECT pg_backend_pid() AS pid")[0]["pid"]
    database.query("SELECT pg_terminate_backend(?, 10000)", pid)


def test_a_claim_outlives_the_connection_that_made_it(opened: Opened, postgres_url: str) -> None:
    opened.store.insert([mail(), mail()])
    with closing(PostgresConnection(postgres_url)) as connection:
        lost = PostgresStore(connection, SystemClock())
        claims = Opened(lost, Database(connection)).claim()
        end_connection(opened.database, connection)
        with pytest.raises(DatabaseUnreachable):
            lost.succeed(claims)
    assert opened.store.succeed(claims) == 2
    assert opened.store.succeed(claims) == 0


# Plans.

FILL = """
INSERT INTO melee_jobs (name, payload, is_due, due_at, status, failed_at)
SELECT 'mail', '{}', true, now(), 'queued', NULL::timestamptz FROM generate_series(1, 20000)
UNION ALL SELECT 'mail', '{}', false, '2031-01-01', 'queued', NULL FROM generate_series(1, 5000)
UNION ALL SELECT 'mail', '{}', false, now(), 'failed', now() FROM generate_series(1, 1000)
"""
FAILED = "INSERT INTO melee_jobs (name, payload, status) SELECT 'mail', '{}', 'failed' FROM generate_series(1, 20000)"
RUNNING = "UPDATE melee_jobs SET status = 'running', leased_until = 'infinity' WHERE id % 2 = 0"


class Recorded(PostgresConnection):
    """Remembers what was run."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.ran: list[tuple[str, tuple[Any, ...]]] = []

    def execute(self, sql: str, parameters: tuple[Any, ...]) -> list[Row]:
        self.ran.append((sql, parameters))
        return super().execute(sql, parameters)


@pytest.mark.parametrize(
    "steps",
    [
        [FILL],
        [FILL, "ANALYZE melee_jobs"],
        ["ANALYZE melee_jobs", FILL],
        [FAILED, "ANALYZE melee_jobs", FILL],
        [FILL, "ANALYZE melee_jobs", RUNNING],
        [FILL, RUNNING, "ANALYZE melee_jobs"],
    ],
    ids=["never", "now", "while_empty", "when_all_had_failed", "while_none_ran", "while_half_ran"],
)
def test_whatever_a_worker_does_goes_by_an_index_whenever_it_was_analyzed(
    opened: Opened, postgres_url: str, steps: list[str]
) -> None:
    opened.database.run("ALTER TABLE melee_jobs SET (autovacuum_enabled = off)")
    for step in steps:
        opened.database.run(step)
    with closing(Recorded(postgres_url)) as connection:
        for use in each_use(PostgresStore(connection, ManualClock())):
            for sql, parameters in connection.ran:
                (row,) = connection.own(f"EXPLAIN (FORMAT JSON) {sql}", *parameters)
                check_plan(row["QUERY PLAN"][0]["Plan"], f"{use}: {sql}")
            connection.ran.clear()


def check_plan(node: dict[str, Any], said: str) -> None:
    """No table is read from end to end, and nothing is sorted but the few that were found by an index already."""
    kind, below = node["Node Type"], node.get("Plans", [])
    assert kind != "Seq Scan", said
    if kind in ("Sort", "Incremental Sort"):
        assert "Limit" in kinds(node), said
    for one in below:
        check_plan(one, said)


def kinds(node: dict[str, Any]) -> set[str]:
    return {node["Node Type"]}.union(*(kinds(below) for below in node.get("Plans", [])))
