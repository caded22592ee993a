"""The jobs of an app as the page shows them, read on a connection of the console's own: no code of the app runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from melee.console.moments import Moment, Now
from melee.console.text import Text, text
from melee.jobs.queue import Jobs
from melee.jobs.store import Stats, Store, StoredJob
from melee.project import Project
from melee.web.app_database import AppConnection

KINDS_AT_MOST = 100
WAITING_AT_MOST = 10
FAILED_AT_MOST = 20


@dataclass(frozen=True)
class Kind:
    """How many jobs of one name there are; `is_known` when a registered class has that name."""

    name: Text
    is_known: bool
    stats: Stats


@dataclass(frozen=True)
class ShownJob:
    """One job; `due` is when it may run, of a failed one when it failed."""

    id: int
    name: Text
    is_known: bool
    queue: Text
    is_running: bool
    worker: Text
    due: Moment
    is_due: bool
    attempts: int
    max_attempts: int
    error: Text | None
    payload: Text


@dataclass(frozen=True)
class JobsSeen:
    """What there is; of each list at most as many as the page shows, `failed_in_all` counts the others, too."""

    kinds: list[Kind]
    kinds_in_all: int
    waiting: list[ShownJob]
    waiting_in_all: int
    failed: list[ShownJob]
    failed_in_all: int


@dataclass(frozen=True)
class CronSeen:
    """A cron job and when it comes next."""

    name: Text
    fields: Text
    zone: str
    payload: Text
    next: Moment


@contextmanager
def opened_store(project: Project) -> Iterator[AppConnection]:
    """Inside, a connection to the app's database, with the tables of its jobs; raises `DatabaseError`."""
    connection = AppConnection(project)
    try:
        connection.jobs.create()
        yield connection
    finally:
        connection.close()


def look_at_jobs(jobs: Jobs, store: Store, now: Now) -> JobsSeen:
    """What is stored, and a line for each registered class without a job."""
    stats = {name: Stats(0, 0, 0) for name in jobs.classes} | store.per_name()
    kinds = [Kind(text(name), name in jobs.classes, found) for name, found in sorted(stats.items())]
    return JobsSeen(
        kinds=kinds[:KINDS_AT_MOST],
        kinds_in_all=len(kinds),
        waiting=[_shown(job, jobs, now) for job in store.waiting(None, WAITING_AT_MOST)],
        waiting_in_all=sum(found.queued + found.running for found in stats.values()),
        failed=[_shown(job, jobs, now) for job in store.failed(FAILED_AT_MOST)],
        failed_in_all=sum(found.failed for found in stats.values()),
    )


def look_at_cron(jobs: Jobs, now: Now) -> list[CronSeen]:
    """The cron jobs of an app, those that come next first."""
    ticks = sorted(((cron.schedule.next_after(now.seconds), cron) for cron in jobs.cron_jobs), key=lambda tick: tick[0])
    return [
        CronSeen(
            name=text(cron.job.name),
            fields=text(cron.schedule.fields),
            zone=str(cron.schedule.zone),
            payload=text(cron.job.payload),
            next=now.moment(next_at),
        )
        for next_at, cron in ticks
    ]


def _shown(job: StoredJob, jobs: Jobs, now: Now) -> ShownJob:
    return ShownJob(
        id=job.id,
        name=text(job.name),
        is_known=job.name in jobs.classes,
        queue=text(job.queue),
        is_running=job.status == "running",
        worker=text(job.worker or "a worker"),
        due=now.moment(job.due_at),
        is_due=job.due_at <= now.seconds,
        attempts=job.attempts,
        max_attempts=job.max_attempts,
        error=None if job.last_error is None else text(job.last_error),
        payload=text(job.payload),
    )
