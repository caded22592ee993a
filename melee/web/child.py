"""One request child as the gateway sees it, and the response that comes from it."""

import asyncio
import socket
from enum import Enum, auto
from typing import Protocol

from melee.web.exchange import FrameReader, Head, Kind, NotAResponse, Request, read_head, request_message
from melee.web.scratch import Scratch
from melee.web.spool import Spool

_READ_BYTES = 256 * 1024


class ChildState(Enum):
    """What a child does: waits for a request, serves one, or has served its last."""

    WAITING = auto()
    SERVING = auto()
    LEAVING = auto()


class ChildLost(Exception):
    """A child ended before its response did. `exit_code` is below 0 for a signal, None when nobody knows it."""

    def __init__(self, pid: int, exit_code: int | None) -> None:
        super().__init__(f"request child {pid} ended with {exit_code}")
        self.pid, self.exit_code = pid, exit_code


class NotTaken(Exception):
    """A child ended before it took its request, which surely never ran; another child may have it."""

    def __init__(self, pid: int) -> None:
        super().__init__(f"request child {pid} ended before it took the request")
        self.pid = pid


class _Owner(Protocol):
    def is_done_with(self, child: "RequestChild") -> None: ...

    def kill(self, child: "RequestChild") -> None: ...


class RequestChild:
    """A process that serves the requests it is given, one after the other."""

    def __init__(self, pid: int, connection: socket.socket, owner: _Owner) -> None:
        connection.setblocking(False)
        self.pid, self._socket, self._owner = pid, connection, owner
        self._loop = asyncio.get_running_loop()
        self.state = ChildState.WAITING
        self.ended: asyncio.Future[int] = self._loop.create_future()
        """Its exit code, when it is gone and all that it started."""
        self._response: Response | None = None

    @property
    def is_answering(self) -> bool:
        return self._response is not None

    @property
    def has_hung_up(self) -> bool:
        """Whether it has ended, or is about to; nobody may have heard of it yet. It says nothing before a request."""
        try:
            return not self._socket.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return False

    async def begin(self, request: Request, body: Scratch | None) -> "Response":
        """Hands over a request; raises `NotTaken` when the child ended before."""
        if self.state is ChildState.LEAVING:
            # To ask for its replacement may have shown that its parent is gone.
            raise NotTaken(self.pid)
        message, descriptors = request_message(request), [body.fileno()] if body else []
        try:
            sent = socket.send_fds(self._socket, [message], descriptors)
            if sent < len(message):
                await self._loop.sock_sendall(self._socket, message[sent:])
        except BaseException as error:
            # It has a part of the request at most, and so cannot be given another.
            self._give_up()
            if isinstance(error, ConnectionError):
                raise NotTaken(self.pid) from None
            raise
        response = self._response = Response()
        self._loop.add_reader(self._socket.fileno(), self._read)
        return response

    def kill(self) -> None:
        """Ends the child and all that it started."""
        self._owner.kill(self)

    def close(self) -> None:
        """Closes its connection; a child that waits for a request ends then."""
        self.state = ChildState.LEAVING
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket.fileno())
            self._socket.close()

    def has_ended(self, exit_code: int) -> None:
        self.ended.set_result(exit_code)
        # What it sent before its end is still in the socket, and may be the rest of a response.
        while self._response and self._read():
            pass
        if self._response:
            self._break_off(self._response)
        else:
            self.close()

    def _read(self) -> bool:
        """Takes what has arrived of the response; returns whether there was something."""
        response = self._response
        assert response
        try:
            received = self._socket.recv(_READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return False
        except ConnectionResetError:
            # So does the kernel with a connection that closes over bytes nobody read.
            self._break_off(response, NotTaken(self.pid))
            return False
        if not received:
            self._break_off(response)
            return False
        try:
            last = response.feed(received)
        except NotAResponse:
            self._break_off(response)
            return False
        if last is Kind.END:
            self._loop.remove_reader(self._socket.fileno())
            self._response, self.state = None, ChildState.WAITING
            self._owner.is_done_with(self)
        elif last:
            self._leave()
        return True

    def _break_off(self, response: "Response", error: Exception | None = None) -> None:
        response.break_off(error or ChildLost(self.pid, self.ended.result() if self.ended.done() else None))
        self._give_up()

    def _give_up(self) -> None:
        """Nothing more can come of this child, which may have closed its connection and run on."""
        self.kill()
        self._leave()

    def _leave(self) -> None:
        self._response = None
        self.close()
        self._owner.is_done_with(self)


class Response:
    """A response as it comes from a child: its head, then its body through a spool.

    The child is done when it has written all, however slowly the client reads.
    """

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._frames = FrameReader()
        self._head: asyncio.Future[Head] = loop.create_future()
        self.body = Spool()
        self.over: asyncio.Future[None] = loop.create_future()
        """Done when nothing more comes, whole or not."""

    async def head(self) -> Head:
        """Waits for it; raises what `break_off` was given. A reader that gives up leaves it to come."""
        return await asyncio.shield(self._head)

    def feed(self, received: bytes) -> Kind | None:
        """Takes bytes from the child; returns the kind of the frame that ended the response, if one did.

        Raises:
            NotAResponse: that is none, or more than one.
        """
        last = None
        for kind, payload in self._frames.feed(received):
            if self.over.done() or self._head.done() == (kind is Kind.HEAD):
                raise NotAResponse(f"a frame of kind {kind.name} out of its turn")
            if kind is Kind.HEAD:
                self._head.set_result(read_head(payload))
            elif kind is Kind.BODY:
                self.body.write(payload)
            else:
                self.body.end()
                self.over.set_result(None)
                last = kind
        return last

    def break_off(self, error: Exception) -> None:
        """Nothing more comes, and that was not all."""
        if not self._head.done():
            self._head.set_exception(error)
            # So that nobody has to look at it.
            self._head.exception()
        self.body.fail(error)
        if not self.over.done():
            self.over.set_result(None)
