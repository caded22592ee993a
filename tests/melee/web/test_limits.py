"""Nothing that a client sends, or does not send, holds memory or a connection without end."""

import asyncio
import socket
from concurrent.futures import Future
from contextlib import ExitStack

import pytest

from melee.web import limits
from melee.web.limits import (
    BODY_AVERAGE_AFTER_SECONDS,
    BODY_BYTES_PER_SECOND,
    BODY_SECONDS,
    HEADER_BYTES_AT_MOST,
    HEADER_SECONDS,
    PIPELINED_AT_MOST,
    URL_BYTES_AT_MOST,
)
from melee.web.refusals import LINGER_SECONDS
from tests.melee.web.serving import Message, Receive, Send, Serving, Told, answer, serving, told_in, until_closed

GET = b"GET / HTTP/1.1\r\nHost: a\r\n"
HELD = b"GET /held HTTP/1.1\r\nHost: a\r\n\r\n"
HELD_CHUNKED = b"POST /held HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
LONG = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"


# Sizes


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(GET + b"X-One: " + b"x" * 2**16 + b"\r\n\r\n", id="a header of 64 KiB"),
        pytest.param(GET + b"X-One: " + b"x" * 2**24, id="a header that has no end"),
        pytest.param(GET + b"x" * 2**16, id="a name that has no end"),
        pytest.param(GET + b"X: 1\r\n" * 1000 + b"\r\n", id="a thousand tiny headers"),
        pytest.param(CHUNKED + b"0\r\nX-One: " + b"x" * 2**16 + b"\r\n\r\n", id="a trailer of 64 KiB"),
        pytest.param(CHUNKED + b"0\r\nX-One: " + b"x" * 2**24, id="a trailer that has no end"),
        pytest.param(CHUNKED + b"0\r\n" + b"X: 1\r\n" * 1000 + b"\r\n", id="a thousand tiny trailers"),
        pytest.param(CHUNKED + b"2;x=" + b"x" * 2**24, id="an extension of a chunk that has no end"),
    ],
)
def test_headers_beyond_32_kib_are_refused_with_431(client: socket.socket, request_bytes: bytes) -> None:
    client.sendall(request_bytes)
    status, headers, body = answer(client)
    assert (status, headers["connection"], headers["content-type"]) == (431, "close", "text/plain; charset=utf-8")
    assert body.startswith(b"431 ")
    assert client.recv(1) == b""


def test_headers_that_come_in_pieces_are_refused_as_soon_as_they_are_too_large(
    server: Serving, client: socket.socket
) -> None:
    client.sendall(GET + b"X-One: ")
    sent = len(GET) + 7
    while sent <= HEADER_BYTES_AT_MOST:
        server.wait_for_bytes(client, sent)
        client.sendall(b"x" * 1000)
        sent += 1000
    assert answer(client)[0] == 431


def test_a_client_that_was_refused_is_not_refused_again(server: Serving, client: socket.socket) -> None:
    client.sendall(GET + b"X-One: ")
    server.wait_for_bytes(client, len(GET) + 7)
    client.sendall(b"x" * 2**16)
    assert answer(client)[0] == 431
    server.move(HEADER_SECONDS)
    assert client.recv(1) == b""
    assert server.holds(client)


@pytest.mark.parametrize(("spare_bytes", "status"), [(0, 200), (-1, 431)])
def test_headers_of_just_32_kib_are_served(client: socket.socket, spare_bytes: int, status: int) -> None:
    # A header counts for its name, its value and 32 bytes; the request line for its address.
    value = b"x" * (HEADER_BYTES_AT_MOST - len("/") - (len("hosta") + 32) - (len("x-one") + 32) - spare_bytes)
    client.sendall(GET + b"X-One: " + value + b"\r\n\r\n")
    assert answer(client)[0] == status


@pytest.mark.parametrize(("length", "status"), [(URL_BYTES_AT_MOST, 200), (URL_BYTES_AT_MOST + 1, 414), (2**24, 414)])
def test_an_address_beyond_8_kib_is_refused_with_414(client: socket.socket, length: int, status: int) -> None:
    client.sendall(b"GET /" + b"a" * (length - 1) + b" HTTP/1.1\r\nHost: a\r\n\r\n")
    assert answer(client)[0] == status


def test_many_small_chunks_are_no_headers(client: socket.socket) -> None:
    client.sendall(CHUNKED + b"1;name=value\r\nx\r\n" * 10_000 + b"0\r\n\r\n")
    assert len(told_in(answer(client)[2])["body"]) == 10_000


def test_a_hundred_requests_on_one_connection_are_each_measured_by_themselves(client: socket.socket) -> None:
    for _ in range(100):
        client.sendall(GET + b"X-One: " + b"x" * 1000 + b"\r\n\r\n")
        assert answer(client)[0] == 200


# Time


