"""The processes of one app: all of them, the object workers alone, or none while it sleeps."""

import asyncio
import socket
from collections.abc import Sequence

from melee import log
from melee.errors import BadInput
from melee.server.object_worker import ObjectWorker, WorkerLost
from melee.server.request_parent import RequestParent
from melee.web.children import Children, ParentLost
from melee.web.target import AppFolder, Target, target_named


class AppProcesses:
    """Starts and ends the processes of an app.

    Args:
        target: what is served.
        listeners: the sockets of its object workers; none for a target that has no objects.
    """

    def __init__(self, target: Target, listeners: Sequence[socket.socket]) -> None:
        self._target, self._listeners = target, listeners
        self._parent: RequestParent | None = None
        self._workers: list[ObjectWorker] = []
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
        """When the next timer is due, in epoch seconds; None when no timer is set."""
        moments = [worker.next_wake_at for worker in self._workers] or self._wake_at
        return min((moment for moment in moments if moment is not None), default=None)

    async def start(self) -> None:
        """Starts every process, and waits until each has loaded the app.

        Raises:
            ParentLost, WorkerLost: one of them cannot.
        """
        async with self._changing:
            self._parent, self._workers = RequestParent(self._target), self._new_workers(self._target)
            await _begin_all(self._parent, self._workers)

    async def children(self) -> Children:
        """The children that serve requests, of an app that is woken if it sleeps; `ParentLost` when it cannot start."""
        if not self._parent:
            async with self._changing:
                if not self._parent:
                    self._wake_workers("a request came")
                    self._parent = RequestParent(self._target)
                    self._parent.begin()
        return await self._parent.children()

    async def wake_workers(self, reason: str) -> None:
        """Starts the object workers if they sleep."""
        async with self._changing:
            self._wake_workers(reason)

    async def sleep(self) -> None:
        """Ends every process, in order."""
        async with self._changing:
            parent, workers = self._parent, self._workers
            grace_seconds = self._target.config.server.grace_seconds
            self._parent = None
            if parent:
                await parent.retire(grace_seconds)
            await _stop_all(workers, grace_seconds)
            self._wake_at, self._workers = [worker.next_wake_at for worker in workers], []

    async def reload(self) -> None:
        """Serves what is on disk now, without failing a request.

        The new processes load the app while the old ones serve. Then the object workers hand over, and after them the
        request parent; its children finish what they serve.

        Raises:
            BadInput, ParentLost, WorkerLost: the new app does not load. The old one goes on.
        """
        async with self._changing:
            target = self._read_anew()
            parent, workers = RequestParent(target), self._new_workers(target)
            try:
                await _begin_all(parent, workers)
            except (ParentLost, WorkerLost):
                await _stop_all([parent, *workers], 0)
                raise
            old_parent, old_workers = self._parent, self._workers
            grace_seconds = target.config.server.grace_seconds
            await _stop_all(old_workers, grace_seconds)
            self._target, self._parent, self._workers = target, parent, workers
            if old_parent:
                # No longer than a request may take, and meanwhile the next reload need not wait for it.
                self._retire(old_parent, self._target.config.web.budget_seconds + grace_seconds)

    async def stop(self) -> None:
        """Ends every process; a request that is still served is cut off."""
        async with self._changing:
            parents = [self._parent] if self._parent else []
            grace_seconds = self._target.config.server.grace_seconds
            await _stop_all(parents, grace_seconds)
            for retiring in self._retiring:
                retiring.cancel()
            await asyncio.gather(*self._retiring, return_exceptions=True)
            await _stop_all(self._workers, grace_seconds)

    def _wake_workers(self, reason: str) -> None:
        if self.is_asleep:
            log.app_wakes(self._target.name, reason)
        if not self._workers:
            self._workers = self._new_workers(self._target)
            for worker in self._workers:
                worker.begin()

    def _read_anew(self) -> Target:
        target = target_named(self._target.argument, self._target.folder)
        before, after = self._target.config.objects.workers, target.config.objects.workers
        if before != after:
            raise BadInput(f"[objects] workers was {before} and is {after}: stop the server and start it again")
        return target

    def _new_workers(self, target: Target) -> list[ObjectWorker]:
        if not isinstance(target, AppFolder):
            return []
        return [ObjectWorker(target.project, listener, shard) for shard, listener in enumerate(self._listeners)]

    def _retire(self, parent: RequestParent, seconds: float) -> None:
        retiring = asyncio.create_task(parent.retire(seconds))
        self._retiring.add(retiring)
        retiring.add_done_callback(self._retiring.discard)


async def _begin_all(parent: RequestParent, workers: list[ObjectWorker]) -> None:
    """Starts processes and waits until each has loaded the app."""
    for worker in workers:
        worker.begin()
    parent.begin()
    await asyncio.gather(parent.children(), *(worker.loaded for worker in workers))


async def _stop_all(processes: Sequence[RequestParent | ObjectWorker], grace_seconds: float) -> None:
    if processes:
        await asyncio.gather(*(process.stop(grace_seconds) for process in processes))
