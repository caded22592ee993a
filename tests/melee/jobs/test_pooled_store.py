"""The suite of stores on Postgres behind a pooler in transaction mode, and a worker that hears nothing there."""

import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from melee.clock import ManualClock
from melee.jobs.postgres_store import PostgresStore
from melee.project import Project
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
        resources.db.query("SELECT pg_notify('notes', ?)", str(self.number))


@app.post("/<int:number>")
def note(number):
    with app.db.transaction():
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


@pytest.mark.slow
def test_a_worker_that_hears_nothing_looks_once_a_second(
    tmp_path: Path, postgres_url: str, pooled_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_app(tmp_path / "app", APP)
    monkeypatch.setenv("DATABASE_URL", pooled_url)
    client = Project.at(folder).load().app.test_client()
    with closing(PostgresConnection(postgres_url)) as listener, working(folder) as worker:
        listener.listen("notes")
        # The first waits for the worker to start, too.
        for number in (1, 2, 3):
            began_at = time.monotonic()
            assert client.post(f"/{number}").json == [True]
            assert select.select([listener], [], [], 60)[0]
            assert listener.has_news()
            assert number == 1 or time.monotonic() - began_at < 5
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0
        assert listener.own("SELECT count(*) AS left_over FROM melee_jobs") == [{"left_over": 0}]


@contextmanager
def working(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-m", "melee.jobs", folder]) as worker:
        try:
            yield worker
        finally:
            worker.kill()
