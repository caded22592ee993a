"""The suite of stores on SQLite."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from melee.clock import ManualClock
from melee.jobs.sqlite_store import SqliteStore
from melee.store.connection import Connection
from melee.store.database import Database
from tests.melee.jobs.store_suite import Opened, Opening, StoreSuite


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def opening(tmp_path: Path, clock: ManualClock) -> Opening:
    @contextmanager
    def open_one() -> Iterator[Opened]:
        connection = Connection(tmp_path / "app.sqlite3")
        try:
            database = Database(connection)
            yield Opened(SqliteStore(database, clock), database)
        finally:
            connection.close()

    return open_one


@pytest.fixture
def opened(opening: Opening) -> Iterator[Opened]:
    with opening() as one:
        one.store.create()
        yield one


class TestSqliteStore(StoreSuite):
    pass
