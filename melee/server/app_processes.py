"""The processes of one app: all of them, the workers alone, or none while it sleeps."""

import asyncio
from collections.abc import Callable, Sequence

from melee import log
from melee.errors import BadInput
from melee.server.building import check_build
from melee.server.call_sockets import CallSockets
from melee.server.job_worker import JobWorkers
from melee.server.living import Living
from melee.server.object_worker import ObjectWorker
from melee.server.request_parent import RequestParent
from melee.web.children import Children, ParentLost
from melee.web.target import AppFolder, Target, target_named

_LAST_SECONDS = 1
"""What a process has for its end at the least, however long the requests took."""


class AppProcesses:
    """Starts and ends the processes of an app.

    Args:
        target: what is served.
        call_sockets: those of its object workers; none for a target that has no objects.
    """

    def __init__(self, target: Target, call_sockets: Sequence[CallSockets]) -> None:
        self._target, self._call_sockets = target, call_sockets
        self._parent: RequestParent | None = None
        self._workers: list[ObjectWorker] = []
        self._living = Living()
        self._job_workers = JobWorkers(self._living)
        self.jobs: list[str] = []
        """The durable jobs that the app has registered, as it was last loaded."""
        self._wake_at: list[float | None] = []
        self._changing = asyncio.Lock()
        self._retiring: set[asyncio.Task[None]] = set()

    @property
    def target(self) -> Target:
        """What is served now, as it was configured when it was last loaded."""
        return self._target

    @property
    def is_asleep(self) -> bool:
        return not self._parent and not self._workers

    @property
    def next_wake_at(self) -> float | None:
        """When the next timer or job is due, in epoch seconds; None when there is none, the past while a job runs."""
        workers = [*self._workers, *self._job_workers.all]
        moments = [worker.next_wake_at for worker in workers] if workers else self._wake_at
        return min((moment for moment in moments if moment is not None), default=None)

    async def start(self) -> None:
        """Starts every process, and waits until each has loaded the app.

        Raises:
            ParentLost, WorkerLost: one of them cannot, or the end came first.
        """
        async with self._changing:
            self._take_over(*await self._loaded(self._target))
            self._begin_job_worker()

    async def children(self) -> Children:
        """The children that serve requests, of an app that is woken if it sleeps; `ParentLost` when it cannot start."""
        while True:
            parent = self._parent or await self._woken_parent()
            try:
                return await parent.children()
            except ParentLost:
                # One that was replaced meanwhile is no reason to fail.
                if parent is self._parent:
                    raise

    async def wake_for_timer(self) -> None:
        """Starts the workers, if they sleep."""
        name, due_at, zone = self._target.name, self.next_wake_at, self._target.config.zone
        await self._wake(lambda: log.app_wakes_for_timer(name, due_at, zone))

    async def wake_for_order(self) -> None:
        """Starts the workers, if they sleep; they may find something to do that nobody knows of."""
        await self._wake(lambda: log.app_wakes_for_order(self._target.name))

    async def sleep_if(self, may_sleep: Callable[[], bool]) -> None:
        """Ends every process, in order, unless there is a reason not to by the time that it can be done."""
        async with self._changing:
            if not may_sleep():
                return
            parent, self._parent = self._parent, None
            grace_seconds = self._target.config.server.grace_seconds
            if parent:
                await self._retire(parent, grace_seconds)
            # Jobs call objects.
            wake_at = await self._job_workers.end(grace_seconds)
            await self._living.end(self._workers, grace_seconds)
            self._wake_at = [*wake_at, *(worker.next_wake_at for worker in self._workers)]
            self._workers = []
            log.app_sleeps(self._target.name, self.next_wake_at, self._target.config.zone)

    async def reload(self) -> None:
        """Serves what is on disk now, without failing a request.

        The app is built first. The new processes load it while the old ones serve. Then the object workers hand over,
        and after them the request parent and the job worker, whose children and jobs end in their own time.

        Raises:
            BadInput, ParentLost, WorkerLost: the new app has mistakes or does not load, or the end came first. The old
                one goes on.
        """
        async with self._changing:
            target, before = self._read_anew(), self._target.config
            if isinstance(target, AppFolder):
                await check_build(target.project)
            parent, workers = await self._loaded(target)
            await self._living.end(self._workers, before.server.grace_seconds)
            old_parent = self._parent
            self._target = target
            self._take_over(parent, workers)
            self._job_workers.retire()
            self._begin_job_worker()
            if old_parent:
                # No longer than one of its requests may take; the next reload need not wait for that.
                seconds = before.web.budget_seconds + before.server.grace_seconds
                retiring = asyncio.create_task(self._retire(old_parent, seconds))
                self._retiring.add(retiring)
                retiring.add_done_callback(self._retiring.discard)

    def begin_no_more(self) -> None:
        """The end has come: what is being loaded is not waited for, and nothing is started from now on."""
        self._living.begin_no_more()

    async def stop(self, grace_seconds: float) -> None:
        """Ends every process within the grace time, or a second; a request that is still served is cut off."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + grace_seconds
        self.begin_no_more()
        # Both may call objects to their end.
        requests = self._living.end([self._parent] if self._parent else [], max(grace_seconds, _LAST_SECONDS))
        await asyncio.gather(requests, self._job_workers.end(grace_seconds))
        await self._living.end_all(max(ends_at - loop.time(), _LAST_SECONDS))
        await asyncio.gather(*self._retiring)

    async def stop_at_once(self) -> None:
        await self._living.end_all(_LAST_SECONDS)

    async def _loaded(self, target: Target) -> tuple[RequestParent, list[ObjectWorker]]:
        parent, workers = RequestParent(target), self._new_workers(target)
        await self._living.load(*workers, parent)
        return parent, workers

    def _take_over(self, parent: RequestParent, workers: list[ObjectWorker]) -> None:
        self._parent, self._workers, self.jobs = parent, workers, parent.jobs
        for worker in workers:
            worker.take_over()

    async def _woken_parent(self) -> RequestParent:
        async with self._changing:
            if not self._parent:
                parent = RequestParent(self._target)
                if self.is_asleep:
                    log.app_wakes_for_request(self._target.name)
                    self._begin_workers()
                self._living.begin(parent)
                self._parent = parent
            return self._parent

    async def _wake(self, announce: Callable[[], None]) -> None:
        async with self._changing:
            if self.is_asleep and not self._living.is_ending:
                announce()
                self._begin_workers()

    def _begin_workers(self) -> None:
        workers = self._new_workers(self._target)
        self._living.begin(*workers)
        self._workers = workers
        self._begin_job_worker()

    def _begin_job_worker(self) -> None:
        if self.jobs and isinstance(self._target, AppFolder):
            self._job_workers.begin(self._target.project)

    def _new_workers(self, target: Target) -> list[ObjectWorker]:
        if not isinstance(target, AppFolder):
            return []
        return [ObjectWorker(target.project, sockets) for sockets in self._call_sockets]

    async def _retire(self, parent: RequestParent, seconds_at_most: float) -> None:
        await parent.let_finish(seconds_at_most)
        await self._living.end([parent], _LAST_SECONDS)

    def _read_anew(self) -> Target:
        """The target as it is on disk; `BadInput` when it cannot take the place of the one before."""
        target = target_named(self._target.argument, self._target.folder)
        old, new = self._target.config, target.config
        for key, before, after in (
            ("[objects] workers", old.objects.workers, new.objects.workers),
            ("[server] trusted_proxies", old.server.trusted_proxies, new.server.trusted_proxies),
            ("[server] metrics", old.server.metrics, new.server.metrics),
        ):
            if before != after:
                raise BadInput(f"{key} was {before} and is {after}: stop the server and start it again")
        return target
