"""A process that is kept alive: started, started again when it dies, and ended in order."""

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from melee import log

_FIRST_PAUSE_SECONDS = 0.2
PAUSE_SECONDS_AT_MOST = 30


class Kept(Protocol):
    """What is kept alive: how it is started, and what its end means."""

    name: str

    async def start(self) -> Process:
        """Starts the process; an `OSError` counts as one that ended."""

    def has_ended(self, again_in_seconds: float) -> None:
        """The process is gone; the next one starts then."""


def python(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of melee. A file of the app called `signal.py`, say, does not pose as Python's own
    while melee is imported, although the process starts in the app's folder."""
    return [sys.executable, "-P", "-m", module, *arguments]


async def spawn(command: Sequence[str], *descriptors: int, folder: Path) -> Process:
    """Starts a program in a folder; it shares only these descriptors and the output with this process. Raises `OSError`
    when there is no room for it.

    It leads a session of its own, so that Ctrl-C reaches the server alone, which ends the others in their order.
    """
    return await asyncio.create_subprocess_exec(
        *command, cwd=folder, stdin=DEVNULL, pass_fds=descriptors, start_new_session=True
    )


class Supervisor:
    """Keeps one process alive from `start` to `stop`.

    A process that has served is started again at once, one that ends before that after pauses of 0.2, 0.4 … 30 s. What
    it started ends with it, unless that leads a group of its own.
    """

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._process: Process | None = None
        self._is_stopping = asyncio.Event()
        self._pause_seconds = _FIRST_PAUSE_SECONDS
        self._last_signal: signal.Signals | None = None
        self._keeping: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        self._keeping = asyncio.create_task(self._keep())

    def serves(self) -> None:
        """The process has come so far that its end, when it comes, is none of a bad start."""
        self._pause_seconds = 0

    def let_end(self) -> None:
        """The process may end by itself; none follows it."""
        self._is_stopping.set()

    def retire(self) -> None:
        """Tells the process by SIGHUP to end when it has done what it is at, however long that takes; none follows."""
        self.let_end()
        self._send(signal.SIGHUP)

    async def ended(self) -> None:
        """Waits until the process is gone, once it may end."""
        if self._keeping:
            await asyncio.shield(self._keeping)

    async def stop(self, grace_seconds: float) -> None:
        """Ends the process: by SIGTERM, and after the grace time by SIGKILL."""
        self.let_end()
        if not self._keeping:
            return
        self._send(signal.SIGTERM)
        _done, still_there = await asyncio.wait([self._keeping], timeout=grace_seconds)
        if still_there:
            log.process_killed(self._kept.name, self.pid or 0, grace_seconds)
            self._send(signal.SIGKILL)
        # Whoever gives up waiting does not keep it from ending in order.
        await self.ended()

    async def _keep(self) -> None:
        while not self._is_stopping.is_set():
            await self._run_once()
            pause_seconds = self._pause_seconds
            self._pause_seconds = min(max(2 * pause_seconds, _FIRST_PAUSE_SECONDS), PAUSE_SECONDS_AT_MOST)
            self._kept.has_ended(pause_seconds)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._is_stopping.wait(), pause_seconds)

    async def _run_once(self) -> None:
        """Runs the process to its end."""
        try:
            self._process = process = await self._kept.start()
        except OSError as error:
            log.start_failed(self._kept.name, error, self._pause_seconds)
            return
        if self._last_signal:
            # It was being started when the order came.
            self._send(self._last_signal)
        exit_code = await process.wait()
        self._process = None
        _end_what_it_left(process.pid)
        if not self._is_stopping.is_set():
            log.process_ended(self._kept.name, process.pid, exit_code, self._pause_seconds)

    def _send(self, number: signal.Signals) -> None:
        self._last_signal = number
        # Not Process.send_signal: nobody but this loop reaps the process, so its id is its own until `wait` returns.
        if self._process and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, number)


def _end_what_it_left(pid: int) -> None:
    """Ends the group that a process led. No other process has its id as long as one of the group is there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
