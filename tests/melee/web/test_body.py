"""The body of a request is read whole before anybody is asked to serve it, up to what is allowed."""

import os
import resource
import socket
from concurrent.futures import Future
from pathlib import Path

import pytest

from melee.web.body import (
    BODY_BYTES_AT_MOST,
    DISCARD_SECONDS,
    INLINE_BYTES,
    Gone,
    NoRoom,
    TooLarge,
    discard_rest,
    whole_body,
)
from tests.melee.child import child_that
from tests.melee.web.serving import Message, Receive, Send, Serving, answer, until_closed

POST = b"POST / HTTP/1.1\r\nHost: a\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


class Reading:
    """An app as the gateway is one: it reads the body, answers 413 to one that is too large, and says what it saw."""

    def __init__(self) -> None:
        self.seen = Future[tuple[int, bytes, bytes | None]]()
        self.gone = Future[None]()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        try:
            body = await whole_body(scope, receive)
        except Gone:
            self.gone.set_result(None)
            return
        except TooLarge:
            await _answer(send, 413, more=True)
            await discard_rest(receive)
            await send({"type": "http.response.body", "body": b""})
            return
        try:
            in_file = os.read(body.file.fileno(), body.size + 1) if body.file else None
            self.seen.set_result((body.size, body.inline, in_file))
        finally:
            body.close()
        await _answer(send, 200, more=False)


async def _answer(send: Send, status: int, more: bool) -> None:
    headers = [(b"content-length", b"2"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok", "more_body": more})


@pytest.fixture
def app() -> Reading:
    return Reading()


def test_a_request_without_a_body_has_an_empty_one(app: Reading, client: socket.socket) -> None:
    client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    assert app.seen.result(60) == (0, b"", None)


@pytest.mark.parametrize("size", [1, INLINE_BYTES])
def test_a_body_up_to_64_kib_is_in_memory(app: Reading, client: socket.socket, size: int) -> None:
    data = os.urandom(size)
    client.sendall(_with_length(size) + data)
    assert app.seen.result(60) == (size, data, None)


@pytest.mark.parametrize("size", [INLINE_BYTES + 1, 5_000_000, BODY_BYTES_AT_MOST])
def test_a_larger_body_is_in_a_file_that_another_process_can_read_from_its_first_byte(
    app: Reading, client: socket.socket, size: int
) -> None:
    data = os.urandom(size)
    client.sendall(_with_length(size) + data)
    assert app.seen.result(60) == (size, b"", data)


def test_what_was_in_memory_goes_to_the_file_when_more_comes(
    server: Serving, app: Reading, client: socket.socket
) -> None:
    data, head = os.urandom(100_000), _with_length(100_000)
    client.sendall(head + data[:1000])
    server.wait_for_bytes(client, len(head) + 1000)
    # The app takes it.
    server.move(0)
    client.sendall(data[1000:])
    assert app.seen.result(60) == (100_000, b"", data)


def test_a_body_in_chunks_is_put_together(app: Reading, client: socket.socket) -> None:
    data = os.urandom(300_000)
    chunks = [data[start : start + 10_000] for start in range(0, len(data), 10_000)]
    client.sendall(CHUNKED + b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n")
    assert app.seen.result(60) == (len(data), b"", data)


def test_a_client_that_asks_first_is_told_to_go_on(app: Reading, client: socket.socket) -> None:
    client.sendall(POST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    assert client.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
    client.sendall(b"hi")
    assert app.seen.result(60) == (2, b"hi", None)


def test_a_client_that_asks_first_is_told_that_it_is_too_large_and_never_sends(client: socket.socket) -> None:
    client.sendall(POST + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % (BODY_BYTES_AT_MOST + 1))
    assert client.recv(12) == b"HTTP/1.1 413"
    client.shutdown(socket.SHUT_WR)
    assert until_closed(client).endswith(b"\r\n\r\nok")


@pytest.mark.parametrize(
    "head", [POST + b"Content-Length: 104857600\r\n\r\n", CHUNKED + b"6400000\r\n"], ids=["length", "chunks"]
)
def test_a_client_that_sends_100_mib_at_once_can_read_that_it_is_too_large(client: socket.socket, head: bytes) -> None:
    client.sendall(head)
    for _ in range(100):
        client.sendall(b"x" * 2**20)
    status, headers, body = answer(client)
    assert (status, headers["connection"], body) == (413, "close", b"ok")


def test_a_body_one_byte_too_large_is_refused(client: socket.socket) -> None:
    client.sendall(CHUNKED + b"%x\r\n" % (BODY_BYTES_AT_MOST + 1) + b"x" * (BODY_BYTES_AT_MOST + 1))
    assert answer(client)[0] == 413


def test_the_rest_of_a_body_that_is_too_large_is_discarded_for_half_a_minute_at_most(
    server: Serving, client: socket.socket
) -> None:
    client.sendall(_with_length(BODY_BYTES_AT_MOST + 1))
    assert answer(client)[0] == 413
    server.move(DISCARD_SECONDS / 2)
    sent = len(_with_length(BODY_BYTES_AT_MOST + 1))
    client.sendall(b"x" * 1000)
    server.wait_for_bytes(client, sent + 1000)
    assert server.holds(client)
    server.move(DISCARD_SECONDS / 2)
    # It is due now; another limit would come later.
    client.settimeout(5)
    assert until_closed(client) == b""


@pytest.mark.parametrize("size", [1000, 5_000_000])
def test_a_client_that_leaves_before_its_body_is_whole_has_gone(app: Reading, client: socket.socket, size: int) -> None:
    client.sendall(_with_length(size + 1) + b"x" * size)
    client.shutdown(socket.SHUT_RDWR)
    app.gone.result(60)


def test_the_file_of_a_body_is_closed_when_its_client_leaves(app: Reading, client: socket.socket) -> None:
    before = _open_files()
    client.sendall(_with_length(5_000_001) + b"x" * 5_000_000)
    client.shutdown(socket.SHUT_RDWR)
    app.gone.result(60)
    assert _open_files() == before


def test_a_full_disk_is_an_error_and_leaves_no_file() -> None:
    def on_a_small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        before = _open_files()
        receive = _messages(b"x" * 65_536, b"x" * 65_536, b"x" * 65_536)
        coroutine = whole_body({"headers": []}, receive)
        with pytest.raises(NoRoom, match="File too large"):
            coroutine.send(None)
        assert _open_files() == before

    # Below the limit on files, the test run could not write either.
    with child_that(on_a_small_disk):
        pass


def _messages(*parts: bytes) -> Receive:
    left = list(parts)

    async def receive() -> Message:
        body = left.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(left)}

    return receive


def _with_length(size: int) -> bytes:
    return POST + b"Content-Length: %d\r\n\r\n" % size


def _open_files() -> set[Path]:
    entries = Path("/proc/self/fd").iterdir()
    # The descriptor that lists the folder is gone again.
    return {entry for entry in entries if entry.exists() and entry.is_file()}
