"""Outgoing HTTP beside a server that does everything wrong, on real sockets."""

import gzip
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from melee import http
from melee.errors import HttpError
from melee.outgoing import before_sending
from tests.melee.upstream import answering, dripping, silent, upstream

LATE = r"there was no whole answer within 0\.2 s"


def test_an_answer_has_its_status_headers_and_body() -> None:
    with upstream(answering("größer".encode(), headers="X-Kind: a\r\nContent-Type: text/plain\r\n")) as server:
        answer = http.get(f"{server.url}/feed", params={"page": 2}, headers={"Accept": "text/plain"})
    assert (answer.status, answer.ok, answer.text) == (200, True, "größer")
    assert answer.headers["x-kind"] == "a"
    request_line, *headers = server.requests[0].splitlines()
    assert request_line == "GET /feed?page=2 HTTP/1.1"
    assert "Accept: text/plain" in headers


@pytest.mark.parametrize(
    ("ask", "method"),
    [(http.get, "GET"), (http.post, "POST"), (http.put, "PUT"), (http.patch, "PATCH"), (http.delete, "DELETE")],
)
def test_each_method_has_its_function(ask: Callable[[str], http.Response], method: str) -> None:
    with upstream(answering(b"")) as server:
        ask(server.url)
    assert server.requests[0].startswith(f"{method} / HTTP/1.1")


def test_a_body_is_sent_as_json_or_as_a_form() -> None:
    with upstream(answering(b"")) as server:
        http.post(server.url, json={"to": "ada"})
        http.post(server.url, data={"to": "ada"})
    assert [request.splitlines()[-1] for request in server.requests] == ['{"to":"ada"}', "to=ada"]


def test_the_idempotency_key_is_sent_beside_other_headers() -> None:
    with upstream(answering(b"")) as server:
        http.post(server.url, headers={"X-Kind": "a"}, idempotency_key="7f3a")
    assert {"X-Kind: a", "Idempotency-Key: 7f3a"} <= set(server.requests[0].splitlines())


def test_json_is_read() -> None:
    with upstream(answering(b'\xef\xbb\xbf{"price": 1.5}')) as server:
        assert http.get(server.url).json() == {"price": 1.5}


def test_a_compressed_answer_is_unpacked() -> None:
    with upstream(answering(gzip.compress(b"small"), headers="Content-Encoding: gzip\r\n")) as server:
        assert http.get(server.url).content == b"small"


@pytest.mark.parametrize("rubbish", [b"<html>", b'{"price": NaN}', b"\xff", b"", b"[" * 100_000])
def test_what_is_no_json_is_an_error_of_http(rubbish: bytes) -> None:
    with upstream(answering(rubbish)) as server:
        answer = http.get(server.url)
        with pytest.raises(http.Error, match="it sent no JSON"):
            answer.json()


def test_a_charset_that_is_none_is_an_error_of_http() -> None:
    with upstream(answering(b"ab", headers="Content-Type: text/plain; charset=hex\r\n")) as server:
        answer = http.get(server.url)
        with pytest.raises(http.Error, match="it sent no text"):
            _ = answer.text


def test_a_status_is_an_error_when_it_is_asked_for() -> None:
    with upstream(answering(b"later", "503 Service Unavailable")) as server:
        answer = http.get(f"{server.url}/feed?token=secret")
        assert (answer.ok, answer.text) == (False, "later")
        with pytest.raises(http.Error, match=r"^GET http://127\.0\.0\.1:\d+/feed: it answered 503$") as caught:
            answer.raise_for_status()
    assert caught.value.status == 503


def test_an_answer_that_is_good_is_handed_on() -> None:
    with upstream(answering(b"[]")) as server:
        assert http.get(server.url).raise_for_status().json() == []


def test_a_redirect_is_followed() -> None:
    with upstream(answering(b"there")) as there:
        moved = answering(b"", "302 Found", f"Location: {there.url}/feed\r\n")
        with upstream(moved) as here:
            assert http.get(here.url).text == "there"


