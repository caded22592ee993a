"""The suite of stores on SQLite."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from melee.clock import ManualClock
from melee.jobs.sqlite_store import SqliteStore
from melee.store.connection import Connection
from melee.store.database import Database, Row
from tests.melee.jobs.store_suite import Opened, Opening, StoreSuite, each_use, mail


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


class Recorded(Connection):
    """Remembers what was run."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.ran: list[tuple[str, tuple[Any, ...]]] = []

    def execute(self, sql: str, parameters: tuple[Any, ...]) -> list[Row]:
        self.ran.append((sql, parameters))
        return super().execute(sql, parameters)


@pytest.mark.parametrize("is_analyzed", [False, True])
def test_whatever_a_worker_does_goes_by_an_index_and_sorts_nothing(
    opened: Opened, tmp_path: Path, is_analyzed: bool
) -> None:
    opened.store.insert([mail() for _ in range(1000)] + [mail(in_seconds=60) for _ in range(300)])
    if is_analyzed:
        opened.database.run("ANALYZE")
    with closing(Recorded(tmp_path / "app.sqlite3")) as connection:
        for use in each_use(SqliteStore(Database(connection), ManualClock())):
            for sql, parameters in [ran for ran in connection.ran if not ran[0].startswith(TRANSACTION)]:
                plan = [row["detail"] for row in connection.own(f"EXPLAIN QUERY PLAN {sql}", *parameters)]
                for step in plan:
                    assert "melee_jobs" not in step or " USING " in step, (use, sql, plan)
                    assert "TEMP B-TREE" not in step, (use, sql, plan)
            connection.ran.clear()


TRANSACTION = ("BEGIN", "COMMIT")
