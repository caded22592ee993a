"""An object worker as the server keeps it: its process, the socket it serves, and when it is needed next."""

import asyncio
import contextlib
import os
from asyncio.subprocess import Process

import msgspec

from melee import log
from melee.objects.report import Failed, Listening, Loaded, Stopped, read_report
from melee.processes.supervisor import Supervisor, python, spawn
from melee.project import Project
from melee.server.call_sockets import CallSockets

_LAST_WORDS_SECONDS = 1


class WorkerLost(Exception):
    """The object worker ended before it could serve; why, in one line."""


class ObjectWorker:
    """Keeps one object worker alive.

    Args:
        sockets: where it is called. They stay open while no worker runs, and during a reload there are two: then only
            the current one of them, see `take_over`, decides whether callers are turned away.
    """

    name = "object worker"

    def __init__(self, project: Project, sockets: CallSockets) -> None:
        self._project, self._sockets = project, sockets
        self._loop = asyncio.get_running_loop()
        self._supervisor = Supervisor(self)
        self._is_current = False
        self._cannot_serve = False
        self._reading: asyncio.Task[None] | None = None
        self._trial: asyncio.Future[None] | None = None
        self.next_wake_at: float | None = None
        """When it has a timer to fire, as far as it said; while it has said nothing, this is the past."""

    def begin(self) -> None:
        self.take_over()
        self._supervisor.start()

    async def load(self) -> None:
        """Begins, and waits until the app is imported. If it cannot be, nothing is tried again.

        Raises:
            WorkerLost: why not.
        """
        self._trial = self._loop.create_future()
        self._supervisor.start()
        await self._trial

    def take_over(self) -> None:
        """From now on it is meant by those who call; one that was loaded waited until its predecessor had ended."""
        self._is_current = True
        self._turn_away(self._cannot_serve)

    async def stop(self, grace_seconds: float) -> None:
        """Ends the worker after what it runs; then `next_wake_at` says when one is needed."""
        # Those who call from now on wait for the next one.
        self._turn_away(False)
        self._is_current = False
        await self._supervisor.stop(grace_seconds)
        await self._hear_the_rest()

    async def start(self) -> Process:
        await self._hear_the_rest()
        self.next_wake_at = 0
        if not self._is_current:
            # It waits for its predecessor again, and may well serve afterwards.
            self._cannot_serve = False
        reading, writing = os.pipe()
        try:
            descriptors = [writing, *(listening.fileno() for listening in self._sockets.listening)]
            process = await spawn(self._command(writing), *descriptors, folder=self._project.folder)
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        self._reading = asyncio.create_task(self._read(reading))
        return process

    def has_ended(self, again_in_seconds: float) -> None:
        if again_in_seconds:
            self._turn_away(True)

    def _command(self, reports: int) -> list[str]:
        options: dict[str, object] = {
            "--data": self._project.data,
            "--shard": self._sockets.shard.number,
            "--of": self._sockets.shard.of,
            "--listener": self._sockets.callers.fileno(),
            "--reports": reports,
            "--parent": os.getpid(),
            "--grace": self._project.config.server.grace_seconds,
        }
        if self._sockets.peers:
            options["--peers"] = self._sockets.peers.fileno()
        pairs = [str(part) for option in options.items() for part in option]
        return python("melee.objects", str(self._project.folder), *pairs)

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
            self._fail("the object worker ended before it had loaded the app; the log says why")

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
                self._turn_away(False)
                self.next_wake_at = next_wake_at
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
            log.worker_failed(problem)

    def _turn_away(self, turns_away: bool) -> None:
        """After a start that came to nothing, and until it listens, nobody is to wait for it."""
        self._cannot_serve = turns_away
        if self._is_current:
            self._sockets.turn_away(turns_away)
