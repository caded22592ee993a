"""A worker as the server keeps it: a process that reports when it is needed next, and is started again when it dies."""

import asyncio
import contextlib
import os
from asyncio.subprocess import Process
from collections.abc import Sequence

import msgspec

from melee import log
from melee.processes.report import Failed, Listening, Loaded, Stopped, read_report
from melee.processes.supervisor import Supervisor, python, spawn
from melee.project import Project

_LAST_WORDS_SECONDS = 1


class WorkerLost(Exception):
    """The worker ended before it could serve; why, in one line."""


class Worker:
    """Keeps one worker of an app alive.

    Attributes:
        name: of the kind of worker.
        module: the program, which takes the app's folder and options, among them `--reports`.
        next_wake_at: when it has something to do, as far as it said; while it has said nothing, this is the past.
    """

    name = ""
    module = ""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._loop = asyncio.get_running_loop()
        self._supervisor = Supervisor(self)
        self._reading: asyncio.Task[None] | None = None
        self._trial: asyncio.Future[None] | None = None
        self.next_wake_at: float | None = 0

    def begin(self) -> None:
        self._supervisor.start()

    async def load(self) -> None:
        """Begins, and waits until the app is imported. If it cannot be, nothing is tried again.

        Raises:
            WorkerLost: why not.
        """
        self._trial = self._loop.create_future()
        self._supervisor.start()
        await self._trial

    async def stop(self, grace_seconds: float) -> None:
        """Ends the worker after what it runs; then `next_wake_at` says when one is needed."""
        await self._supervisor.stop(grace_seconds)
        await self._hear_the_rest()

    async def start(self) -> Process:
        await self._hear_the_rest()
        self.next_wake_at = 0
        reading, writing = os.pipe()
        try:
            process = await spawn(self._command(writing), writing, *self._shared(), folder=self._project.folder)
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        self._reading = asyncio.create_task(self._read(reading))
        return process

    def has_ended(self, again_in_seconds: float) -> None:
        """The process is gone; the next one starts then."""

    def _options(self) -> dict[str, object]:
        """Of the program, besides those that every worker has."""
        return {}

    def _shared(self) -> Sequence[int]:
        """The descriptors that the process gets, besides that for its reports."""
        return ()

    def _listens(self) -> None:
        """The process serves."""

    def _command(self, reports: int) -> list[str]:
        options: dict[str, object] = {
            "--data": self._project.data,
            "--reports": reports,
            "--parent": os.getpid(),
            "--grace": self._project.config.server.grace_seconds,
            **self._options(),
        }
        pairs = [str(part) for option in options.items() for part in option]
        return python(self.module, str(self._project.folder), *pairs)

    async def _read(self, descriptor: int) -> None:
        """Takes in what the worker reports, until it ends."""
        reader = asyncio.StreamReader()
        transport, _ = await self._loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb")
        )
        with contextlib.closing(transport):
            while line := await reader.readline():
                self._hear(line)
        if self._open_trial:
            self._fail(f"the {self.name} ended before it had loaded the app; the log says why")

    async def _hear_the_rest(self) -> None:
        """Takes in the last words of a process that has ended. What it started may keep the pipe open, and has nothing
        to say."""
        if self._reading:
            _done, reading = await asyncio.wait([self._reading], timeout=_LAST_WORDS_SECONDS)
            for task in reading:
                task.cancel()

    def _hear(self, line: bytes) -> None:
        try:
            report = read_report(line)
        except msgspec.MsgspecError:
            # The last line of one that was killed.
            return
        match report:
            case Loaded():
                if trial := self._open_trial:
                    trial.set_result(None)
            case Listening(next_wake_at):
                self._supervisor.serves()
                self.next_wake_at = next_wake_at
                self._listens()
            case Stopped(next_wake_at):
                self.next_wake_at = next_wake_at
            case Failed(problem):
                self._fail(problem)

    @property
    def _open_trial(self) -> asyncio.Future[None] | None:
        """What `load` waits for, if it waits."""
        return self._trial if self._trial and not self._trial.done() else None

    def _fail(self, problem: str) -> None:
        if trial := self._open_trial:
            self._supervisor.let_end()
            trial.set_exception(WorkerLost(problem))
        else:
            log.worker_failed(self.name, problem)
