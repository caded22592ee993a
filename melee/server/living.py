"""The processes that were begun and have not ended, whatever version of the app they are of."""

import asyncio
from collections.abc import Iterable
from typing import Any, Protocol

from melee.web.children import ParentLost

LOAD_SECONDS_AT_MOST = 60
"""How long an app may take to be imported when it is started or loaded anew."""
_STOPS = "the server stops"


class Process(Protocol):
    """One that is kept alive between `begin` and `stop`."""

    def begin(self) -> None:
        """Starts it, and again whenever it ends."""

    async def load(self) -> None:
        """Starts it and waits until it has loaded the app; raises what is wrong, and then it is not started again."""

    async def stop(self, grace_seconds: float) -> None:
        """Ends it within the grace time."""


class Living:
    """Knows them all, so that the end of the server is the end of each, in whatever it is interrupted."""

    def __init__(self) -> None:
        self._processes: set[Process] = set()
        self._loading: asyncio.Future[Any] | None = None
        self.is_ending = False
        """Whether nothing is begun any more."""

    def begin(self, *processes: Process) -> None:
        """Raises `ParentLost` when nothing is begun any more."""
        self._add(processes)
        for process in processes:
            process.begin()

    async def load(self, *processes: Process) -> None:
        """Starts processes and waits until each has loaded the app.

        Raises:
            ParentLost, WorkerLost: one of them cannot, or nothing is begun any more. All of them have ended.
        """
        self._add(processes)
        self._loading = asyncio.gather(*(process.load() for process in processes))
        try:
            await _loaded(self._loading)
        except BaseException:
            self._loading.cancel()
            await self.end(processes, grace_seconds=1)
            raise
        finally:
            self._loading = None

    async def end(self, processes: Iterable[Process], grace_seconds: float) -> None:
        ending = [*processes]
        await asyncio.gather(*(process.stop(grace_seconds) for process in ending))
        self._processes.difference_update(ending)

    def begin_no_more(self) -> None:
        """What is being loaded is not waited for."""
        self.is_ending = True
        if self._loading:
            self._loading.cancel()

    async def end_all(self, grace_seconds: float) -> None:
        self.begin_no_more()
        await self.end(self._processes, grace_seconds)

    def _add(self, processes: Iterable[Process]) -> None:
        if self.is_ending:
            raise ParentLost(_STOPS)
        self._processes.update(processes)


async def _loaded(loading: asyncio.Future[Any]) -> None:
    done, _pending = await asyncio.wait([loading], timeout=LOAD_SECONDS_AT_MOST)
    if not done:
        raise ParentLost(f"it did not load within {LOAD_SECONDS_AT_MOST} s")
    try:
        loading.result()
    except asyncio.CancelledError:
        raise ParentLost(_STOPS) from None
