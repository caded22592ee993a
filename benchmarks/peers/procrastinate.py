"""Procrastinate, as its documentation shows it: jobs in batches, a worker with concurrency, done jobs deleted."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from procrastinate import App, PsycopgConnector, SyncPsycopgConnector
from procrastinate.tasks import Task
from procrastinate.types import JSONValue

from benchmarks.marks import ran
from benchmarks.peers.processes import in_processes

CONCURRENCY = 4


@dataclass
class Procrastinate:
    """Procrastinate on a database in Postgres."""

    url: str
    name: str = "Procrastinate"
    worker: list[str] = field(init=False)
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.worker = ["-m", __name__, self.url]

    @contextmanager
    def client(self) -> Iterator["ProcrastinateClient"]:
        app = App(connector=SyncPsycopgConnector(conninfo=self.url, min_size=1, max_size=1))
        with app.open():
            client = ProcrastinateClient(app)
            if not client.query("SELECT 1 FROM pg_tables WHERE tablename = 'procrastinate_jobs'"):
                app.schema_manager.apply_schema()
            yield client


class ProcrastinateClient:
    def __init__(self, app: App) -> None:
        self._app = app
        self._mark = with_task(app)

    def query(self, sql: str) -> list[dict[str, object]]:
        return self._app.connector.get_sync_connector().execute_query_all(sql)

    def enqueue(self, sent_at: float) -> None:
        self._mark.defer(sent_at=sent_at)

    def enqueue_many(self, jobs: int) -> None:
        fields: dict[str, JSONValue] = {"sent_at": 0.0}
        self._mark.batch_defer(*[fields] * jobs)

    def is_empty(self) -> bool:
        return not self.query("SELECT 1 FROM procrastinate_jobs LIMIT 1")

    def clear(self) -> None:
        self._app.connector.get_sync_connector().execute_query("TRUNCATE procrastinate_jobs CASCADE")


def with_task(app: App) -> Task[..., object, ...]:
    async def mark(sent_at: float) -> None:
        ran(sent_at)

    return app.task(name="mark")(mark)


async def worked(url: str) -> None:
    app = App(connector=PsycopgConnector(conninfo=url))
    with_task(app)
    async with app.open_async():
        await app.run_worker_async(concurrency=CONCURRENCY, delete_jobs="always")


def work(url: str) -> None:
    asyncio.run(worked(url))


if __name__ == "__main__":
    in_processes(work, sys.argv[1])
