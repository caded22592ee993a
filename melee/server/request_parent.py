"""The request parent as the server keeps it: a process, and the children that it forks at the moment."""

import asyncio
import os
import socket
import sys
from asyncio.subprocess import Process

from melee.processes.supervisor import Supervisor, spawn
from melee.web.children import Children, ParentLost
from melee.web.target import Target


class RequestParent:
    """Keeps a request parent alive.

    Args:
        target: what it serves, as it is configured now.
    """

    name = "request parent"

    def __init__(self, target: Target) -> None:
        self._target = target
        self._children: Children | None = None
        self._news = asyncio.Event()
        self._problem = ""
        self._supervisor = Supervisor(self)

    def begin(self) -> None:
        self._supervisor.start()

    async def children(self) -> Children:
        """The children that serve now, waiting for a process that is being started.

        Raises:
            ParentLost: the last one could not be started; why.
        """
        while not self._children or self._children.lost.done():
            if self._problem:
                raise ParentLost(self._problem)
            self._news.clear()
            await self._news.wait()
        await self._children.loaded
        return self._children

    async def retire(self, seconds_at_most: float) -> None:
        """Lets the requests that are being served end, and then the process."""
        self._supervisor.let_end()
        try:
            if self._children:
                self._children.retire()
                await asyncio.wait([self._children.lost], timeout=seconds_at_most)
        finally:
            await self.stop(seconds_at_most)

    async def stop(self, grace_seconds: float) -> None:
        """Ends the process, and with it every child."""
        await self._supervisor.stop(grace_seconds)

    async def start(self) -> Process:
        ours, theirs = socket.socketpair()
        with theirs:
            control, parent = str(theirs.fileno()), str(os.getpid())
            command = [
                sys.executable,
                "-m",
                "melee.web",
                self._target.argument,
                "--control",
                control,
                "--parent",
                parent,
            ]
            process = await spawn(command, theirs.fileno(), folder=self._target.folder)
        web = self._target.config.web
        self._children = Children(ours, web.slots, stay=web.requests_per_child != 1)
        self._children.loaded.add_done_callback(self._has_loaded)
        self._problem = ""
        self._news.set()
        return process

    def _command(self, control: socket.socket) -> list[str]:
        options = ["--control", str(control.fileno()), "--parent", str(os.getpid())]
        return [sys.executable, "-m", "melee.web", self._target.argument, *options]

    def has_ended(self, again_in_seconds: float) -> None:
        children, self._children = self._children, None
        if children:
            children.close()
        if again_in_seconds and not self._problem:
            self._problem = "the request parent ends as soon as it is started; the log says why"
        self._news.set()

    def _has_loaded(self, loaded: asyncio.Future[None]) -> None:
        if error := loaded.exception():
            self._problem = str(error)
        else:
            self._supervisor.serves()
