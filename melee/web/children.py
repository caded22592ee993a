"""The children of a request parent as the gateway sees them: a stock from which one is taken for each request."""

import asyncio
import contextlib
import os
import signal
import socket
from typing import assert_never

from melee.processes.control import Channel, Ended, Failed, Fork, Forked, Kill, Loaded, Told
from melee.web.child import ChildState, RequestChild

_PAUSE_SECONDS = 0.5
_LAST_SECONDS = 1


class ParentLost(Exception):
    """The request parent ended, or never got as far as to fork children; why, in one line."""


class Children:
    """The children of one request parent.

    Args:
        control: the socket on which the parent is asked for children, see `processes.control`.
        spares: how many children wait for a request, forked ahead.
        stay: whether a child serves more than one request, and so comes back.
    """

    def __init__(self, control: socket.socket, spares: int, stay: bool) -> None:
        control.setblocking(False)
        self._channel = Channel(control, Told)
        self._spares, self._stay = spares, stay
        self._loop = asyncio.get_running_loop()
        self._living: dict[int, RequestChild] = {}
        # None once the parent is lost; whoever takes it puts it back for the next.
        self._waiting: asyncio.Queue[RequestChild | None] = asyncio.Queue()
        self._asked = 0
        self._is_retired = False
        self.jobs: list[str] = []
        """The durable jobs that the app has registered, once it is loaded."""
        self.loaded: asyncio.Future[None] = self._loop.create_future()
        """Done when children can be taken; `ParentLost` when that will never be."""
        self.lost: asyncio.Future[str] = self._loop.create_future()
        """Done when there are no more children; why."""
        self._loop.add_reader(self._channel.fileno(), self._listen)

    async def take(self) -> RequestChild:
        """A child for one request; `ParentLost` when there will be none."""
        self._ask_for_spares()
        while child := await self._waiting.get():
            if child.state is ChildState.WAITING and not child.has_hung_up:
                child.state = ChildState.SERVING
                self._ask_for_spares()
                return child
        self._waiting.put_nowait(None)
        raise ParentLost(self.lost.result() if self.lost.done() else "it takes no more requests")

    def retire(self) -> None:
        """No more requests will come: the children that wait end now, those that serve after their response, and the
        parent after the last of them. Then `lost` is done."""
        self._is_retired = True
        self._waiting.put_nowait(None)
        for child in self._in_state(ChildState.WAITING):
            child.close()
        self._end_when_done()

    def close(self) -> None:
        """Ends the parent, and with it every child, at once."""
        self._end_what_it_left()
        self._lose("it was stopped")

    def is_done_with(self, child: RequestChild) -> None:
        """The response of a child is over; its `state` says whether it serves another."""
        if child.state is ChildState.WAITING and not self._is_retired:
            self._waiting.put_nowait(child)
        else:
            child.close()

    def kill(self, child: RequestChild) -> None:
        """Ends a child and all that it started."""
        if child.pid in self._living and not self.lost.done():
            self._send(Kill(child.pid))

    def _in_state(self, state: ChildState) -> list[RequestChild]:
        return [child for child in self._living.values() if child.state is state]

    def _ask_for_spares(self) -> None:
        if self._is_retired or self.lost.done() or not self.loaded.done():
            return
        coming = self._asked + len(self._in_state(ChildState.WAITING))
        if self._stay:
            coming += len(self._in_state(ChildState.SERVING))
        missing = self._spares - coming
        if missing > 0:
            self._asked += missing
            self._send(Fork(missing))

    def _ask_later(self) -> None:
        """Replaces a child that ended before it had a request, but not so fast that they do nothing but end."""

        def ask() -> None:
            self._asked -= 1
            self._ask_for_spares()

        # Until then it counts as asked for, so that nobody else does.
        self._asked += 1
        self._loop.call_later(_PAUSE_SECONDS, ask)

    def _send(self, message: Fork | Kill) -> None:
        try:
            self._channel.send(message)
        except OSError as error:
            self._lose(f"it does not answer ({error})")

    def _listen(self) -> None:
        messages = self._channel.receive()
        if messages is None:
            self._end_what_it_left()
            self._lose("the request parent ended")
            return
        for message in messages:
            # One of them may have been the end.
            if not self.lost.done():
                self._hear(message)

    def _hear(self, message: Loaded | Failed | Forked | Ended) -> None:
        match message:
            case Loaded(jobs):
                self.jobs = jobs
                self.loaded.set_result(None)
                self._ask_for_spares()
            case Failed(problem):
                self._lose(problem)
            case Forked(pid):
                self._asked -= 1
                child = RequestChild(pid, socket.socket(fileno=self._channel.take_descriptor()), self)
                self._living[pid] = child
                self.is_done_with(child)
            case Ended(pid, exit_code):
                child = self._living.pop(pid)
                if child.state is ChildState.WAITING:
                    self._ask_later()
                child.has_ended(exit_code)
                self._ask_for_spares()
                self._end_when_done()
            case _:
                assert_never(message)

    def _end_when_done(self) -> None:
        if self._is_retired and not self._living:
            self._lose("it has nothing more to serve")

    def _lose(self, problem: str) -> None:
        if self.lost.done():
            return
        self.lost.set_result(problem)
        self._loop.remove_reader(self._channel.fileno())
        self._channel.close()
        self._waiting.put_nowait(None)
        if not self.loaded.done():
            self.loaded.set_exception(ParentLost(problem))
            # So that nobody has to look at it.
            self.loaded.exception()
        for child in list(self._living.values()):
            # It ends with its parent, and nobody will say when; but for the connection of one that answers, which also
            # tells whether it had taken its request.
            if child.is_answering:
                self._loop.call_later(_LAST_SECONDS, child.has_ended, -signal.SIGKILL)
            else:
                child.has_ended(-signal.SIGKILL)

    def _end_what_it_left(self) -> None:
        """A parent that was killed could not end what its children started."""
        for pid in self._living:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
