"""What a request child does, in a thread of the test: real sockets, and a request at a time."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import msgspec

from melee.web.exchange import FRAME_HEADER, Kind, Request, read_head, request_message
from melee.web.request_child import serve_requests
from melee.web.target import WsgiApp

WAIT_SECONDS = 60

GET = Request(
    id="0123abcd",
    method="GET",
    path=b"/",
    query=b"",
    http_version="1.1",
    scheme="http",
    client=("192.0.2.7", 50_000),
    server=("127.0.0.1", 8000),
    headers=[(b"host", b"melee.example")],
    body_bytes=0,
    body=b"",
)


def get(path: bytes = b"/", headers: list[tuple[bytes, bytes]] | None = None, **others: Any) -> Request:
    return msgspec.structs.replace(GET, path=path, headers=headers or GET.headers, **others)


def says(body: str | bytes, status: str = "200 OK") -> WsgiApp:
    """An app that answers to each request the same."""

    def app(_environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        start_response(status, [("Content-Type", "text/plain")])
        return [body.encode() if isinstance(body, str) else body]

    return app


def post(body: bytes, headers: list[tuple[bytes, bytes]] | None = None, path: bytes = b"/") -> Request:
    return get(path, headers, method="POST", body=body, body_bytes=len(body))


@dataclass
class Answer:
    """What came for a request. `end` is None when it broke off."""

    status: int
    headers: dict[str, str]
    body: bytes
    end: Kind | None


class Served:
    """The gateway's end of a connection to a child.

    Attributes:
        error: what the child raised.
    """

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(WAIT_SECONDS)
        self._socket = connection
        self.error: BaseException | None = None

    def ask(self, request: Request, body: IO[bytes] | None = None) -> None:
        socket.send_fds(self._socket, [request_message(request)], [body.fileno()] if body else [])

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def hang_up(self) -> None:
        self._socket.close()

    def frame(self) -> tuple[Kind, bytes] | None:
        """The next one; None when the child has closed the connection."""
        header = self._read(FRAME_HEADER.size)
        if not header:
            return None
        kind, length = FRAME_HEADER.unpack(header)
        return Kind(kind), self._read(length)

    def answer(self) -> Answer:
        """The whole response to a request."""
        answer = Answer(0, {}, b"", None)
        while frame := self.frame():
            kind, payload = frame
            if kind is Kind.HEAD:
                assert not answer.status
                head = read_head(payload)
                answer.status = head.status
                answer.headers = {name.decode(): value.decode("latin-1") for name, value in head.headers}
            elif kind is Kind.BODY:
                assert answer.status
                assert payload
                answer.body += payload
            else:
                answer.end = kind
                break
        return answer

    def _read(self, count: int) -> bytes:
        received = b""
        while len(received) < count and (part := self._socket.recv(count - len(received))):
            received += part
        return received


@contextmanager
def served(app: WsgiApp, requests_per_child: int = 1) -> Iterator[Served]:
    """Inside, a child serves an app."""
    ours, theirs = socket.socketpair()
    connection = Served(ours)

    def serve() -> None:
        # As the end of its process would close it.
        with theirs:
            try:
                serve_requests(app, theirs, requests_per_child)
            except BaseException as error:  # noqa: BLE001 - the test looks at it
                connection.error = error

    child = threading.Thread(target=serve)
    child.start()
    try:
        yield connection
    finally:
        ours.close()
        child.join(WAIT_SECONDS)
        assert not child.is_alive()


def answer_of(app: WsgiApp, request: Request = GET, body: IO[bytes] | None = None) -> Answer:
    """What an app answers to one request."""
    with served(app) as child:
        child.ask(request, body)
        answer = child.answer()
    assert child.error is None
    return answer
