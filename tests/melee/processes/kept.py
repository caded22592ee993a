"""A program that is kept alive, in a loop whose time a test moves."""

import asyncio
import os
import sys
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from pathlib import Path

from melee.processes.supervisor import Supervisor, spawn

# Of a time that jumps, too.
WAIT_SECONDS = 300


class MovedLoop(asyncio.SelectorEventLoop):
    """A loop whose time runs, and jumps when it is told to."""

    jumped_seconds = 0.0

    def time(self) -> float:
        return super().time() + self.jumped_seconds


class Program:
    """Python source that is kept alive. It says that it is there by writing to `{there}`.

    Attributes:
        pauses: each after which it was to start again.
    """

    name = "program"

    def __init__(self, source: str) -> None:
        self.source = source
        self.faults: list[OSError] = []
        self.may_start = asyncio.Event()
        self.may_start.set()
        self.is_starting = asyncio.Event()
        self.pauses: list[float] = []
        self.ends: asyncio.Queue[float] = asyncio.Queue()
        self.skips_pauses = False
        self._here, self._there = os.pipe()

    async def start(self) -> Process:
        self.is_starting.set()
        await self.may_start.wait()
        if self.faults:
            raise self.faults.pop()
        return await spawn(
            [sys.executable, "-S", "-c", self.source.format(there=self._there)], self._there, folder=Path()
        )

    def has_ended(self, again_in_seconds: float) -> None:
        self.pauses.append(again_in_seconds)
        self.ends.put_nowait(again_in_seconds)
        loop = asyncio.get_running_loop()
        if self.skips_pauses and isinstance(loop, MovedLoop):
            loop.call_soon(self._jump, loop, again_in_seconds)

    async def is_there(self) -> None:
        """Waits until a process that was started runs."""
        await asyncio.to_thread(os.read, self._here, 1)

    def close(self) -> None:
        os.close(self._here)
        os.close(self._there)

    def _jump(self, loop: MovedLoop, seconds: float) -> None:
        loop.jumped_seconds += seconds


def keeping(source: str, test: Callable[[Program, Supervisor], Awaitable[None]]) -> None:
    """Runs a test beside a program that is kept alive, and ends both."""

    async def run() -> None:
        program = Program(source)
        supervisor = Supervisor(program)
        async with asyncio.timeout(WAIT_SECONDS):
            try:
                await test(program, supervisor)
            finally:
                program.may_start.set()
                await supervisor.stop(0)
                program.close()

    with asyncio.Runner(loop_factory=MovedLoop) as runner:
        runner.run(run())
