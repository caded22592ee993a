"""Tests for `melee.jobs.link`: backing off, and when it asks for news."""

import selectors
from collections.abc import Iterator
from pathlib import Path

import pytest

from melee.clock import ManualClock
from melee.errors import DatabaseError, DatabaseUnreachable
from melee.jobs.bell import SqliteBell
from melee.jobs.link import Link
from melee.jobs.opened import Opened
from melee.jobs.sqlite_store import SqliteStore
from melee.jobs.store import NewJob
from melee.store.connection import Connection
from melee.store.database import Database


class Somewhere:
    """A database that can be reached or not."""

    def __init__(self, path: Path, clock: ManualClock) -> None:
        self.is_there, self.opened = True, 0
        self._path, self._clock = path, clock

    def open(self) -> Opened:
        if not self.is_there:
            raise DatabaseUnreachable("", "the test says so")
        self.opened += 1
        connection = Connection(self._path)
        store = SqliteStore(Database(connection), self._clock)
        store.create()
        return Opened(store, SqliteBell(connection), connection.close)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def somewhere(tmp_path: Path, clock: ManualClock) -> Somewhere:
    return Somewhere(tmp_path / "app.sqlite3", clock)


@pytest.fixture
def link(somewhere: Somewhere, clock: ManualClock) -> Iterator[Link]:
    with selectors.DefaultSelector() as selector:
        link = Link(somewhere.open, selector, clock)
        yield link
        link.close()


def test_it_waits_longer_after_each_failure_up_to_ten_seconds(
    link: Link, somewhere: Somewhere, clock: ManualClock
) -> None:
    somewhere.is_there = False
    pauses = []
    for _try in range(8):
        with pytest.raises(DatabaseUnreachable) as failed:
            link.store()
        link.fail(failed.value)
        pauses.append(round(link.next_at - clock.elapsed(), 1))
        assert link.store() is None
        clock.move(pauses[-1])
    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10]
    somewhere.is_there = True
    assert link.store()
    link.works()
    link.fail(DatabaseError("", "once more"))
    assert round(link.next_at - clock.elapsed(), 1) == 0.2
    assert not link.is_open


def test_at_the_end_it_does_not_wait(link: Link, somewhere: Somewhere) -> None:
    link.fail(DatabaseError("", "no"))
    assert link.store() is None
    assert link.store(at_once=True)
    assert somewhere.opened == 1


def test_there_is_news_after_it_opened_and_when_another_has_written(
    link: Link, somewhere: Somewhere, clock: ManualClock
) -> None:
    assert not link.has_news()
    link.store()
    assert link.has_news()
    assert not link.has_news()
    other = somewhere.open()
    other.store.insert([NewJob("mail", "{}")])
    assert not link.has_news()
    clock.move(0.02)
    assert link.has_news()
    clock.move(0.02)
    assert not link.has_news()
    other.close()
