"""PgQueuer with asyncpg, which its documentation uses, uvloop, which its own command does, and large batches."""

import asyncio
import signal
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.adapters.persistence.queries import Queries
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job

from benchmarks.marks import ran
from benchmarks.peers.processes import in_processes

DOUBLE = struct.Struct("d")
BATCH_SIZE = 100


@dataclass
class PgQueuerPeer:
    """PgQueuer on a database in Postgres."""

    url: str
    name: str = "PgQueuer"
    worker: list[str] = field(init=False)
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.worker = ["-m", __name__, self.url]

    @contextmanager
    def client(self) -> Iterator["PgQueuerClient"]:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            connection = runner.run(asyncpg.connect(self.url))
            client = PgQueuerClient(runner, AsyncpgDriver(connection))
            if not runner.run(client.queries.has_table("pgqueuer")):
                runner.run(client.queries.install())
            try:
                yield client
            finally:
                runner.run(connection.close())


class PgQueuerClient:
    def __init__(self, runner: asyncio.Runner, driver: AsyncpgDriver) -> None:
        self._runner, self._driver = runner, driver
        self.queries = Queries(driver)

    def enqueue(self, sent_at: float) -> None:
        self._runner.run(self.queries.enqueue("mark", DOUBLE.pack(sent_at)))

    def enqueue_many(self, jobs: int) -> None:
        self._runner.run(self.queries.enqueue(["mark"] * jobs, [DOUBLE.pack(0)] * jobs, [0] * jobs))

    def is_empty(self) -> bool:
        return not self._runner.run(self._driver.fetch("SELECT 1 FROM pgqueuer LIMIT 1"))

    def clear(self) -> None:
        self._runner.run(self._driver.execute("TRUNCATE pgqueuer, pgqueuer_log"))


async def worked(url: str) -> None:
    connection = await asyncpg.connect(url)
    queuer = PgQueuer(AsyncpgDriver(connection))

    @queuer.entrypoint("mark")
    async def mark(job: Job) -> None:
        ran(DOUBLE.unpack(job.payload or b"")[0])

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, queuer.shutdown.set)
    try:
        await queuer.run(batch_size=BATCH_SIZE)
    finally:
        await connection.close()


def work(url: str) -> None:
    uvloop.run(worked(url))


if __name__ == "__main__":
    in_processes(work, sys.argv[1])
