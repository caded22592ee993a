"""The jobs of `melee dev`: a thread of its process runs them, one at a time."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import click

from melee.clock import SystemClock
from melee.errors import DatabaseError
from melee.jobs.__main__ import stations_of
from melee.jobs.in_process import InProcess
from melee.jobs.opened import open_jobs
from melee.jobs.queue import Jobs
from melee.project import Project
from melee.words import visible

_LOOK_SECONDS = 0.1
_RETRY_SECONDS = 5.0
_GRACE_SECONDS = 3


@contextmanager
def working(project: Project, app: Any) -> Iterator[None]:
    """Inside, the jobs of a loaded app run when they are due, see `InProcess`.

    The end waits for a job that is running, but not for ever: it is queued again then.
    """
    jobs = getattr(app, "jobs", None)
    stations = stations_of(jobs, project.config.jobs) if isinstance(jobs, Jobs) and jobs.classes else []
    if not stations:
        yield
        return
    work = _Work(project, app, [queue for queues, _executors in stations for queue in queues])
    work.start()
    try:
        yield
    finally:
        work.stop()


class _Work(threading.Thread):
    def __init__(self, project: Project, app: Any, queues: list[str]) -> None:
        super().__init__(daemon=True)
        self._project, self._app, self._queues = project, app, queues
        self._clock = SystemClock()
        self._stopping = threading.Event()
        self._jobs: InProcess

    def run(self) -> None:
        self._jobs = InProcess(self._app, self._queues, self._clock)
        while not self._stopping.is_set():
            try:
                self._work_on_a_connection()
            except DatabaseError as error:
                # Postgres is not there, say, or the disk is full: shown, and tried again.
                click.echo(f"melee: looking for due jobs failed: {visible(str(error))}", err=True)
                self._stopping.wait(_RETRY_SECONDS)

    def stop(self) -> None:
        self._stopping.set()
        self.join(_GRACE_SECONDS)
        if self.is_alive() and (claim := self._jobs.claim):
            click.echo(f"job {visible(claim.name)} is still running; it is cut off, and queued again", err=True)
            # If that cannot be written, its lease ends soon.
            with suppress(DatabaseError), closing(open_jobs(self._project, self._clock)) as opened:
                opened.store.release([claim])

    def _work_on_a_connection(self) -> None:
        """Runs what is due: at once when there is something new, and otherwise once a second."""
        with closing(open_jobs(self._project, self._clock)) as opened:
            look_at = 0.0
            while not self._stopping.is_set():
                if opened.bell.rings() or self._clock.elapsed() >= look_at:
                    while not self._stopping.is_set() and self._jobs.run_next(opened.store):
                        pass
                    look_at = self._clock.elapsed() + 1
                self._stopping.wait(_LOOK_SECONDS)