def test_headers_that_do_not_arrive_within_10_s_are_refused_with_408(server: Serving, client: socket.socket) -> None:
    _drip(server, client, GET, seconds=HEADER_SECONDS - 2)
    assert server.holds(client)
    server.move(2)
    status, headers, _body = _due_answer(client)
    assert (status, headers["connection"]) == (408, "close")
    assert client.recv(1) == b""


def test_a_connection_that_sends_nothing_is_closed_after_10_s_without_a_word(
    server: Serving, client: socket.socket
) -> None:
    server.move(HEADER_SECONDS - 2)
    assert server.holds(client)
    server.move(2)
    assert _due_end(client)


def test_the_time_of_a_further_request_begins_with_its_first_byte(server: Serving, client: socket.socket) -> None:
    client.sendall(GET + b"\r\n")
    assert answer(client)[0] == 200
    _drip(server, client, GET, seconds=HEADER_SECONDS - 2, before=len(GET) + 2)
    assert server.holds(client)
    server.move(2)
    assert _due_answer(client)[0] == 408


def test_empty_lines_do_not_keep_a_connection(server: Serving, client: socket.socket) -> None:
    client.sendall(GET + b"\r\n")
    assert answer(client)[0] == 200
    _drip(server, client, b"\r\n" * 10, seconds=HEADER_SECONDS, before=len(GET) + 2)
    assert _due_end(client)


def test_a_half_request_behind_one_that_is_served_spoils_no_response(
    server: Serving, app: Told, client: socket.socket
) -> None:
    client.sendall(HELD + GET)
    app.requests.get(timeout=60)
    server.wait_for_bytes(client, len(HELD + GET))
    server.move(HEADER_SECONDS)
    app.let_go()
    received = until_closed(client)
    assert received.count(b"HTTP/1.1 ") == received.count(b"HTTP/1.1 200 OK") == 1
    assert b"\r\nconnection: close\r\n" in received


