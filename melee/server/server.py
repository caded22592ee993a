"""`Server`: one app behind one listening socket, from its start to its end."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from melee import log
from melee.clock import Clock
from melee.errors import BadInput
from melee.server.app_processes import AppProcesses
from melee.server.call_sockets import CallSockets
from melee.server.front import Front
from melee.server.wakeups import Wakeups
from melee.server.worker import WorkerLost
from melee.web.children import ParentLost
from melee.web.gateway import Gateway
from melee.web.target import AppFolder, Target

_LOOK_SECONDS = 1


class Server:
    """Serves an app from `run` until `stop`.

    Args:
        listener: where visitors come in, bound and listening.
        call_sockets: those of the object workers.
    """

    def __init__(self, target: Target, listener: socket.socket, call_sockets: list[CallSockets], clock: Clock):
        config = target.config
        self._listener, self._clock = listener, clock
        self._processes = AppProcesses(target, call_sockets)
        self._wakeups = Wakeups(clock, config.server.sleep_after_seconds)
        self._gateway = Gateway(self._processes.children, config.web, target.folder / "static", clock)
        front_app, self._counting = self._with_metrics(target)
        self._front = Front(front_app, config.server.trusted_proxies)
        self._ends_at: float | None = None
        self._tasks: set[asyncio.Task[object]] = set()

    async def run(self) -> None:
        """Serves.

        Raises:
            ParentLost, WorkerLost: the app cannot be loaded.
        """
        try:
            with self._counting():
                await self._processes.start()
                async with asyncio.TaskGroup() as group:
                    looking = group.create_task(self._wake_and_let_sleep())
                    await self._front.serve(sockets=[self._listener])
                    looking.cancel()
        except (ParentLost, WorkerLost):
            # Told to stop before it was there, it has nothing to complain of.
            if self._ends_at is None:
                raise
        finally:
            await self._processes.stop(self._left_seconds)

    def stop(self, reason: str) -> None:
        """Ends in order, within the grace time; at once when it is told for the second time."""
        log.server_stops(reason)
        if self._ends_at is None:
            grace_seconds = self._processes.target.config.server.grace_seconds
            self._ends_at = self._clock.elapsed() + grace_seconds
            self._processes.begin_no_more()
            self._front.stop(grace_seconds)
        else:
            self._front.stop_at_once()
            self._in_background(self._processes.stop_at_once())

    async def reload(self) -> str:
        """Serves what is on disk now; returns why not, when it cannot be loaded."""
        name = self._processes.target.name
        log.app_reloads(name)
        try:
            await self._processes.reload()
        except (BadInput, ParentLost, WorkerLost) as error:
            log.reload_failed(name, str(error))
            return str(error)
        self._gateway.configure(self._processes.target.config.web)
        self._wakeups.sleep_after_seconds = self._processes.target.config.server.sleep_after_seconds
        log.app_reloaded(name)
        return ""

    async def wake(self) -> None:
        """Wakes the app, if it sleeps."""
        await self._processes.wake_for_order()

    def begin_reload(self) -> None:
        """Reloads while whoever wants it goes on; the log says what came of it."""
        self._in_background(self.reload())

    def _with_metrics(self, target: Target) -> tuple[Any, Callable[[], AbstractContextManager[None]]]:
        """What visitors meet first, and inside what it has to be."""
        if not target.config.server.metrics or not isinstance(target, AppFolder):
            return self._gateway, nullcontext
        # Few servers need the library.
        from melee.server.metrics_page import MetricsPage

        page = MetricsPage(self._gateway, target.project, lambda: self._processes.jobs)
        return page, page.counting

    @property
    def _left_seconds(self) -> float:
        """Of the grace time."""
        return 0 if self._ends_at is None else max(0.0, self._ends_at - self._clock.elapsed())

    async def _wake_and_let_sleep(self) -> None:
        """Puts the app to sleep, and wakes it for its timers and jobs."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if not self._processes.is_asleep:
                await self._processes.sleep_if(self._may_sleep)
            elif self._wakeups.is_due(self._processes.next_wake_at):
                await self._processes.wake_for_timer()

    def _may_sleep(self) -> bool:
        return self._wakeups.may_sleep(self._gateway.idle_seconds, self._processes.next_wake_at)

    def _in_background(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
