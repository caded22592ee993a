"""The suite of stores on Postgres behind a pooler in transaction mode, and a worker that hears nothing there."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from melee.clock import ManualClock, SystemClock
from melee.jobs.postgres_store import PostgresStore
from melee.store.database import Database
from melee.store.postgres import PostgresConnection
from tests.conftest import write_app
from tests.melee.jobs.store_suite import Opened, Opening, StoreSuite
from tests.pgbouncer import pooled

APP = """
from melee import App, Job

app = App(__name__)


@app.jobs.register
class Note(Job):
    NAME = "note"
    number: int

    def run(self, resources):
        resources.db.run("INSERT INTO notes VALUES (?, now())", self.number)


@app.post("/<int:number>")
def note(number):
    with app.db.transaction():
        app.db.run("CREATE TABLE IF NOT EXISTS notes (number INTEGER, at timestamptz)")
        return [app.jobs.enqueue(Note(number=number))]
"""


@pytest.fixture(scope="module")
def pooler(postgres: str) -> Iterator[str]:
    with pooled(postgres) as url:
        yield url


@pytest.fixture
def pooled_url(pooler: str, postgres_url: str) -> str:
    return urlunsplit(urlsplit(pooler)._replace(path=urlsplit(postgres_url).path))


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def opening(pooled_url: str, clock: ManualClock) -> Opening:
    @contextmanager
    def open_one() -> Iterator[Opened]:
        with closing(PostgresConnection(pooled_url)) as connection:
            yield Opened(PostgresStore(connection, clock), Database(connection))

    return open_one


@pytest.fixture
def opened(opening: Opening) -> Iterator[Opened]:
    with opening() as one:
        one.store.create()
        yield one


class TestPooledStore(StoreSuite):
    pass


def test_the_pooler_hands_out_other_connections(opening: Opening) -> None:
    with opening() as one, opening() as other, one.database.transaction():
        sql = "SELECT pg_backend_pid() AS pid"
        held = one.database.query(sql)
        assert other.database.query(sql) != held
        assert other.database.query(sql) != held
