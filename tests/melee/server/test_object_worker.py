"""Two object workers share their sockets while one takes the place of the other: which of them turns callers away."""

import asyncio
import os
import signal
import socket
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from melee.project import Project
from melee.server.call_sockets import CallSockets, call_sockets
from melee.server.object_worker import ObjectWorker
from melee.server.worker import WorkerLost
from tests.melee.server.conftest import WriteApp

pytestmark = pytest.mark.slow


class Watched(ObjectWorker):
    """One of which a test knows the process, when it was started and when it ended."""

    def __init__(self, project: Project, sockets: CallSockets) -> None:
        super().__init__(project, sockets)
        self.process: Process
        self.started, self.ended = asyncio.Event(), asyncio.Event()

    async def start(self) -> Process:
        self.process = await super().start()
        self.started.set()
        return self.process

    def has_ended(self, again_in_seconds: float) -> None:
        super().has_ended(again_in_seconds)
        self.ended.set()


Happening = Callable[[Watched, Watched, CallSockets], Awaitable[None]]


def between_two(folder: Path, happening: Happening) -> None:
    """Runs what happens while one worker is loaded, and another one of the same app is there to take its place."""

    async def happen() -> None:
        project = Project.at(folder)
        project.data.mkdir(exist_ok=True)
        with call_sockets(project) as (sockets,):
            first, second = Watched(project, sockets), Watched(project, sockets)
            try:
                async with asyncio.timeout(60):
                    await first.load()
                    first.take_over()
                    await happening(first, second, sockets)
            finally:
                for worker in (first, second):
                    await worker.stop(grace_seconds=10)

    asyncio.run(happen())


async def is_turned_away(sockets: CallSockets) -> bool:
    """Whether this process, and no worker, answers a caller."""
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(sockets.callers.getsockname())
        caller.setblocking(False)
        # By then the loop has looked at its sockets.
        for _ in range(3):
            await asyncio.sleep(0)
        try:
            return caller.recv(1) == b""
        except BlockingIOError:
            return False


def test_a_new_version_that_does_not_load_turns_nobody_away(app: WriteApp) -> None:
    folder = app()

    async def happening(first: Watched, second: Watched, sockets: CallSockets) -> None:
        # It cannot take the caller before the test has looked.
        os.kill(first.process.pid, signal.SIGSTOP)
        try:
            (folder / "app.py").write_text("import nothing_like_it\n")
            with pytest.raises(WorkerLost):
                await second.load()
            await second.ended.wait()
            assert not await is_turned_away(sockets)
        finally:
            os.kill(first.process.pid, signal.SIGCONT)

    between_two(folder, happening)


def test_one_that_ends_while_it_waits_for_its_predecessor_turns_nobody_away_and_waits_again(app: WriteApp) -> None:
    async def happening(first: Watched, second: Watched, sockets: CallSockets) -> None:
        os.kill(first.process.pid, signal.SIGSTOP)
        try:
            await second.load()
            os.kill(second.process.pid, signal.SIGKILL)
            await second.ended.wait()
            assert not await is_turned_away(sockets)
            second.started.clear()
            await second.started.wait()
            second.take_over()
            assert not await is_turned_away(sockets)
        finally:
            os.kill(first.process.pid, signal.SIGCONT)

    between_two(app(), happening)


def test_of_two_that_cannot_serve_the_second_turns_away_when_the_first_is_gone(app: WriteApp) -> None:
    async def happening(first: Watched, second: Watched, sockets: CallSockets) -> None:
        await first.ended.wait()
        assert await is_turned_away(sockets)
        await second.load()
        await second.ended.wait()
        await first.stop(grace_seconds=10)
        assert not await is_turned_away(sockets)
        second.take_over()
        second.ended.clear()
        await second.ended.wait()
        assert await is_turned_away(sockets)

    between_two(without_a_place_for_objects(app()), happening)


def test_one_that_could_not_serve_before_it_takes_over_turns_away_from_that_moment(app: WriteApp) -> None:
    async def happening(first: Watched, second: Watched, sockets: CallSockets) -> None:
        await first.stop(grace_seconds=10)
        await second.load()
        await second.ended.wait()
        second.take_over()
        assert await is_turned_away(sockets)

    between_two(without_a_place_for_objects(app()), happening)


def without_a_place_for_objects(folder: Path) -> Path:
    """The app loads, and its worker ends as soon as it would serve."""
    (folder / "data").mkdir()
    (folder / "data" / "objects").write_text("a file where a folder should be")
    return folder
