"""Huey on SQLite with four processes; its file is flushed to the disk as melee's is, and looked at as often.

By default each process looks after 0.1 s, and when there is nothing again and again, ever later, up to 10 s.
"""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from huey import SqliteHuey
from huey.api import Huey

from benchmarks.marks import ran
from benchmarks.peers.processes import EXECUTORS
from melee.jobs.bell import SqliteBell

# All together as often as the one process of melee.
LOOK_SECONDS = EXECUTORS * SqliteBell.look_seconds


@dataclass
class HueyPeer:
    """Huey on a file in a folder."""

    folder: Path
    name: str = "Huey"
    worker: list[str] = field(init=False)
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.worker = ["-m", __name__, str(self.folder)]

    @contextmanager
    def client(self) -> Iterator["HueyClient"]:
        huey = opened(self.folder)
        try:
            yield HueyClient(huey)
        finally:
            huey.storage.close()


class HueyClient:
    def __init__(self, huey: Huey) -> None:
        self._huey = huey
        self._mark = huey.task(name="mark")(ran)

    def enqueue(self, sent_at: float) -> None:
        self._mark(sent_at)

    def enqueue_many(self, jobs: int) -> None:
        # It has no call for many, so this is what its own call for one does, in one transaction.
        storage = self._huey.storage
        rows = [(storage.name, self._huey.serialize_task(self._mark.s(0.0)), 0) for _job in range(jobs)]
        with storage.db(commit=True) as cursor:
            cursor.executemany("INSERT INTO task (queue, data, priority) VALUES (?, ?, ?)", rows)

    def is_empty(self) -> bool:
        return not self._huey.pending_count()

    def clear(self) -> None:
        self._huey.flush()


def opened(folder: Path) -> Huey:
    return SqliteHuey(filename=str(folder / "huey.sqlite3"), fsync=True, results=False)


def work(folder: Path) -> None:
    huey = opened(folder)
    huey.task(name="mark")(ran)
    consumer = huey.create_consumer(
        workers=EXECUTORS,
        worker_type="process",
        initial_delay=LOOK_SECONDS,
        max_delay=LOOK_SECONDS,
        periodic=False,
        graceful_signal="TERM",
    )
    consumer.run()


if __name__ == "__main__":
    # A shell that starts this in the background lets it ignore what the consumer listens for.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    work(Path(sys.argv[1]))
