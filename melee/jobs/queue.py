"""`Jobs`: what an app says of its jobs, and what its code does with them, as `app.jobs`."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TypeVar

from melee.errors import DefinitionError, ShapeError, TimerError
from melee.jobs.cron import CronJob, Schedule
from melee.jobs.job import Job, check_class, key_of, payload_of
from melee.jobs.store import NewJob, Retried, Stats, Store, StoredJob

_Class = TypeVar("_Class", bound=type[Job])
_MILLISECONDS_FROM = 1e11


class Jobs:
    """The jobs of an app.

    Args:
        store: gives the store on this process's connection to the app's database.

    Attributes:
        classes: what is registered, by `NAME`.
        cron_jobs: what is enqueued on a schedule.
    """

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store
        self.classes: dict[str, type[Job]] = {}
        self.cron_jobs: list[CronJob] = []

    def register(self, cls: _Class) -> _Class:
        """Lets jobs of this class be enqueued and run. Returns the class, so it can be a decorator.

        Raises:
            DefinitionError: the class lacks a `NAME` or a `run`, a setting is out of its range, or another class has
                its `NAME`.
        """
        check_class(cls)
        other = self.classes.setdefault(cls.NAME, cls)
        if other is not cls:
            where = f"{cls.__module__}.{cls.__qualname__}"
            raise DefinitionError(where, f"{other.__module__}.{other.__qualname__} is called {cls.NAME!r}, too")
        return cls

    def cron(self, expression: str, job: Job) -> None:
        """Enqueues a job whenever a cron expression matches, once for all servers that share the database.

        The class is registered if it is not yet. The job is an ordinary one, tried again when it fails. Times that
        passed while no worker ran are made up for by one job, not by many.

        Args:
            expression: five fields, in UTC, or with `CRON_TZ=Europe/Paris ` in front, see `Schedule`.
            job: its fields are stored now; each time enqueues the same.

        Raises:
            DefinitionError: the expression is none, or this class has the same one already.
        """
        schedule = Schedule(expression)
        self.register(type(job))
        new = self._new(job)
        if any(cron.job.name == new.name and cron.schedule.expression == expression for cron in self.cron_jobs):
            problem = f"{type(job).__name__} is on this schedule already; give one of them another"
            raise DefinitionError(f"cron({expression!r})", problem)
        self.cron_jobs.append(CronJob(schedule, new))

    def enqueue(self, job: Job) -> bool:
        """Stores a job that is due now. Inside `app.db.transaction()` it is stored when that ends, or not at all.

        Returns False when nothing was stored, since a job of this class holds its unique key.

        Raises:
            DefinitionError: its class is not registered.
            ShapeError: its fields are not what its class says, or no JSON.
        """
        return self._store().insert([self._new(job)])[0]

    def enqueue_in(self, job: Job, seconds: float) -> bool:
        """Stores a job that is due in so many seconds, see `enqueue`."""
        if not 0 <= seconds < _MILLISECONDS_FROM:
            raise TimerError(f"enqueue_in(…, {seconds!r}): pass a number of seconds from now, not below 0")
        return self._store().insert([self._new(job, in_seconds=seconds)])[0]

    def enqueue_at(self, job: Job, when: datetime) -> bool:
        """Stores a job that is due at a moment, a `datetime` with a time zone; see `enqueue`."""
        if not isinstance(when, datetime) or when.tzinfo is None:
            raise TimerError(f"enqueue_at(…, {when!r}): pass a datetime with a time zone, such as melee.now()")
        return self._store().insert([self._new(job, at=when.timestamp())])[0]

    def enqueue_many(self, jobs: Iterable[Job]) -> list[bool]:
        """Stores many jobs at once, all or none; True for each that was stored, see `enqueue`."""
        new = [self._new(job) for job in jobs]
        return self._store().insert(new) if new else []

    def stats(self) -> Stats:
        """How many jobs are queued, running and failed."""
        every = self._store().per_name().values()
        return Stats(
            sum(stats.queued for stats in every),
            sum(stats.running for stats in every),
            sum(stats.failed for stats in every),
        )

    def get(self, id: int) -> StoredJob | None:
        """A job that is queued, running or failed; None for one that is done, since those are deleted."""
        return self._store().get(id)

    def failed(self, at_most: int = 20) -> list[StoredJob]:
        """The jobs that failed for good, the newest failure first."""
        return self._store().failed(at_most)

    def waiting(self, cls: type[Job] | None = None, at_most: int = 20) -> list[StoredJob]:
        """The jobs that run or wait, of one class or of all; those that run first, then in the order of their turn."""
        return self._store().waiting(cls.NAME if cls else None, at_most)

    def discard(self, id: int) -> bool:
        """Deletes a job; False when there is none. One that runs is ended within a few seconds."""
        return self._store().discard(id)

    def retry(self, id: int) -> bool:
        """Queues one failed job again; False when it is not failed, or another one holds its unique key."""
        return self._store().retry(id)

    def retry_failed(self) -> Retried:
        """Queues every failed job again, with all its attempts, but for those whose unique key a newer job holds."""
        return self._store().retry_failed()

    def run_pending(self) -> int:
        """Runs what is due, in this process, one job after the other: what a worker would have done by now. Returns how
        many ran.

        It is for tests, and for an app that has no worker, with `[jobs] workers = 0`. Jobs that the jobs enqueue run,
        too, if they are due; so do cron jobs whose time has come, and jobs that were being run when their process was
        killed, an hour after they began. One that raises is logged, and stored with its pause, as a worker does it.
        `TIMEOUT` is not kept to, since there is no process to end.

        Raises:
            DatabaseLocked: on SQLite, inside `app.db.transaction()`.
            RuntimeError: jobs enqueue jobs that are due at once, without end; or this is called outside a request.
        """
        # Few processes of an app do this, and it needs what runs jobs.
        from melee.jobs.pending import run_pending

        return run_pending(self.classes, self.cron_jobs, self._store)

    def queues(self) -> list[str]:
        """The queues of the registered classes."""
        return sorted({cls.QUEUE for cls in self.classes.values()})

    def _new(self, job: Job, in_seconds: float = 0, at: float | None = None) -> NewJob:
        cls = type(job)
        if not isinstance(job, Job):
            raise ShapeError("enqueue", f"{job!r} is no job; pass one such as SendWelcome(user_id=1)")
        if self.classes.get(cls.NAME) is not cls:
            problem = f"it is not registered; write app.jobs.register({cls.__name__})"
            raise DefinitionError(f"{cls.__module__}.{cls.__qualname__}", problem)
        return NewJob(
            name=cls.NAME,
            payload=payload_of(job),
            queue=cls.QUEUE,
            priority=cls.PRIORITY,
            unique_key=key_of(job),
            max_attempts=cls.MAX_ATTEMPTS,
            in_seconds=in_seconds,
            at=at,
        )