def test_a_half_request_on_a_connection_that_is_closing_spoils_no_response() -> None:
    async def large(_scope: Message, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": b"x" * 2**24})

    with serving(large) as server, server.connect(receive_buffer=65_536) as client:
        client.sendall(GET + b"\r\n" + GET)
        server.wait_until_held_up(client)
        server.wait_for_bytes(client, 2 * len(GET) + 2)
        (connection,) = server.connections()
        server.run(connection.shutdown)
        server.move(HEADER_SECONDS)
        received = until_closed(client)
    assert received.count(b"HTTP/1.1 ") == 1
    assert received.count(b"x") == 2**24


@pytest.mark.parametrize(
    "pieces", [[HELD], [HELD_CHUNKED, b"2\r\nhi\r\n", b"0\r\n\r\n"]], ids=["without a body", "in chunks"]
)
def test_a_response_may_take_longer_than_any_of_these_times(
    server: Serving, app: Told, client: socket.socket, pieces: list[bytes]
) -> None:
    for number, piece in enumerate(pieces):
        client.sendall(piece)
        server.wait_for_bytes(client, len(b"".join(pieces[: number + 1])))
    app.requests.get(timeout=60)
    server.move(1000)
    app.let_go()
    status, headers, _body = answer(client)
    assert (status, headers.get("connection")) == (200, None)


def test_a_body_that_stops_for_30_s_is_refused_with_408_and_the_app_learns_that_it_ended(
    server: Serving, app: Told, client: socket.socket
) -> None:
    client.sendall(LONG + b"x")
    server.wait_for_bytes(client, len(LONG) + 1)
    server.move(BODY_SECONDS - 2)
    assert server.holds(client)
    server.move(2)
    assert _due_answer(client)[0] == 408
    assert app.left.get(timeout=60) == "/"


def test_a_body_that_goes_on_is_waited_for(server: Serving, client: socket.socket) -> None:
    piece = b"x" * 100_000
    client.sendall(LONG)
    for number in range(10):
        client.sendall(piece)
        server.wait_for_bytes(client, len(LONG) + (number + 1) * len(piece))
        server.move(BODY_SECONDS - 2)
    assert len(told_in(answer(client)[2])["body"]) == 1_000_000


def test_a_body_that_drips_is_refused_with_408(server: Serving, client: socket.socket) -> None:
    client.sendall(LONG)
    _drip(server, client, b"x" * 3, seconds=BODY_AVERAGE_AFTER_SECONDS - 3, before=len(LONG))
    assert server.holds(client)
    server.move(4)
    assert _due_answer(client)[0] == 408


def test_each_kibibyte_of_a_body_gives_it_another_second(server: Serving, client: socket.socket) -> None:
    client.sendall(LONG)
    _drip(
        server,
        client,
        b"x" * 3 * 5 * BODY_BYTES_PER_SECOND,
        seconds=BODY_AVERAGE_AFTER_SECONDS + 12,
        before=len(LONG),
        pieces=3,
    )
    assert server.holds(client)
    server.move(4)
    assert _due_answer(client)[0] == 408


def test_what_frames_a_body_is_no_progress(server: Serving, client: socket.socket) -> None:
    client.sendall(CHUNKED)
    _drip(server, client, b"2;name=value", seconds=BODY_SECONDS, before=len(CHUNKED))
    assert _due_answer(client)[0] == 408


def test_a_body_that_the_app_does_not_take_is_not_counted_against_its_client() -> None:
    may_look, seen = Future[None](), Future[int]()

    async def late(_scope: Message, receive: Receive, send: Send) -> None:
        await asyncio.wrap_future(may_look)
        count = 0
        while True:
            message = await receive()
            count += len(message["body"])
            if not message["more_body"]:
                break
        seen.set_result(count)
        await send({"type": "http.response.start", "status": 204})
        await send({"type": "http.response.body", "body": b""})

    with serving(late) as server, server.connect() as client:
        client.sendall(LONG + b"x" * 200_000)
        server.wait_for_bytes(client, len(LONG) + 2**16)
        for _ in range(10):
            server.move(BODY_SECONDS)
        may_look.set_result(None)
        client.sendall(b"x" * 800_000)
        assert seen.result(60) == 1_000_000
        assert answer(client)[0] == 204


# Connections


def test_a_connection_too_many_is_told_to_try_again(
    server: Serving, client: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONNECTIONS_AT_MOST", 2)
    monkeypatch.setattr(limits, "TURNED_AWAY_AT_MOST", 1)
    client.sendall(GET + b"\r\n")
    assert answer(client)[0] == 200
    with server.connect() as second, server.connect() as third, server.connect() as fourth:
        status, headers, body = answer(third)
        assert (status, headers["retry-after"], headers["connection"]) == (503, "5", "close")
        assert body.startswith(b"503 ")
        assert until_closed(fourth) == b""
        for each in (second, third):
            each.shutdown(socket.SHUT_RDWR)
            server.wait_for_end(each)
    with server.connect() as fifth:
        fifth.sendall(GET + b"\r\n")
        assert answer(fifth)[0] == 200


def test_a_client_that_is_turned_away_holds_its_connection_no_longer_than_it_may_linger(
    server: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONNECTIONS_AT_MOST", 0)
    with server.connect() as client:
        assert answer(client)[0] == 503
        client.sendall(GET + b"\r\n")
        server.move(LINGER_SECONDS)
        server.wait_for_end(client)


def test_a_response_is_sent_at_once(server: Serving, client: socket.socket) -> None:
    (connection,) = server.connections()
    accepted = connection.transport.get_extra_info("socket")
    assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    client.sendall(GET + b"\r\n")
    assert answer(client)[0] == 200


# Pipelining


def test_pipelined_requests_are_answered_in_their_order(client: socket.socket) -> None:
    paths = [f"/{number}" for number in range(PIPELINED_AT_MOST)]
    client.sendall(b"".join(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % path.encode() for path in paths))
    assert [told_in(_body_of_next(client))["path"] for _ in paths] == paths


def test_a_client_that_pipelines_100_000_requests_fills_no_memory_and_gets_the_first_answers(
    server: Serving, app: Told, client: socket.socket
) -> None:
    client.sendall(HELD)
    app.requests.get(timeout=60)
    client.sendall((GET + b"\r\n") * 100_000)
    server.wait_for_bytes(client, len(HELD) + 2**16)
    (connection,) = server.connections()
    assert len(connection.pipeline) == PIPELINED_AT_MOST
    app.let_go()
    assert until_closed(client).count(b"HTTP/1.1 200 OK") == 1 + PIPELINED_AT_MOST


def _due_answer(client: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """An answer that was sent when the time was moved, and not for another limit that is reached by waiting."""
    client.settimeout(5)
    return answer(client)


def _due_end(client: socket.socket) -> bool:
    client.settimeout(5)
    return client.recv(1) == b""


def _drip(
    server: Serving, client: socket.socket, data: bytes, seconds: float, before: int = 0, pieces: int | None = None
) -> None:
    """Sends data in equal pieces (default: bytes), the last when so many seconds are over. Begins when the server has
    got so many bytes before it."""
    server.wait_for_bytes(client, before)
    pieces = pieces or len(data)
    size = len(data) // pieces
    for number in range(pieces):
        server.move(seconds / pieces)
        client.sendall(data[number * size : (number + 1) * size])
        server.wait_for_bytes(client, before + (number + 1) * size)


def _body_of_next(client: socket.socket) -> bytes:
    """The body of one of several answers, of which each byte but its own is left for the next."""
    with ExitStack() as opened:
        lines = opened.enter_context(client.makefile("rb", buffering=0))
        length = 0
        while line := lines.readline().strip():
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        body = b""
        while len(body) < length:
            body += lines.read(length - len(body))
        return body
