"""`GET /metrics`, for a Prometheus that asks the server directly."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import msgspec
from starlette.responses import Response

from melee import log
from melee.errors import MeleeError
from melee.jobs.counts import read_counts
from melee.jobs.metrics import CONTENT_TYPE, Metrics, queued_jobs
from melee.project import Project

_PATH = "/metrics"
_PROXY_HEADERS = {b"forwarded", b"x-forwarded-for", b"x-real-ip"}
_DATAGRAM_BYTES_AT_MOST = 1024 * 1024
_QUEUED_SECONDS_AT_MOST = 5


class MetricsPage:
    """An ASGI app in front of another one, which answers for `/metrics`.

    Whoever reaches the port directly may read it. What came through a proxy comes from the outside, and is left to the
    app, as if there were no such page.

    Args:
        app: answers everything else.
        jobs: names the jobs that the app has registered by now.
    """

    def __init__(self, app: Any, project: Project, jobs: Callable[[], list[str]]) -> None:
        self._app, self._project, self._jobs = app, project, jobs
        self._metrics = Metrics()
        self._counts: socket.socket

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if _asks_for_metrics(scope):
            page = await self._page()
            await Response(page, media_type=CONTENT_TYPE)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Inside, the processes of the app can send what they count."""
        path, loop = self._project.counts, asyncio.get_running_loop()
        # One that a killed server left; the lock of the folder says that there is no other.
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as self._counts:
            self._counts.setblocking(False)
            self._counts.bind(str(path))
            path.chmod(0o600)
            loop.add_reader(self._counts.fileno(), self._take_in)
            try:
                yield
            finally:
                loop.remove_reader(self._counts.fileno())
                path.unlink(missing_ok=True)

    def _take_in(self) -> None:
        """Adds what has been sent up to now."""
        self._metrics.know(self._jobs())
        with suppress(BlockingIOError):
            while True:
                datagram = self._counts.recv(_DATAGRAM_BYTES_AT_MOST)
                with suppress(msgspec.MsgspecError):
                    self._metrics.add(read_counts(datagram))

    async def _page(self) -> bytes:
        queued: dict[str, int] | None = None
        try:
            async with asyncio.timeout(_QUEUED_SECONDS_AT_MOST):
                queued = await asyncio.to_thread(queued_jobs, self._project)
        except (MeleeError, TimeoutError) as error:
            log.queue_not_counted(error)
        self._take_in()
        return self._metrics.page(queued)


def _asks_for_metrics(scope: Any) -> bool:
    is_asked = scope["type"] == "http" and scope["path"] == _PATH and scope["method"] in ("GET", "HEAD")
    return is_asked and not any(name in _PROXY_HEADERS for name, _value in scope["headers"])
