"""melee as a peer among others."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.peers.melee.app import Mark, app
from melee.project import Project

HERE = Path(__file__).parent


@dataclass
class Melee:
    """melee, with its jobs in `url`, or in a SQLite file in `data` when that is empty."""

    data: Path
    url: str = ""
    name: str = "melee"
    worker: list[str] = field(init=False)
    environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.worker = ["-m", "melee.jobs", str(HERE), "--data", str(self.data)]
        self.environment = {"DATABASE_URL": self.url}

    @property
    def project(self) -> Project:
        return Project.at(HERE, self.data)

    @contextmanager
    def client(self) -> Iterator["MeleeClient"]:
        app.project = self.project
        with self.as_environment(), app.app_context():
            yield MeleeClient()

    @contextmanager
    def as_environment(self) -> Iterator[None]:
        """Inside, connections are opened to the database of this one."""
        before = os.environ.get("DATABASE_URL")
        os.environ["DATABASE_URL"] = self.url
        try:
            yield
        finally:
            del os.environ["DATABASE_URL"]
            if before is not None:
                os.environ["DATABASE_URL"] = before


class MeleeClient:
    def enqueue(self, sent_at: float) -> None:
        app.jobs.enqueue(Mark(sent_at))

    def enqueue_many(self, jobs: int) -> None:
        app.jobs.enqueue_many([Mark(0) for _job in range(jobs)])

    def is_empty(self) -> bool:
        return not app.db.query("SELECT 1 AS one FROM melee_jobs LIMIT 1")

    def clear(self) -> None:
        app.db.run("TRUNCATE melee_jobs" if app.project.database_url else "DELETE FROM melee_jobs")
