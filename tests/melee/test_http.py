"""Outgoing HTTP beside a server that does everything wrong, on real sockets."""

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

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


@pytest.mark.parametrize("rubbish", [b"<html>", b'{"price": NaN}', b"\xff", b"", b"[" * 100_000])
def test_what_is_no_json_is_an_error_of_http(rubbish: bytes) -> None:
    with upstream(answering(rubbish)) as server:
        answer = http.get(server.url)
        with pytest.raises(http.Error, match="it sent no JSON"):
            answer.json()


@pytest.mark.parametrize("charset", ["hex", "idna", "punycode", "undefined"])
def test_a_charset_that_is_none_is_an_error_of_http(charset: str) -> None:
    headers = f"Content-Type: text/plain; charset={charset}\r\n"
    with upstream(answering(b"ab\xff", headers=headers)) as server:
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


def test_nobody_listening_is_an_error() -> None:
    # The port is taken, so nobody else begins to listen there.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(HttpError, match="Connection refused") as caught:
            http.get(f"http://127.0.0.1:{taken.getsockname()[1]}/")
    assert caught.value.status is None


def test_a_name_that_nobody_has_is_an_error() -> None:
    with pytest.raises(http.Error, match=r"^GET http://nowhere\.invalid/: .+$"):
        http.get("http://nowhere.invalid/")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "feed.json",
        "ftp://example.com/",
        "http://[::1/",
        "http://exa\x00mple/",
        "http://example.com/\r\nX-More: 1",
        "http://example.com/\ud800",
        "http://a..example/",
        f"http://{'a' * 64}.example/",
    ],
)
def test_what_is_no_address_of_http_is_an_error(url: str) -> None:
    with pytest.raises(http.Error) as caught:
        http.get(url)
    assert len(str(caught.value).encode().splitlines()) == 1


@pytest.mark.parametrize("value", ["secret\n", "secret\r\nX-More: 1", " secret", "secret\x00", "gröecret"])
def test_a_header_that_cannot_be_sent_is_an_error_that_does_not_tell_its_value(value: str) -> None:
    with upstream(answering(b"")) as server, pytest.raises(http.Error) as caught:
        http.get(server.url, headers={"Authorization": value})
    assert str(caught.value).startswith(
        f"GET {server.url}: the header Authorization cannot be sent; pass printable ASCII"
    )
    assert "ecret" not in str(caught.value)
    assert server.requests == []


def test_an_idempotency_key_that_cannot_be_sent_is_an_error() -> None:
    with pytest.raises(http.Error, match="the header Idempotency-Key cannot be sent"):
        http.post("http://127.0.0.1/", idempotency_key="7f\n3a")


def test_a_long_header_is_sent() -> None:
    with upstream(answering(b"")) as server:
        http.get(server.url, headers={"X-Long": "a" * 100_000})
    assert f"X-Long: {'a' * 100_000}" in server.requests[0].splitlines()


def test_a_server_is_found_by_its_name() -> None:
    with upstream(answering(b"here")) as server:
        assert http.get(server.url.replace("127.0.0.1", "localhost")).text == "here"


def test_a_server_is_found_by_its_address_of_ipv6() -> None:
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6")
    with upstream(answering(b"here"), listener) as server:
        assert http.get(server.url).text == "here"


def test_requests_go_through_the_proxy_that_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    with upstream(answering(b"by proxy")) as proxy, upstream(answering(b"direct")) as server:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert http.get("http://nowhere.invalid/feed").text == "by proxy"
        assert http.get(server.url).text == "direct"
    assert proxy.requests[0].startswith("GET http://nowhere.invalid/feed HTTP/1.1")


def test_a_proxy_that_takes_too_long_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    with upstream(dripping(b"HTTP/1.1 200 OK\r\n\r\n")) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        with pytest.raises(http.Error, match=LATE):
            http.get("http://nowhere.invalid/", timeout=0.2)


@pytest.mark.parametrize("proxy", ["gopher://127.0.0.1:1", "http://127.0.0.1:port"])
def test_a_proxy_that_is_none_is_an_error(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(http.Error, match="the proxy that the environment names cannot be used"):
        http.get("http://127.0.0.1/")


def test_passwords_of_the_machine_are_not_sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login ada password secret")
    monkeypatch.setenv("HOME", str(tmp_path))
    with upstream(answering(b"")) as server:
        http.get(server.url)
    assert "Authorization" not in server.requests[0]


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


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 1e12, None])
def test_a_time_that_is_none_is_refused(seconds: Any) -> None:
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
