"""A client that takes nothing is cut off, one that takes a little is served to the end."""

import socket
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from melee.web.slow_readers import SEND_SECONDS
from tests.melee.web.serving import Message, Receive, Send, Serving, serving, until_closed

GET = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
PART = b"x" * 65_536
PARTS = 256
RECEIVE_BUFFER = 65_536
LOOK_SECONDS = SEND_SECONDS / 12


class Large:
    """An app that answers with 16 MiB, more than a kernel keeps for a client that does not read."""

    def __init__(self) -> None:
        self.is_done = Future[None]()

    async def __call__(self, _scope: Message, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        for _ in range(PARTS):
            await send({"type": "http.response.body", "body": PART, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        self.is_done.set_result(None)


@pytest.fixture
def app() -> Large:
    return Large()


@pytest.fixture
def client(server: Serving) -> Iterator[socket.socket]:
    with server.connect(RECEIVE_BUFFER) as client:
        client.sendall(GET)
        server.wait_until_held_up(client)
        yield client


def test_a_client_that_reads_nothing_is_reset_after_60_s_and_the_app_goes_on(
    server: Serving, app: Large, client: socket.socket
) -> None:
    _move_by_looks(server, SEND_SECONDS - LOOK_SECONDS)
    assert server.holds(client)
    assert not app.is_done.done()
    _move_until_it_ends(server, client)
    app.is_done.result(60)
    with pytest.raises(ConnectionResetError):
        _take(client, PARTS * len(PART))


def test_a_client_that_reads_a_little_now_and_then_is_served_to_the_end(
    server: Serving, app: Large, client: socket.socket
) -> None:
    received = bytearray()
    for _ in range(10):
        _move_by_looks(server, SEND_SECONDS - LOOK_SECONDS)
        assert server.holds(client)
        received += _take(client, 2 * RECEIVE_BUFFER)
    received += until_closed(client)
    app.is_done.result(60)
    assert received.count(b"x") == PARTS * len(PART)


def test_a_client_that_stops_below_a_response_whose_last_bytes_are_not_sent_is_reset_as_well() -> None:
    """uvicorn has closed its end by then, and would wait for ever."""

    async def whole(_scope: Message, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": PART * PARTS})

    with serving(whole) as server, server.connect(RECEIVE_BUFFER) as client:
        client.sendall(GET)
        server.wait_until_held_up(client)
        (connection,) = server.connections()
        assert connection.transport.is_closing()
        _move_until_it_ends(server, client)


def test_a_client_that_leaves_the_last_kibibyte_is_reset_as_well() -> None:
    async def until_the_kernel_is_full(_scope: Message, _receive: Receive, send: Send) -> None:
        (connection,) = stuck.server.server_state.connections
        await send({"type": "http.response.start", "status": 200})
        while not connection.transport.get_write_buffer_size():
            await send({"type": "http.response.body", "body": PART[:1024], "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    with serving(until_the_kernel_is_full) as stuck, stuck.connect(RECEIVE_BUFFER) as client:
        client.sendall(GET)
        stuck.wait_until_held_up(client)
        _move_until_it_ends(stuck, client)


def test_a_client_that_leaves_while_something_waits_for_it_is_forgotten(
    server: Serving, app: Large, client: socket.socket
) -> None:
    name = client.getsockname()
    client.close()
    app.is_done.result(60)
    _move_by_looks(server, 2 * SEND_SECONDS)
    assert all(connection.client != name for connection in server.connections())


def _move_by_looks(server: Serving, seconds: float) -> None:
    for _ in range(round(seconds / LOOK_SECONDS)):
        server.move(LOOK_SECONDS)


def _move_until_it_ends(server: Serving, client: socket.socket) -> None:
    """The kernel may have taken some more after the server was held up first, which begins the minute again."""
    for _ in range(100):
        if server.holds(client):
            server.move(LOOK_SECONDS)
    assert not server.holds(client)


def _take(client: socket.socket, count: int) -> bytes:
    taken = bytearray()
    while len(taken) < count:
        part = client.recv(count - len(taken))
        assert part
        taken += part
    return bytes(taken)
