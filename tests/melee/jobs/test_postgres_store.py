"""The suite of stores on Postgres, and what only Postgres has."""

import select
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from melee.clock import ManualClock, SystemClock
from melee.jobs.bell import CHANNEL
from melee.jobs.postgres_store import PostgresStore
from melee.jobs.store import Stats
from melee.store.database import Database
from melee.store.postgres import PostgresConnection
from tests.melee.jobs.store_suite import Opened, Opening, StoreSuite, mail


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def opening(postgres_url: str, clock: ManualClock) -> Opening:
    @contextmanager
    def open_one() -> Iterator[Opened]:
        with closing(PostgresConnection(postgres_url)) as connection:
            database = Database(connection)
            yield Opened(PostgresStore(database, clock), database)

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


def test_a_worker_whose_clock_is_ahead_takes_no_live_lease(opened: Opened) -> None:
    ahead = PostgresStore(opened.database, TenMinutesAhead())
    right = PostgresStore(opened.database, SystemClock())
    right.insert([mail("1", in_seconds=300), mail("2")])
    (claim,) = Opened(right, opened.database).claim()
    assert ahead.reap() == []
    assert Opened(ahead, opened.database).claim() == []
    assert right.succeed([claim]) == 1


def test_a_listener_is_told_once_a_transaction_whatever_the_size(opened: Opened, postgres_url: str) -> None:
    with closing(PostgresConnection(postgres_url)) as listener:
        listener.listen(CHANNEL)
        assert not listener.has_news()
        with opened.database.transaction():
            opened.store.insert([mail("x" * 1_000_000), mail("2")])
            assert not listener.has_news()
        assert hears_news(listener)
        assert not listener.has_news()
    assert opened.stats() == Stats(2, 0, 0)


def test_nobody_is_told_of_what_was_not_stored(opened: Opened, postgres_url: str) -> None:
    opened.store.insert([mail(key="a")])
    with closing(PostgresConnection(postgres_url)) as listener:
        listener.listen(CHANNEL)
        assert opened.store.insert([mail(key="a")]) == [False]
        assert not listener.has_news()


def hears_news(listener: PostgresConnection) -> bool:
    select.select([listener], [], [], 30)
    return listener.has_news()
