"""A server that does what a test wants with each connection, in the place of somebody else's."""

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

PATIENCE_SECONDS = 30


class Upstream:
    """A server on a free port whose every connection is handled by `answer`, in a thread.

    Attributes:
        url: where it listens.
        requests: the text of each request that came, up to the end of its headers and its body.
    """

    def __init__(self, answer: Callable[[socket.socket], None]) -> None:
        self.requests: list[str] = []
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = ThreadPoolExecutor(8)

    def serve(self) -> None:
        # Ends when the listener is shut down.
        with suppress(OSError):
            while True:
                self._threads.submit(self._handle, self._listener.accept()[0])

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads.shutdown()

    def _handle(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            client.settimeout(PATIENCE_SECONDS)
            self.requests.append(_request(client))
            self._answer(client)


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
def upstream(answer: Callable[[socket.socket], None]) -> Iterator[Upstream]:
    server = Upstream(answer)
    serving = threading.Thread(target=server.serve)
    serving.start()
    try:
        yield server
    finally:
        server.close()
        serving.join()


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
