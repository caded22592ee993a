"""The durable jobs of an app under test: nothing runs until the test says so."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar, cast

from melee.clock import Clock
from melee.jobs.job import Job, job_of, payload_of
from melee.jobs.opened import open_jobs
from melee.jobs.pending import tick
from melee.jobs.queue import Jobs
from melee.jobs.store import NewJob, Store
from melee.project import Project

_Job = TypeVar("_Job", bound=Job)
_ALL = 1_000_000_000


class JobsUnderTest(Jobs):
    """What `app.jobs` can do, in a request and outside of one.

    Attributes:
        classes: what the app has registered, by `NAME`.
        cron_jobs: what it enqueues on a schedule.
    """

    def __init__(self, app: Any, project: Project, clock: Clock, stack: ExitStack) -> None:
        super().__init__(self._opened_store)
        self._app, self._project, self._clock, self._stack = app, project, clock, stack
        self.classes, self.cron_jobs = app.jobs.classes, app.jobs.cron_jobs
        self._own: Store | None = None

    def run_pending(self) -> int:
        """Runs the jobs that are due now by the test's clock, in this process, with those that they enqueue and the
        cron jobs whose time has come; returns how many ran.

        A job that raises does not raise here. Its error is in the log, which pytest shows, and in `failed()` or
        `get()`; it is due again after its pause, so move the clock and run what is pending.

        Raises:
            RuntimeError: jobs enqueue jobs that are due at once, without end.
        """
        with self._app.app_context():
            ran: int = self._app.jobs.run_pending()
        return ran

    def enqueued(self, cls: type[_Job]) -> list[_Job]:
        """The jobs of a class that wait, those that are due later among them; in the order of their turn."""
        waiting = [job for job in self.waiting(cls, _ALL) if job.status == "queued"]
        return [cast("_Job", job_of(cls, job.payload)) for job in waiting]

    def _new(self, job: Job, in_seconds: float = 0, at: float | None = None) -> NewJob:
        # A test may have imported the class before the app was loaded for it, which made another one of it.
        cls = self.classes.get(getattr(job, "NAME", ""))
        if cls and (cls.__module__, cls.__qualname__) == (type(job).__module__, type(job).__qualname__):
            job = job_of(cls, payload_of(job))
        return super()._new(job, in_seconds, at)

    def _opened_store(self) -> Store:
        if not self._own:
            opened = open_jobs(self._project, self._clock)
            self._stack.callback(opened.close)
            self._own = opened.store
        return self._own


@contextmanager
def jobs_under_test(app: Any, project: Project, clock: Clock) -> Iterator[JobsUnderTest]:
    """Inside, the jobs of a loaded app are a test's."""
    with ExitStack() as stack:
        jobs = JobsUnderTest(app, project, clock, stack)
        if jobs.cron_jobs:
            # As a worker does when it starts: what is due by now was not missed.
            tick(jobs.cron_jobs, jobs._opened_store())
        yield jobs
