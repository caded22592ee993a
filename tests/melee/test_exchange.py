"""Where a request is sent on to, and when it ends."""

import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from melee import http
from melee.exchange import Deadline, NoAnswer, _is_same_server
from tests.melee.upstream import Upstream, answering, dripping, redirecting, silent, upstream

CERTIFICATE = Path(__file__).with_name("localhost.pem")
LATE = r"there was no whole answer within 0\.2 s"


@pytest.fixture
def tls(monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """For a server on localhost whose certificate is known to whoever asks it."""
    monkeypatch.setattr(http, "_TLS", ssl.create_default_context(cafile=CERTIFICATE))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATE)
    return context


def sent(server: Upstream) -> set[str]:
    """The lines of the one request that came."""
    (request,) = server.requests
    return set(request.splitlines())


def first_moves(status: str, to: str = "/there") -> Callable[[socket.socket], None]:
    """Answers the first request with a redirect, and the others with what came."""
    answers = iter([redirecting(to, status)])
    return lambda client: next(answers, answering(b"there"))(client)


def test_a_redirect_is_followed() -> None:
    with upstream(answering(b"there")) as there, upstream(redirecting(f"{there.url}/feed")) as here:
        assert http.get(here.url).text == "there"


def test_a_redirect_to_the_same_server_comes_on_a_connection_of_its_own() -> None:
    # A server may close one that is kept, and says so too late for whoever is just using it.
    after_the_answer: list[bytes] = []
    answer = first_moves("302 Found")

    def wait_after_it(client: socket.socket) -> None:
        answer(client)
        after_the_answer.append(client.recv(1))

    with upstream(wait_after_it) as server:
        assert http.get(server.url).text == "there"
    assert after_the_answer == [b"", b""]


def test_a_redirect_to_itself_is_an_error() -> None:
    with upstream(redirecting("/")) as server, pytest.raises(http.Error, match="it redirects more than 20 times"):
        http.get(server.url)
    assert len(server.requests) == 21


@pytest.mark.parametrize("location", ["ftp://example.com/", "http://[", f"http://{'a' * 64}.example/", "http://a b/"])
def test_a_redirect_to_nowhere_is_an_error(location: str) -> None:
    with upstream(redirecting(location)) as server, pytest.raises(http.Error):
        http.get(server.url)


def test_another_server_is_not_told_what_was_meant_for_the_first() -> None:
    headers = {"X-Api-Key": "secret", "Cookie": "id=secret", "Accept": "application/json"}
    with upstream(answering(b"there")) as there, upstream(redirecting(there.url)) as here:
        answer = http.get(here.url, headers=headers, auth=("ada", "secret"), idempotency_key="7f3a")
    assert answer.text == "there"
    assert {"X-Api-Key: secret", "Idempotency-Key: 7f3a"} < sent(here)
    assert "Accept: application/json" in sent(there)
    assert "secret" not in there.requests[0]
    assert {line.partition(":")[0].lower() for line in sent(there)}.isdisjoint(
        {"authorization", "cookie", "idempotency-key", "x-api-key"}
    )


def test_the_same_server_is_sent_the_same_again() -> None:
    with upstream(first_moves("307 Temporary Redirect")) as server:
        http.post(server.url, json={"to": "ada"}, headers={"X-Api-Key": "secret"}, idempotency_key="7f3a")
    first, second = server.requests
    assert second == first.replace("POST / ", "POST /there ")


