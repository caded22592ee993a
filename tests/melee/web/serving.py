"""uvicorn on a real socket, with the protocol that melee gives it, in a loop whose time is moved, not waited for."""

import asyncio
import http.client
import json
import logging
import queue
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import uvicorn

from melee.web.limits import LimitedProtocol

WAIT_SECONDS = 60

T = TypeVar("T")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Message, Receive, Send], Awaitable[None]]


class MovedLoop(asyncio.SelectorEventLoop):
    """A loop whose time runs, and jumps when it is told to."""

    jumped_seconds = 0.0

    def time(self) -> float:
        return super().time() + self.jumped_seconds


class Serving:
    """Inside `with serving(app) as server`, the app is served. What goes wrong in uvicorn or the loop fails the block.

    Attributes:
        address: where it listens.
    """

    def __init__(self, app: AsgiApp, listener: socket.socket) -> None:
        self.address: tuple[str, int] = listener.getsockname()
        self._arrival = arrival = threading.Condition()
        self._received: dict[Any, int] = {}
        self._made: set[Any] = set()
        self._held_up: set[Any] = set()
        self._lost: set[Any] = set()
        received, made, held_up, lost = self._received, self._made, self._held_up, self._lost

        class Observed(LimitedProtocol):
            def connection_made(self, transport: Any) -> None:
                super().connection_made(transport)
                with arrival:
                    made.add(self.client)
                    arrival.notify_all()

            def data_received(self, data: bytes) -> None:
                super().data_received(data)
                with arrival:
                    received[self.client] = received.get(self.client, 0) + len(data)
                    arrival.notify_all()

            def pause_writing(self) -> None:
                super().pause_writing()
                with arrival:
                    held_up.add(self.client)
                    arrival.notify_all()

            def connection_lost(self, exc: Exception | None) -> None:
                super().connection_lost(exc)
                with arrival:
                    lost.add(self.client)
                    arrival.notify_all()

        self.server = uvicorn.Server(
            uvicorn.Config(app, http=Observed, ws="none", lifespan="off", log_config=None, access_log=False)
        )
        self.loop = MovedLoop()
        self.faults: list[str] = []
        self.loop.set_exception_handler(lambda _loop, context: self.faults.append(str(context)))
        self._thread = threading.Thread(target=self._serve, args=[listener])

    def connect(self, receive_buffer: int | None = None) -> socket.socket:
        """A client that the server has accepted; it waits a minute for the server, and no longer."""
        client = socket.socket()
        client.settimeout(WAIT_SECONDS)
        if receive_buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.connect(self.address)
        with self._arrival:
            assert self._arrival.wait_for(lambda: client.getsockname() in self._made, WAIT_SECONDS)
        return client

    def wait_for_bytes(self, client: socket.socket, count: int) -> None:
        """Returns when the server has read so many bytes from a client, all in all."""
        with self._arrival:
            assert self._arrival.wait_for(lambda: self._received.get(client.getsockname(), 0) >= count, WAIT_SECONDS)

    def wait_until_held_up(self, client: socket.socket) -> None:
        """Returns when the server has had to wait for a client that does not read."""
        with self._arrival:
            assert self._arrival.wait_for(lambda: client.getsockname() in self._held_up, WAIT_SECONDS)

    def wait_for_end(self, client: socket.socket) -> None:
        """Returns when the server has let go of a client's connection."""
        with self._arrival:
            assert self._arrival.wait_for(lambda: client.getsockname() in self._lost, WAIT_SECONDS)

    def holds(self, client: socket.socket) -> bool:
        return client.getsockname() not in self._lost

    def move(self, seconds: float) -> None:
        """Moves the loop's time, and returns when what was due by then has run."""

        async def jump() -> None:
            self._jump(seconds)
            for _ in range(3):
                await asyncio.sleep(0)

        asyncio.run_coroutine_threadsafe(jump(), self.loop).result(WAIT_SECONDS)

    def run(self, function: Callable[[], T]) -> T:
        """Runs a function in the loop, between its other callbacks, and returns its result."""

        async def call() -> T:
            return function()

        return asyncio.run_coroutine_threadsafe(call(), self.loop).result(WAIT_SECONDS)

    def connections(self) -> list[LimitedProtocol]:
        connections: list[Any] = self.run(lambda: list(self.server.server_state.connections))
        return connections

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        for connection in self.connections():
            self.run(connection.transport.abort)
        self.server.should_exit = True
        while self._thread.is_alive():
            # uvicorn looks every tenth of a second whether it is to end, and so does each step of its end.
            with suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self._jump, 1)
            self._thread.join(0.01)

    def _jump(self, seconds: float) -> None:
        self.loop.jumped_seconds += seconds

    def _serve(self, listener: socket.socket) -> None:
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            runner.run(self.server.serve(sockets=[listener]))


@contextmanager
def serving(app: AsgiApp, says: Sequence[str] = ()) -> Iterator[Serving]:
    """
    Args:
        says: what uvicorn complains of; anything else is a failure.
    """
    errors = _Errors()
    uvicorn_log = logging.getLogger("uvicorn.error")
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        server = Serving(app, listener)
        uvicorn_log.addHandler(errors)
        server.start()
        try:
            yield server
        finally:
            server.stop()
            uvicorn_log.removeHandler(errors)
    seen = server.faults + errors.lines
    assert seen == [*says], seen


class _Errors(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


def answer(client: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """The one answer that a client gets before its connection closes or waits: status, headers by lower-case names,
    body."""
    response = http.client.HTTPResponse(client)
    response.begin()
    body = response.read()
    headers = {name.lower(): value for name, value in response.getheaders()}
    response.close()
    return response.status, headers, body


def until_closed(client: socket.socket) -> bytes:
    """All that still comes; a connection that is reset ends it too."""
    received = bytearray()
    try:
        while data := client.recv(65_536):
            received += data
    except ConnectionResetError:
        pass
    return bytes(received)


class Told:
    """An app that tells what it was asked, as JSON; what it sees is in `requests` as soon as their bodies are whole.

    `/held` waits before it answers until the test calls `let_go`, or until its client leaves, which counts as `left`.
    """

    def __init__(self) -> None:
        self.requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.left: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._may_go = threading.Event()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message["body"]
            if not message["more_body"]:
                break
        else:
            self.left.put(scope["path"])
            return
        headers = [[name.decode(), value.decode("latin-1")] for name, value in scope["headers"]]
        told = {"method": scope["method"], "path": scope["path"], "headers": headers, "body": body.decode()}
        self.requests.put(told)
        if scope["path"] == "/held":
            await asyncio.get_running_loop().run_in_executor(None, self._may_go.wait, WAIT_SECONDS)
        answer = json.dumps(told).encode()
        length = str(len(answer)).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": answer})

    def let_go(self) -> None:
        self._may_go.set()


def told_in(answer_body: bytes) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(answer_body)
    return told