def test_a_redirect_to_the_same_server_comes_on_a_connection_of_its_own() -> None:
    # A server may close one that is kept, and says so too late for whoever is just using it.
    after_the_answer: list[bytes] = []

    def answer(client: socket.socket) -> None:
        moved = len(server.requests) == 1
        client.sendall(
            b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n"
            if moved
            else b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nthere"
        )
        after_the_answer.append(client.recv(1))

    with upstream(answer) as server:
        assert http.get(server.url).text == "there"
    assert after_the_answer == [b"", b""]


def test_a_redirect_to_itself_is_an_error() -> None:
    with (
        upstream(answering(b"", "302 Found", "Location: /\r\n")) as server,
        pytest.raises(http.Error, match="redirects"),
    ):
        http.get(server.url)


def test_nobody_listening_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(HttpError, match="Connection refused") as caught:
        http.get(f"http://127.0.0.1:{port}/")
    assert caught.value.status is None


@pytest.mark.parametrize("url", ["", "feed.json", "ftp://example.com/", "http://[::1/", "http://exa\x00mple/"])
def test_what_is_no_address_of_http_is_an_error(url: str) -> None:
    with pytest.raises(http.Error):
        http.get(url)


@pytest.mark.parametrize(
    "answer",
    [
        silent,
        dripping(b"HTTP/1.1 200 OK\r\nX-Endless: "),
        dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"),
        dripping(b"HTTP/1.1 200 OK\r\n\r\n"),
    ],
    ids=["silent", "headers", "body", "body without a length"],
)
def test_a_server_that_takes_too_long_is_left(answer: Callable[[socket.socket], None]) -> None:
    # Its thread ends when the client has hung up, and the block when its threads have ended.
    with upstream(answer) as server, pytest.raises(http.Error, match=LATE):
        http.get(server.url, timeout=0.2)


def test_a_handshake_that_takes_too_long_is_left() -> None:
    with upstream(silent) as server, pytest.raises(http.Error, match=LATE):
        http.get(server.url.replace("http", "https"), timeout=0.2)


def test_the_time_is_for_all_redirects_together() -> None:
    with upstream(dripping(b"HTTP/1.1 200 OK\r\n\r\n")) as slow:
        redirect = answering(b"", "302 Found", f"Location: {slow.url}\r\n")
        with upstream(redirect) as quick, pytest.raises(http.Error, match=LATE):
            http.get(quick.url, timeout=0.2)


@pytest.mark.parametrize(
    "broken", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", b"no HTTP\r\n\r\n", b"HTTP/1.1 200"]
)
def test_an_answer_that_is_not_whole_is_an_error(broken: bytes) -> None:
    with upstream(lambda client: client.sendall(broken)) as server, pytest.raises(http.Error):
        http.get(server.url)


def test_an_answer_that_is_too_large_is_not_taken() -> None:
    packed = gzip.compress(bytes(http.BYTES_AT_MOST + 1))
    whole = answering(packed, headers="Content-Encoding: gzip\r\n")
    with upstream(whole) as server, pytest.raises(http.Error, match="larger than 32 MiB"):
        http.get(server.url)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_a_time_that_is_none_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="pass a number of seconds above 0"):
        http.get("http://127.0.0.1/", timeout=seconds)


def test_nothing_is_sent_before_what_was_written_is_safe() -> None:
    asked = []

    def refuse(attempt: str) -> None:
        asked.append(attempt)
        raise RuntimeError("the disk is full")

    with upstream(answering(b"")) as server:
        token = before_sending.set(refuse)
        try:
            with pytest.raises(RuntimeError, match="disk is full"):
                http.post(f"{server.url}/mail?token=secret")
        finally:
            before_sending.reset(token)
    assert (asked, server.requests) == ([f"POST {server.url}/mail"], [])


def test_a_server_that_speaks_no_tls_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as threads:

        def answer_in_plain() -> None:
            client, _address = listener.accept()
            with client:
                client.recv(65536)
                client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        answered = threads.submit(answer_in_plain)
        with pytest.raises(http.Error, match="SSL"):
            http.get(f"https://127.0.0.1:{listener.getsockname()[1]}/")
        answered.result()
