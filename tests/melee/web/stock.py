"""A stock of real request children in a loop of the test, and an app that does in a child what a test asks for."""

import asyncio
import os
import signal
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from melee.processes.control import Ended, Failed, Forked, Loaded
from melee.web.child import RequestChild, Response
from melee.web.children import Children
from melee.web.exchange import Request
from melee.web.request_child import serve_requests
from tests.melee import gate
from tests.melee.processes.forking import Work, forker_process, leave_behind
from tests.melee.web.served import get

WAIT_SECONDS = 60

Message = TypeVar("Message", Forked, Ended)
Told = Loaded | Failed | Forked | Ended


class Observed(Children):
    """Children, and the test hears what they hear."""

    def __init__(self, control: socket.socket, spares: int, stay: bool) -> None:
        super().__init__(control, spares, stay)
        self._heard: asyncio.Queue[Told] = asyncio.Queue()

    def _hear(self, message: Told) -> None:
        super()._hear(message)
        self._heard.put_nowait(message)

    async def hears(self, kind: type[Message]) -> Message:
        """The next message of a kind; those of other kinds before it are forgotten."""
        while not isinstance(message := await self._heard.get(), kind):
            pass
        return message


def in_loop(test: Callable[[], Awaitable[None]]) -> None:
    """Runs a test in a loop of its own, whose callbacks must not fail."""
    faults: list[str] = []

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: faults.append(str(context)))
        async with asyncio.timeout(WAIT_SECONDS):
            await test()

    asyncio.run(run())
    assert faults == []


def with_children(
    test: Callable[[Observed, int], Awaitable[None]], *, spares: int = 2, per_child: int = 1, work: Work | None = None
) -> None:
    """Runs a test with the children of a forker, and with the process id of that.

    Args:
        work: of a child; by default it serves `obliging`.
    """

    def serve(connection: socket.socket) -> None:
        serve_requests(partial(obliging, connection), connection, per_child)

    with forker_process(work or serve) as (pid, control):

        async def run() -> None:
            children = Observed(control, spares, stay=per_child != 1)
            try:
                await test(children, pid)
            finally:
                children.close()

        in_loop(run)


def obliging(connection: socket.socket, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """The app of a child: what it does is in the path; where it says so is a gate of the test, in the query."""
    action, gate = environ["PATH_INFO"], environ["QUERY_STRING"]
    if action == "/wait":
        _call(gate)
    elif action == "/hang":
        _call(gate, leave_behind(ignoring=(signal.SIGTERM,)))
        signal.pause()
    elif action == "/leave":
        _call(gate, leave_behind(in_own_session=True))
        os._exit(3)
    elif action == "/hang-up":
        connection.shutdown(socket.SHUT_RDWR)
        signal.pause()
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(os.getpid()).encode()]


def _call(gate: str, pid: int = 0) -> None:
    """Tells the test of a process, and waits until it hangs up."""
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(gate)
        caller.sendall(str(pid).encode())
        caller.recv(1)


class Gate(gate.Gate):
    """The test's side."""

    async def called(self) -> tuple[socket.socket, int]:
        """A call, which goes on when it is closed, and the process that it tells of."""
        call = await asyncio.to_thread(self.reached)
        return call, int(call.recv(20))


async def begun(child: RequestChild, path: str = "/", query: object = "", request: Request | None = None) -> Response:
    """A response that has begun to come from a child."""
    return await child.begin(request or get(path.encode(), query=str(query).encode()), None)


async def whole(response: Response) -> bytes:
    """The body of a response, when all of it has come."""
    assert (await response.head()).status == 200
    body = b""
    while part := await response.body.read():
        body += part
    return body


async def answer(children: Children, path: str = "/", query: object = "") -> int:
    """The process id of a child that has answered."""
    return int(await whole(await begun(await children.take(), path, query)))
