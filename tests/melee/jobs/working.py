"""A job worker as a server starts it, on either store, and what its jobs tell the test."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from melee.clock import SystemClock
from melee.jobs.postgres_store import PostgresStore
from melee.jobs.sqlite_store import SqliteStore
from melee.jobs.store import NewJob, Stats, Store, StoredJob
from melee.store.connection import Connection
from melee.store.database import Database
from melee.store.postgres import PostgresConnection
from tests.melee.gate import WAIT_AT

SECONDS_AT_MOST = 60

PRELUDE = (
    WAIT_AT
    + '''
import asyncio
import os
import signal
import socket
import subprocess
import sys
import time

from melee import App, Job

app = App(__name__)


def tell(*words):
    """Says something to the test."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as teller:
        teller.sendto(" ".join(map(str, words)).encode(), EAR)


@app.jobs.register
class Note(Job):
    NAME = "note"
    text: str

    def run(self, resources):
        tell(self.text)


@app.jobs.register
class Wait(Job):
    """Says when it begins, waits at the gate, and says when it ends."""

    NAME = "wait"
    gate: str
    text: str = ""

    def run(self, resources):
        tell("began", self.text, os.getpid())
        wait_at(self.gate)
        tell("ended", self.text)


@app.jobs.register
class Quick(Job):
    NAME = "quick"

    def run(self, resources):
        pass
'''
)


class Ear:
    """Hears what jobs tell."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.settimeout(SECONDS_AT_MOST)
        self._socket.bind(self.path)

    def next(self) -> str:
        return self._socket.recv(65536).decode()

    def next_words(self) -> list[str]:
        return self.next().split()

    def several(self, count: int) -> list[str]:
        return [self.next() for _ in range(count)]

    def has_heard(self) -> bool:
        return bool(select.select([self._socket], [], [], 0)[0])

    def close(self) -> None:
        self._socket.close()


@dataclass
class Place:
    """An app and its database.

    Attributes:
        url: of Postgres; empty for SQLite.
    """

    folder: Path
    url: str
    ear: Ear

    def write_app(self, source: str = "", settings: str = "") -> None:
        self.folder.mkdir(exist_ok=True)
        (self.folder / "app.py").write_text(f"EAR = {self.ear.path!r}\n" + PRELUDE + source)
        (self.folder / "melee.toml").write_text(settings)

    @property
    def environment(self) -> dict[str, str]:
        given = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        return given | ({"DATABASE_URL": self.url} if self.url else {})

    @contextmanager
    def opened(self) -> Iterator[Store]:
        """The store, on a connection of its own."""
        (self.folder / "data").mkdir(exist_ok=True)
        store: Store
        if self.url:
            connection = PostgresConnection(self.url)
            store, close = PostgresStore(connection, SystemClock()), connection.close
        else:
            file = Connection(self.folder / "data" / "app.sqlite3")
            store, close = SqliteStore(Database(file), SystemClock()), file.close
        try:
            store.create()
            yield store
        finally:
            close()

    def enqueue(self, name: str, copies: int = 1, **fields: Any) -> None:
        """Stores a job, or so many; `fields` whose names begin with `_` are columns, the others its payload."""
        payload = {key: value for key, value in fields.items() if not key.startswith("_")}
        columns = {key[1:]: value for key, value in fields.items() if key.startswith("_")}
        with self.opened() as store:
            store.insert([NewJob(name, json.dumps(payload), **columns)] * copies)

    def run_sql(self, sql: str, *parameters: Any) -> list[dict[str, Any]]:
        with self.opened() as store:
            database: Database = store._database  # type: ignore[attr-defined]
            return database.query(sql, *parameters)

    def stats(self) -> Stats:
        with self.opened() as store:
            every = store.per_name().values()
        return Stats(sum(s.queued for s in every), sum(s.running for s in every), sum(s.failed for s in every))

    def jobs(self) -> list[StoredJob]:
        """Those that run, wait or have failed."""
        with self.opened() as store:
            return [*store.waiting(None, 1000), *store.failed(1000)]

    def job(self, name: str) -> StoredJob:
        return next(job for job in self.jobs() if job.name == name)

    @contextmanager
    def locking_rows(self) -> Iterator[None]:
        """Inside, nobody else can change the jobs that are in Postgres now."""
        connection = PostgresConnection(self.url)
        connection.control("BEGIN")
        connection.own("SELECT id FROM melee_jobs FOR UPDATE")
        try:
            yield
        finally:
            connection.close()

    def listeners(self) -> int:
        """How many connections listen in Postgres."""
        sql = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
        return len(self.run_sql(sql))

    def cut_connections(self, application: str = "melee", query: str = "%") -> int:
        """Has Postgres end the connections of others to this database whose last statement is like `query`."""
        sql = """
            SELECT pg_terminate_backend(pid, 10000) AS ended FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = ? AND query LIKE ?
        """
        connection = PostgresConnection(self.url)
        try:
            return sum(row["ended"] for row in connection.execute(sql, (application, query)))
        finally:
            connection.close()


class Working:
    """A worker process, killed at the end of the block if need be.

    Attributes:
        output: where its log goes, and that of its executors.
    """

    def __init__(self, place: Place, *options: str, lease: float = 30, grace: float = 30) -> None:
        self._place = place
        self.output = place.folder.with_name(f"{place.folder.name}-log-{time.monotonic_ns()}")
        command = [sys.executable, "-m", "melee.jobs", str(place.folder), "--parent", str(os.getpid())]
        command += ["--grace", str(grace), "--lease", str(lease), *options]
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(command, env=place.environment, stdout=output, stderr=output)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        if error:
            error.add_note(self.output.read_text()[-10_000:])

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def exit_code(self) -> int:
        return self.process.wait(timeout=SECONDS_AT_MOST)

    def log(self) -> list[dict[str, Any]]:
        """Its lines so far."""
        lines = self.output.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def logged(self, words: str) -> list[dict[str, Any]]:
        """The lines with these words."""
        return [line for line in self.log() if words in line["event"]]


def until(is_so: Callable[[], object], what: str = "it", seconds: float = SECONDS_AT_MOST) -> None:
    """Returns when it is; for what a store says, which tells nobody."""
    ends_at = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < ends_at, f"{what} did not happen"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Whether there is such a process; one that has ended and was not reaped is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def is_done(place: Place) -> bool:
    return place.stats() == Stats(0, 0, 0)


def pids_below(pid: int) -> Sequence[int]:
    """The children of a process, and theirs."""
    children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [*children, *(below for child in children for below in pids_below(child))]
