"""`Server`: one app behind one listening socket, from its start to its end."""

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Iterator
from typing import Any

import uvicorn
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from melee import log
from melee.clock import Clock
from melee.errors import BadInput
from melee.server.app_processes import AppProcesses
from melee.server.object_worker import WorkerLost
from melee.server.wakeups import Wakeups
from melee.web.children import ParentLost
from melee.web.gateway import Gateway
from melee.web.limits import LimitedProtocol
from melee.web.target import Target

_LOOK_SECONDS = 1


class Server:
    """Serves an app until SIGTERM or SIGINT; loads it anew on SIGHUP.

    Args:
        listener: where visitors come in, bound and listening.
        worker_sockets: the listening sockets of the object workers.
    """

    def __init__(self, target: Target, listener: socket.socket, worker_sockets: list[socket.socket], clock: Clock):
        config = target.config
        self._listener, self._clock = listener, clock
        self._processes = AppProcesses(target, worker_sockets)
        self._wakeups = Wakeups(clock, config.server.sleep_after_seconds)
        self._gateway = Gateway(self._processes.children, config.web, target.folder / "static", clock)
        self._front = _Front(self._gateway, config.server.trusted_proxies, config.server.grace_seconds)

    async def run(self) -> None:
        """Serves.

        Raises:
            ParentLost, WorkerLost: the app cannot be loaded.
        """
        with self._signals():
            try:
                await self._processes.start()
                async with asyncio.TaskGroup() as group:
                    looking = group.create_task(self._wake_and_let_sleep())
                    await self._front.serve(sockets=[self._listener])
                    looking.cancel()
            finally:
                await self._processes.stop()

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

    async def _wake_and_let_sleep(self) -> None:
        """Puts the app to sleep, and wakes it for its timers."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            next_wake_at = self._processes.next_wake_at
            if self._processes.is_asleep:
                if self._wakeups.is_due(next_wake_at):
                    await self._processes.wake_workers("a timer is due")
            elif self._wakeups.may_sleep(self._gateway.idle_seconds, next_wake_at):
                await self._processes.sleep()

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        reloads: set[asyncio.Task[str]] = set()

        def hang_up() -> None:
            task = asyncio.create_task(self.reload())
            reloads.add(task)
            task.add_done_callback(reloads.discard)

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._front.stop, number.name)
        loop.add_signal_handler(signal.SIGHUP, hang_up)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                loop.remove_signal_handler(number)


class _Front(uvicorn.Server):
    """uvicorn, as this server wants it: no log of its own, and signals are not its business."""

    def __init__(self, gateway: Gateway, trusted_proxies: list[str], grace_seconds: float) -> None:
        logging.getLogger("uvicorn").addHandler(logging.NullHandler())
        logging.getLogger("uvicorn").propagate = False
        # uvicorn's types of ASGI are not public.
        app: Any = gateway
        config = uvicorn.Config(
            ProxyHeadersMiddleware(app, trusted_proxies) if trusted_proxies else app,
            http=LimitedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=round(grace_seconds) or 1,
        )
        super().__init__(config)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def stop(self, reason: str) -> None:
        """Ends in order; at once when it is told for the second time."""
        if self.should_exit:
            self.force_exit = True
        log.server_stops(reason)
        self.should_exit = True
