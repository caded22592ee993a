"""The job workers of an app as the server keeps them: the current one, and those of older versions at their last jobs.

Whoever works on jobs in Postgres is needed all the time, since anybody may enqueue there: its reports say so, and the
app never sleeps.
"""

import asyncio

from melee.project import Project
from melee.server.living import Living
from melee.server.worker import Worker

_LAST_SECONDS = 3
"""What a worker has after the grace time of its jobs, to end its executors and write down what had not ended."""


class JobWorker(Worker):
    """Keeps one job worker alive."""

    name = "job worker"
    module = "melee.jobs"

    async def stop(self, grace_seconds: float) -> None:
        """Ends the worker: it claims nothing more, and the jobs that it runs have the grace time."""
        await super().stop(grace_seconds + _LAST_SECONDS)

    def retire(self) -> None:
        """The worker claims nothing more, and ends when the jobs that it runs have, however long they take."""
        self._supervisor.retire()

    async def ended(self) -> None:
        await self._supervisor.ended()
        await self._hear_the_rest()


class JobWorkers:
    """Those of one app, none while it sleeps or has no jobs.

    Args:
        living: knows them, too.
    """

    def __init__(self, living: Living) -> None:
        self._living = living
        self._current: JobWorker | None = None
        self._retired: dict[JobWorker, asyncio.Task[None]] = {}

    @property
    def all(self) -> list[JobWorker]:
        return [*([self._current] if self._current else []), *self._retired]

    def begin(self, project: Project) -> None:
        """Starts one, if `[jobs]` says that there is to be one."""
        if project.config.jobs.workers or project.config.jobs.queues:
            worker = JobWorker(project)
            self._living.begin(worker)
            self._current = worker

    def retire(self) -> None:
        """Lets the current one end after the jobs that it runs, in its own time."""
        if worker := self._current:
            self._current = None
            worker.retire()
            self._retired[worker] = asyncio.create_task(self._forget(worker))

    async def end(self, grace_seconds: float) -> list[float | None]:
        """Ends all of them; returns when each is needed again."""
        ending = self.all
        await self._living.end(ending, grace_seconds)
        self._current = None
        await asyncio.gather(*self._retired.values())
        return [worker.next_wake_at for worker in ending]

    async def _forget(self, worker: JobWorker) -> None:
        """Lets go of one that was retired, once it has ended."""
        await worker.ended()
        await self._living.end([worker], 0)
        self._retired.pop(worker, None)
