"""The request parent as the server keeps it: a process, and the children that it forks at the moment."""

import asyncio
import os
import socket
from asyncio.subprocess import Process

from melee.processes.supervisor import Supervisor, python, spawn
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
        self._problem, self._over = "", ""
        self._is_on_trial = False
        self._supervisor = Supervisor(self)

    def begin(self) -> None:
        self._supervisor.start()

    async def load(self) -> None:
        """Begins, and waits until the app is imported. If it cannot be, nothing is tried again.

        Raises:
            ParentLost: why not.
        """
        self._is_on_trial = True
        self.begin()
        await self.children()
        self._is_on_trial = False

    async def children(self) -> Children:
        """The children that serve now, waiting for a process that is being started.

        Raises:
            ParentLost: the last one could not be started, or none will be any more; why.
        """
        while not (children := self._children) or children.lost.done():
            if problem := self._over or self._problem:
                raise ParentLost(problem)
            self._news.clear()
            await self._news.wait()
        # Others wait for the same; this one may give up.
        await asyncio.shield(children.loaded)
        return children

    @property
    def jobs(self) -> list[str]:
        """The durable jobs that the app has registered, once it is loaded."""
        return self._children.jobs if self._children else []

    async def let_finish(self, seconds_at_most: float) -> None:
        """Lets the requests that are being served end, and takes no more."""
        self._take_no_more()
        if self._children:
            self._children.retire()
            await asyncio.wait([self._children.lost], timeout=seconds_at_most)

    async def stop(self, grace_seconds: float) -> None:
        """Ends the process, and with it every child."""
        self._take_no_more()
        await self._supervisor.stop(grace_seconds)

    async def start(self) -> Process:
        ours, theirs = socket.socketpair()
        try:
            process = await spawn(self._command(theirs), theirs.fileno(), folder=self._target.folder)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        web = self._target.config.web
        self._children = Children(ours, web.slots, stay=web.requests_per_child != 1)
        self._children.loaded.add_done_callback(self._has_loaded)
        self._problem = ""
        self._news.set()
        return process

    def has_ended(self, again_in_seconds: float) -> None:
        children, self._children = self._children, None
        if children:
            children.close()
        if again_in_seconds and not self._problem:
            self._problem = "the request parent ends as soon as it is started; the log says why"
        self._news.set()

    def _command(self, control: socket.socket) -> list[str]:
        options: dict[str, object] = {
            "--control": control.fileno(),
            "--parent": os.getpid(),
            "--workers": self._target.config.objects.workers,
        }
        pairs = [str(part) for option in options.items() for part in option]
        return python("melee.web", self._target.argument, *pairs)

    def _has_loaded(self, loaded: asyncio.Future[None]) -> None:
        if error := loaded.exception():
            self._problem = str(error)
            if self._is_on_trial:
                self._supervisor.let_end()
        else:
            self._supervisor.serves()

    def _take_no_more(self) -> None:
        self._supervisor.let_end()
        self._over = "the request parent was stopped"
        self._news.set()
