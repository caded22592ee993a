"""One exchange with another server: a request, where it is sent on to, and the answer, until the time is over."""

import contextlib
import gzip
import io
import socket
import threading
import zlib
from collections.abc import Mapping
from typing import Any, Self

import httpx

from melee.clock import SystemClock

BYTES_AT_MOST = 32 * 1024 * 1024
REDIRECTS_AT_MOST = 20

# What says nothing about who asks, and does not fit one server only.
_FOR_ANYBODY = ("Accept", "Accept-Language", "If-Modified-Since", "If-None-Match", "Range", "User-Agent")


class NoAnswer(Exception):
    """There is no whole answer; the message says why."""


class Deadline:
    """The end of the time for an exchange.

    httpx limits each wait for the network by itself, and a server that sends a byte now and then would never end. So
    the connections are shut down when the time is over, under whoever waits for them.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds, self.is_over = seconds, False
        self._clock = SystemClock()
        self._ends_at = self._clock.elapsed() + seconds
        self._connections: list[socket.socket] = []
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._timer.cancel()
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()

    @property
    def seconds_left(self) -> float:
        """How long one more wait may be; raises `NoAnswer` when the time is over."""
        left = self._ends_at - self._clock.elapsed()
        if left <= 0:
            self.is_over = True
            raise NoAnswer
        return left

    def watch(self, event: str, info: Mapping[str, Any]) -> None:
        """Is told by httpx of all that happens to a request."""
        if not event.endswith(".connect_tcp.complete"):
            return
        with self._lock:
            # A descriptor of its own: TLS wraps the other one, and httpx closes it when it likes.
            self._connections.append(info["return_value"].get_extra_info("socket").dup())
            self._shut_down_if_over()

    def _end(self) -> None:
        with self._lock:
            self.is_over = True
            self._shut_down_if_over()

    def _shut_down_if_over(self) -> None:
        for connection in self._connections if self.is_over else []:
            # The other side may have been quicker.
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def answer_to(
    client: httpx.Client, request: httpx.Request, auth: tuple[str, str] | None, deadline: Deadline
) -> tuple[httpx.Response, bytes]:
    """Sends a request, and sends it on to where its answers point; returns the last answer and its body, unpacked.

    Raises:
        NoAnswer, httpx.HTTPError: there is no whole answer in time.
    """
    for _ in range(1 + REDIRECTS_AT_MOST):
        request.extensions |= {"timeout": httpx.Timeout(deadline.seconds_left).as_dict(), "trace": deadline.watch}
        answer = client.send(request, auth=auth, stream=True)
        with contextlib.closing(answer):
            there = _sent_on(client, answer)
            if there is None:
                return answer, _unpacked(_whole_body(answer, deadline), answer.headers.get("Content-Encoding", ""))
        request, auth = there, None
    raise NoAnswer(f"it redirects more than {REDIRECTS_AT_MOST} times")


def _sent_on(client: httpx.Client, answer: httpx.Response) -> httpx.Request | None:
    """The request with which a redirect is followed; None when it is not, and stands as the answer.

    The server that was asked is sent the same once more. Another one is asked, but is told nothing that was meant for
    the first. What would arrive as something else, or for all to read on the way, is not sent on.
    """
    here, there = answer.request, answer.next_request
    if there is None or there.method != here.method or (here.url.scheme, there.url.scheme) == ("https", "http"):
        return None
    if _is_same_server(here.url, there.url):
        return there
    if here.method not in ("GET", "HEAD"):
        return None
    headers = {name: here.headers[name] for name in _FOR_ANYBODY if name in here.headers}
    return client.build_request(here.method, there.url, headers=headers)


def _is_same_server(here: httpx.URL, there: httpx.URL) -> bool:
    """Whether it is the same origin, or the same host that asks for https; `port` is None when it is the usual one."""
    return here.host == there.host and (
        (here.scheme, here.port) == (there.scheme, there.port)
        or (here.scheme, here.port, there.scheme, there.port) == ("http", None, "https", None)
    )


def _whole_body(answer: httpx.Response, deadline: Deadline) -> bytes:
    body = bytearray()
    for part in answer.iter_raw():
        body += part
        _check_size(len(body))
    if deadline.is_over:
        # A body without a length ends with its connection, also when it was us who shut that down.
        raise NoAnswer
    return bytes(body)


def _unpacked(body: bytes, encoding: str) -> bytes:
    """Not by httpx, which unpacks whatever it is sent as large as it gets: 2 kB can become 2 GB."""
    if encoding.lower() in ("", "identity"):
        return body
    if encoding.lower() not in ("gzip", "x-gzip"):
        raise NoAnswer(f"the answer is packed as {encoding!r}, which nobody asked for")
    try:
        with gzip.open(io.BytesIO(body)) as packed:
            content = packed.read(BYTES_AT_MOST + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise NoAnswer(f"the answer cannot be unpacked ({error})") from error
    _check_size(len(content))
    return content


def _check_size(size: int) -> None:
    if size > BYTES_AT_MOST:
        raise NoAnswer(f"the answer is larger than {BYTES_AT_MOST // 2**20} MiB")
