"""A request has one reading, and an app sees just the headers that it may trust as much as its client."""

import http.client
import socket
from collections.abc import Iterator

import pytest

from tests.melee.web.serving import Serving, Told, answer, serving, told_in

POST = b"POST / HTTP/1.1\r\nHost: a\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Serving]:
    with serving(Told()) as server:
        yield server


def test_a_header_with_an_underscore_does_not_pose_as_one_with_a_hyphen(client: socket.socket) -> None:
    client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX_Forwarded_For: 6.6.6.6\r\nX-Real: 1\r\n\r\n")
    _status, _headers, body = answer(client)
    assert told_in(body)["headers"] == [["host", "a"], ["x-real", "1"]]


def test_a_header_that_comes_as_a_trailer_is_no_header(client: socket.socket) -> None:
    client.sendall(CHUNKED + b"\r\n2\r\nhi\r\n0\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n")
    told = told_in(answer(client)[2])
    assert told["body"] == "hi"
    assert told["headers"] == [["host", "a"], ["transfer-encoding", "chunked"]]


def test_an_empty_header_is_one_and_keeps_to_itself(client: socket.socket) -> None:
    client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX-One:\r\nX-Two: \r\nX-Three: 3\r\n\r\n")
    assert told_in(answer(client)[2])["headers"] == [["host", "a"], ["x-one", ""], ["x-two", ""], ["x-three", "3"]]


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(
            POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", id="length and chunks"
        ),
        pytest.param(CHUNKED + b"Content-Length: 2\r\n\r\n0\r\n\r\n", id="chunks and length"),
        pytest.param(POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi!", id="two lengths"),
        pytest.param(POST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi", id="a length twice"),
        pytest.param(POST + b"Content-Length: 2, 2\r\n\r\nhi", id="a list of lengths"),
        pytest.param(POST + b"Content-Length: +2\r\n\r\nhi", id="a length with a sign"),
        pytest.param(POST + b"Content-Length: -2\r\n\r\nhi", id="a length below zero"),
        pytest.param(POST + b"Content-Length: \r\n\r\nhi", id="an empty length"),
        pytest.param(POST + b"Content-Length: 18446744073709551618\r\n\r\nhi", id="a length beyond 64 bits"),
        pytest.param(POST + b"Content-Length : 2\r\n\r\nhi", id="a space before the colon"),
        pytest.param(POST + b"Transfer-Encoding: identity\r\n\r\nhi", id="another coding"),
        pytest.param(POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", id="a coding inside chunks"),
        pytest.param(POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", id="chunks inside a coding"),
        pytest.param(CHUNKED + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", id="chunks twice"),
        pytest.param(CHUNKED + b"\r\n0x2\r\nhi\r\n0\r\n\r\n", id="a prefix on the size of a chunk"),
        pytest.param(CHUNKED + b"\r\nfffffffffffffffff\r\nhi", id="a chunk beyond 64 bits"),
        pytest.param(CHUNKED + b"\r\n2\nhi\n0\n\n", id="chunks without carriage returns"),
        pytest.param(POST + b"X-One: 1\r\n  2\r\n\r\n", id="a folded header"),
        pytest.param(POST + b"X-One: 1\x002\r\n\r\n", id="a null byte in a header"),
        pytest.param(POST + b"X One: 1\r\n\r\n", id="a space in a header's name"),
        pytest.param(POST + b": 1\r\n\r\n", id="a header without a name"),
        pytest.param(b"GET / HTTP/1.1\nHost: a\n\n", id="lines without carriage returns"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", id="two hosts"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="no host"),
        pytest.param(b"GET /\r\n\r\n", id="HTTP/0.9"),
        pytest.param(b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", id="HTTP/2 in the dress of HTTP/1"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", id="HTTP/2"),
        pytest.param(b"GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n", id="a path that is not ASCII"),
        pytest.param(b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", id="CONNECT to a host"),
        pytest.param(b"CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n", id="CONNECT to a path"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", id="TLS"),
    ],
)
def test_what_has_two_readings_or_none_is_refused_with_400_and_the_connection_ends(
    client: socket.socket, request_bytes: bytes
) -> None:
    client.sendall(request_bytes)
    status, headers, body = answer(client)
    assert status == 400
    assert headers["connection"] == "close"
    assert headers["content-type"] == "text/plain; charset=utf-8"
    assert body.startswith(b"400 ")
    assert client.recv(1) == b""


def test_http_1_0_without_a_host_is_served(client: socket.socket) -> None:
    client.sendall(b"GET / HTTP/1.0\r\n\r\n")
    status, headers, _body = answer(client)
    assert (status, headers["connection"]) == (200, "close")


@pytest.mark.parametrize("protocol", ["websocket", "h2c"])
def test_a_wish_to_upgrade_is_ignored_and_the_connection_serves_on(client: socket.socket, protocol: str) -> None:
    upgrade = f"GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\nX-One: 1\r\n\r\n"
    for _ in range(2):
        client.sendall(upgrade.encode())
        status, _headers, body = answer(client)
        assert status == 200
        assert told_in(body)["path"] == "/chat"
        assert told_in(body)["headers"] == [["host", "a"], ["connection", "Upgrade"], ["x-one", "1"]]
    client.sendall(b"GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
    assert told_in(answer(client)[2])["path"] == "/next"


@pytest.mark.parametrize(
    "framed",
    [
        pytest.param(b"Content-Length: 32\r\n\r\nGET /admin HTTP/1.1\r\nHost: a\r\n\r\n", id="length"),
        pytest.param(
            b"Transfer-Encoding: chunked\r\n\r\n20\r\nGET /admin HTTP/1.1\r\nHost: a\r\n\r\n\r\n0\r\n\r\n", id="chunks"
        ),
    ],
)
def test_the_body_of_a_request_that_wishes_to_upgrade_is_its_body_and_not_the_next_request(
    client: socket.socket, framed: bytes
) -> None:
    client.sendall(POST + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n" + framed)
    assert told_in(answer(client)[2])["body"] == "GET /admin HTTP/1.1\r\nHost: a\r\n\r\n"
    client.sendall(b"GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
    assert told_in(answer(client)[2])["path"] == "/next"


def test_a_wish_to_upgrade_that_comes_in_pieces_is_ignored_as_well(server: Serving, client: socket.socket) -> None:
    whole = POST + b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nhi"
    for end in range(1, len(whole) + 1):
        client.sendall(whole[end - 1 : end])
        server.wait_for_bytes(client, end)
    told = told_in(answer(client)[2])
    assert (told["method"], told["body"]) == ("POST", "hi")


def test_a_last_request_that_wishes_to_upgrade_is_answered_and_the_connection_ends(client: socket.socket) -> None:
    client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close, Upgrade\r\nUpgrade: websocket\r\n\r\nmore")
    assert answer(client)[0] == 200
    assert client.recv(1) == b""


def test_the_client_of_the_standard_library_is_understood(server: Serving) -> None:
    connection = http.client.HTTPConnection(*server.address, timeout=60)
    for body in (None, b"hi", iter([b"h", b"i"])):
        connection.request("PUT", "/a%20b?c=d", body, encode_chunked=True)
        told = told_in(connection.getresponse().read())
        assert (told["method"], told["path"], told["body"]) == ("PUT", "/a b", "hi" if body else "")
    connection.close()
