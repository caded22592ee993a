"""A server that does what a test wants with each connection, in the place of somebody else's."""

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from ssl import SSLContext

PATIENCE_SECONDS = 30


class Upstream:
    """A server whose every connection is handled by `answer`, in a thread.

    Attributes:
        url: where it listens, on a free port.
        requests: the text of each request that came, up to the end of its headers and its body.
    """

    def __init__(
        self, answer: Callable[[socket.socket], None], listener: socket.socket, tls: SSLContext | None
    ) -> None:
        self.requests: list[str] = []
        self._answer, self._listener, self._tls = answer, listener, tls
        host, port = listener.getsockname()[:2]
        self.url = f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"
        self._threads = ThreadPoolExecutor(8)
        self._handled: list[Future[None]] = []
        self._serving = threading.Thread(target=self._serve)
        self._serving.start()

    def close(self) -> None:
        """Waits for the connections that are open; raises what went wrong in one of them, such as a failed assert."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._serving.join()
        self._listener.close()
        for handled in self._handled:
            handled.result()
        self._threads.shutdown()

    def _serve(self) -> None:
        # Ends when the listener is shut down.
        with suppress(OSError):
            while True:
                self._handled.append(self._threads.submit(self._handle, self._listener.accept()[0]))

    def _handle(self, client: socket.socket) -> None:
        client.settimeout(PATIENCE_SECONDS)
        with (
            client,
            suppress(OSError),
            self._tls.wrap_socket(client, server_side=True) if self._tls else client as stream,
        ):
            self.requests.append(_request(stream))
            self._answer(stream)


def _request(client: socket.socket) -> str:
    received = b""
    while b"\r\n\r\n" not in received:
        received += _some(client)
    head, _, body = received.partition(b"\r\n\r\n")
    announced = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    length = int(announced[0].split(b":")[1]) if announced else 0
    while len(body) < length:
        body += _some(client)
    return (head + b"\r\n\r\n" + body).decode()


def _some(client: socket.socket) -> bytes:
    received = client.recv(65536)
    if not received:
        raise ConnectionError("the client hung up")
    return received


@contextmanager
def upstream(
    answer: Callable[[socket.socket], None], listener: socket.socket | None = None, tls: SSLContext | None = None
) -> Iterator[Upstream]:
    server = Upstream(answer, listener or socket.create_server(("127.0.0.1", 0)), tls)
    try:
        yield server
    finally:
        server.close()


def answering(body: bytes, status: str = "200 OK", headers: str = "") -> Callable[[socket.socket], None]:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode()
    return lambda client: client.sendall(head + body)


def silent(client: socket.socket) -> None:
    """Says nothing until the client hangs up."""
    client.recv(1)


def dripping(head: bytes) -> Callable[[socket.socket], None]:
    """Begins, and then sends a byte so often that no single wait is long, until the client hangs up."""

    def drip(client: socket.socket) -> None:
        client.sendall(head)
        client.settimeout(0.02)
        while True:
            client.sendall(b"a")
            with suppress(TimeoutError):
                if not client.recv(1):
                    return

    return drip


def redirecting(to: str, status: str = "302 Found") -> Callable[[socket.socket], None]:
    return answering(b"", status, f"Location: {to}\r\n")
