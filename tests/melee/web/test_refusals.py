"""A client that is refused gets its answer, whatever it sends meanwhile, and no response before it is spoilt."""

import asyncio
import json
import socket
from collections.abc import Iterator
from concurrent.futures import Future
from io import StringIO

import pytest
import structlog

from melee import log
from melee.web import refusals
from melee.web.refusals import LINGER_SECONDS
from tests.melee.web.serving import Message, Receive, Send, Serving, Told, answer, serving, told_in, until_closed

CHUNKED = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
BROKEN_CHUNK = b"no number\r\n"


@pytest.fixture
def hardly_an_end_to_lingering(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what ends is not ended by that."""
    monkeypatch.setattr(refusals, "LINGER_SECONDS", 10_000)


@pytest.fixture
def log_as_before() -> Iterator[None]:
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def test_a_client_that_sends_on_can_read_why_it_was_refused(client: socket.socket) -> None:
    client.sendall(b"no HTTP\r\n\r\n" + b"x" * 2**24)
    assert answer(client)[0] == 400
    assert client.recv(1) == b""


@pytest.mark.usefixtures("hardly_an_end_to_lingering")
def test_a_refused_connection_ends_when_its_client_closes(server: Serving, client: socket.socket) -> None:
    client.sendall(b"no HTTP\r\n\r\n")
    assert answer(client)[0] == 400
    assert server.holds(client)
    client.shutdown(socket.SHUT_WR)
    server.wait_for_end(client)


def test_a_refused_connection_ends_after_half_a_minute_although_its_client_stays(
    server: Serving, client: socket.socket
) -> None:
    client.sendall(b"no HTTP\r\n\r\n")
    assert answer(client)[0] == 400
    server.move(LINGER_SECONDS / 2)
    assert server.holds(client)
    server.move(LINGER_SECONDS / 2)
    server.wait_for_end(client)


@pytest.mark.usefixtures("hardly_an_end_to_lingering")
def test_a_server_that_stops_does_not_wait_for_a_refused_client(server: Serving, client: socket.socket) -> None:
    client.sendall(CHUNKED + BROKEN_CHUNK)
    assert answer(client)[0] == 400
    (connection,) = server.connections()
    server.run(connection.shutdown)
    server.wait_for_end(client)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(b"no HTTP\r\n\r\n", id="in its first line"),
        pytest.param(b"GET http://a HTTP/1.1\r\nHost: a\r\n\r\n", id="when its head is whole"),
    ],
)
def test_what_follows_a_request_is_refused_after_its_response(
    server: Serving, app: Told, client: socket.socket, broken: bytes
) -> None:
    first = b"GET /held HTTP/1.1\r\nHost: a\r\n\r\n"
    client.sendall(first)
    app.requests.get(timeout=60)
    client.sendall(broken)
    server.wait_for_bytes(client, len(first + broken))
    app.let_go()
    received = until_closed(client)
    assert received.count(b"HTTP/1.1 ") == 1
    assert told_in(received.partition(b"\r\n\r\n")[2])["path"] == "/held"


def test_requests_before_the_broken_one_are_all_answered(client: socket.socket) -> None:
    get = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    client.sendall(get + get + b"no HTTP\r\n\r\n" + get)
    assert until_closed(client).count(b"HTTP/1.1 200 OK") == 2


@pytest.mark.usefixtures("hardly_an_end_to_lingering")
def test_an_app_that_waits_for_a_broken_body_is_told_that_its_client_left(
    server: Serving, app: Told, client: socket.socket
) -> None:
    client.sendall(CHUNKED)
    server.wait_for_bytes(client, len(CHUNKED))
    # The app waits now.
    server.move(0)
    client.sendall(BROKEN_CHUNK)
    assert answer(client)[0] == 400
    assert app.left.get(timeout=60) == "/"


def test_an_app_that_looks_for_a_body_only_after_it_broke_is_told_as_well() -> None:
    """It asks the client to go on (100 Continue) only when it looks."""

    begun, may_look, seen = Future[None](), Future[None](), Future[Message]()

    async def late(_scope: Message, receive: Receive, _send: Send) -> None:
        begun.set_result(None)
        await asyncio.wrap_future(may_look)
        seen.set_result(await receive())

    with serving(late) as server, server.connect() as client:
        client.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n")
        begun.result(60)
        client.sendall(BROKEN_CHUNK)
        assert answer(client)[0] == 400
        may_look.set_result(None)
        assert seen.result(60) == {"type": "http.disconnect"}


def test_a_client_can_send_on_although_the_app_took_nothing_of_its_broken_body() -> None:
    """uvicorn stops reading while the app leaves more than 64 KiB of it."""

    async def late(_scope: Message, _receive: Receive, _send: Send) -> None:
        await asyncio.wrap_future(may_end)

    may_end = Future[None]()
    with serving(late) as server, server.connect() as client:
        client.sendall(CHUNKED + b"10001\r\n" + b"x" * 0x10001 + b"\r\n" + BROKEN_CHUNK + b"x" * 2**24)
        assert answer(client)[0] == 400
        may_end.set_result(None)


def test_a_body_that_breaks_behind_a_request_that_is_under_way_ends_the_connection(
    app: Told, client: socket.socket
) -> None:
    client.sendall(b"GET /held HTTP/1.1\r\nHost: a\r\n\r\n" + CHUNKED)
    app.requests.get(timeout=60)
    client.sendall(BROKEN_CHUNK)
    assert until_closed(client) == b""
    app.let_go()


def test_a_body_that_breaks_below_a_response_ends_it_there_and_the_client_can_read_it() -> None:
    async def early(_scope: Message, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 413, "headers": [(b"content-length", b"5")]})
        await send({"type": "http.response.body", "body": b"large", "more_body": True})
        while (await receive())["type"] == "http.request":
            pass
        await send({"type": "http.response.body", "body": b""})

    with serving(early) as server, server.connect() as client:
        client.sendall(CHUNKED)
        assert answer(client)[2] == b"large"
        client.sendall(BROKEN_CHUNK + b"x" * 2**24)
        assert client.recv(1) == b""


def test_a_body_that_breaks_after_its_response_ends_the_connection_without_another() -> None:
    async def early(_scope: Message, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
        await send({"type": "http.response.body", "body": b"early"})

    with serving(early) as server, server.connect() as client:
        client.sendall(CHUNKED)
        assert answer(client)[2] == b"early"
        client.sendall(BROKEN_CHUNK)
        assert client.recv(1) == b""


@pytest.mark.usefixtures("log_as_before")
def test_a_refusal_is_logged_with_the_address_of_its_client(client: socket.socket) -> None:
    written = StringIO()
    log.to_json(written)
    client.sendall(b"no HTTP\r\n\r\n")
    answer(client)
    line = json.loads(written.getvalue())
    assert line["client"] == "{}:{}".format(*client.getsockname())
    assert line["status"] == 400