def test_a_cookie_is_brought_back_to_who_set_it_and_to_nobody_else() -> None:
    def set_it(client: socket.socket) -> None:
        cookie = "Set-Cookie: id=7; Path=/\r\nLocation: /there\r\n" if len(here.requests) == 1 else ""
        answering(b"", "302 Found", cookie or f"Location: {there.url.replace('127.0.0.1', 'localhost')}\r\n")(client)

    with upstream(answering(b"")) as there, upstream(set_it) as here:
        http.get(here.url)
        http.get(there.url)
    assert ["Cookie: id=7" in request for request in here.requests] == [False, True]
    assert [("Cookie" in request) for request in there.requests] == [False, False]


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other"])
def test_a_post_is_never_turned_into_a_get(status: str) -> None:
    # Whoever posts a mail would take the page at the other end for a mail that is sent.
    with upstream(first_moves(status, "/login?next=secret")) as server:
        answer = http.post(f"{server.url}/mails", json={"to": "ada"})
    assert (answer.status, answer.ok, len(server.requests)) == (int(status[:3]), False, 1)
    with pytest.raises(http.Error, match=rf"it answered {status[:3]} and points to {server.url}/login$"):
        answer.raise_for_status()


def test_what_is_sent_stays_at_the_server_that_it_is_sent_to() -> None:
    with upstream(answering(b"")) as there, upstream(redirecting(there.url, "307 Temporary Redirect")) as here:
        assert http.post(here.url, json={"to": "ada"}).status == 307
    assert there.requests == []


def test_a_redirect_from_https_to_http_is_not_followed(tls: ssl.SSLContext) -> None:
    with upstream(answering(b"there")) as plain, upstream(redirecting(plain.url), tls=tls) as safe:
        assert http.get(safe.url).status == 302
    assert plain.requests == []


def test_a_redirect_from_http_to_https_is_followed(tls: ssl.SSLContext) -> None:
    with upstream(answering(b"there"), tls=tls) as safe, upstream(redirecting(safe.url)) as plain:
        assert http.get(plain.url).text == "there"


def test_the_https_of_a_server_is_the_same_server() -> None:
    # By their usual ports, where a test cannot listen.
    here = httpx.URL("http://example.com/a")
    assert _is_same_server(here, httpx.URL("https://example.com:443/b"))
    assert not _is_same_server(here, httpx.URL("https://example.com:8443/b"))
    assert not _is_same_server(here, httpx.URL("http://example.com:8000/b"))
    assert not _is_same_server(here, httpx.URL("http://www.example.com/a"))


def test_the_time_is_for_all_redirects_together() -> None:
    slow = dripping(b"HTTP/1.1 200 OK\r\n\r\n")
    with (
        upstream(slow) as server,
        upstream(redirecting(server.url)) as quick,
        pytest.raises(http.Error, match=LATE),
    ):
        http.get(quick.url, timeout=0.2)


def test_what_a_redirect_says_itself_is_not_read() -> None:
    endless = dripping(b"HTTP/1.1 302 Found\r\nLocation: /there\r\n\r\n")

    def answer(client: socket.socket) -> None:
        (endless if len(server.requests) == 1 else answering(b"there"))(client)

    with upstream(answer) as server:
        assert http.get(server.url).text == "there"


def test_nothing_more_is_sent_when_the_time_is_over() -> None:
    with Deadline(60) as deadline:
        assert 0 < deadline.seconds_left <= 60
    with Deadline(0.01) as deadline:
        deadline._timer.join(timeout=30)
        with pytest.raises(NoAnswer):
            _ = deadline.seconds_left


def test_no_timer_is_left_behind() -> None:
    with upstream(answering(b"")) as server:
        http.get(server.url)
    for timer in [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]:
        timer.join(timeout=5)
        assert not timer.is_alive()


def test_ctrl_c_ends_a_request_that_waits() -> None:
    asked = threading.Event()

    def keep_waiting(client: socket.socket) -> None:
        asked.set()
        silent(client)

    with upstream(keep_waiting) as server:
        command = [sys.executable, "-c", f"from melee import http; http.get({server.url!r}, timeout=600)"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert asked.wait(timeout=30)
            process.send_signal(signal.SIGINT)
            _out, said = process.communicate(timeout=30)
    assert said.splitlines()[-1] == "KeyboardInterrupt"
    assert process.returncode == -signal.SIGINT
