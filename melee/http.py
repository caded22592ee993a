"""Outgoing HTTP: `http.get(url)`, `http.post(url, json=…)`. It is httpx with a time limit always, one kind of error,
and nothing sent by a durable object before what the object wrote is on disk.

Every request has a connection of its own: the process that makes it seldom makes a second one.
"""

import codecs
import contextlib
import math
import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypedDict, Unpack
from urllib.parse import urlsplit

import httpx
import msgspec

from melee.errors import HttpError
from melee.outgoing import before_sending

Error = HttpError
"""Whatever can go wrong with a request or its answer."""

TIMEOUT_SECONDS = 10.0
BYTES_AT_MOST = 32 * 1024 * 1024

# A connection that is kept for the redirect may be closed by the server at that very moment.
_ONE_REQUEST_EACH = httpx.Limits(max_keepalive_connections=0)

# Reading the certificates takes longer than most requests. Here the request parent does it, for all its children.
_TLS = httpx.create_ssl_context()


@dataclass(frozen=True)
class Response:
    """What a server answered, whatever its status.

    Attributes:
        status: such as 200.
        headers: found by name in upper or lower case.
        content: the body, decompressed.
        encoding: of the body, as its header says; default: UTF-8.
        method: of the request.
        url: of the request, without its query.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes
    encoding: str
    method: str
    url: str

    @property
    def ok(self) -> bool:
        """Whether the status is between 200 and 299."""
        return 200 <= self.status <= 299

    @property
    def text(self) -> str:
        """The body as text; what its encoding does not know is shown as �. Raises `Error` when that is no encoding."""
        try:
            return self.content.decode(self.encoding, errors="replace")
        except LookupError as error:
            raise self._error(f"it sent no text ({error})") from error

    def json(self) -> Any:
        """The body, read as JSON; raises `Error` when it is none."""
        try:
            return msgspec.json.decode(self.content.removeprefix(codecs.BOM_UTF8))
        except (msgspec.MsgspecError, RecursionError) as error:
            raise self._error(f"it sent no JSON ({error})") from error

    def raise_for_status(self) -> Self:
        """The response itself when it is `ok`; raises `Error` with its status otherwise."""
        if not self.ok:
            raise self._error(f"it answered {self.status}")
        return self

    def _error(self, problem: str) -> Error:
        return Error(self.method, self.url, problem, self.status)


class Options(TypedDict, total=False):
    """What a request can be given by name.

    Attributes:
        timeout: seconds for all of it, from the connection to the last byte; default: 10. Only a name server that does
            not answer can take longer, until the system gives up.
        params: for the query of the URL.
        headers: by name.
        json: the body, sent as JSON.
        data: the body, sent as the fields of a form.
        content: the body, sent as it is.
        auth: user and password, for HTTP Basic.
        idempotency_key: sent as `Idempotency-Key`. A server that knows this header does the work once, however often it
            is asked with one key. Make the key when you write the work down, and keep it there.
    """

    timeout: float
    params: Mapping[str, Any]
    headers: Mapping[str, str]
    json: Any
    data: Mapping[str, Any]
    content: bytes | str
    auth: tuple[str, str]
    idempotency_key: str


def get(url: str, **options: Unpack[Options]) -> Response:
    """Asks for something, see `request`."""
    return request("GET", url, **options)


def post(url: str, **options: Unpack[Options]) -> Response:
    """Sends something, see `request`."""
    return request("POST", url, **options)


def put(url: str, **options: Unpack[Options]) -> Response:
    """Puts something in place of what was there, see `request`."""
    return request("PUT", url, **options)


def patch(url: str, **options: Unpack[Options]) -> Response:
    """Changes something, see `request`."""
    return request("PATCH", url, **options)


def delete(url: str, **options: Unpack[Options]) -> Response:
    """Deletes something, see `request`."""
    return request("DELETE", url, **options)


def request(method: str, url: str, **options: Unpack[Options]) -> Response:
    """Sends a request, follows redirects, and reads the whole answer.

    What an object sends leaves when all that it wrote so far is on disk. So whoever receives it never knows of
    something that the object has forgotten.

    Raises:
        Error: there is no whole answer: the URL is none, the server cannot be reached, takes too long, breaks off,
            redirects for ever, or sends more than 32 MiB.
        TransactionOpen: an object asks inside a transaction, whose writes cannot be on disk before it ends.
    """
    seconds, headers = options.get("timeout", TIMEOUT_SECONDS), dict(options.get("headers", {}))
    if not 0 < seconds < math.inf:
        raise ValueError(f"timeout={seconds}: pass a number of seconds above 0")
    if "idempotency_key" in options:
        headers["Idempotency-Key"] = options["idempotency_key"]
    before_sending.get()(f"{method} {_shown(url)}")
    with (
        _Deadline(seconds) as deadline,
        _errors_of(method, url, deadline),
        httpx.Client(verify=_TLS, timeout=seconds, follow_redirects=True, limits=_ONE_REQUEST_EACH) as client,
        client.stream(
            method,
            url,
            params=options.get("params"),
            headers=headers,
            json=options.get("json"),
            data=options.get("data"),
            content=options.get("content"),
            auth=options.get("auth"),
            extensions={"trace": deadline.watch},
        ) as answer,
    ):
        body = _whole_body(answer, deadline)
    encoding = answer.encoding or "utf-8"
    return Response(answer.status_code, answer.headers, body, encoding, method, _shown(url))


class _NotWhole(Exception):
    """The answer was given up."""


class _Deadline:
    """The end of the time for a request.

    httpx limits each wait for the network by itself, and a server that sends a byte now and then would never end. So
    the connections are shut down when the time is over, under whoever waits for them.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds, self.is_over = seconds, False
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

    def watch(self, event: str, info: Mapping[str, Any]) -> None:
        """Is told by httpx of all that happens to a request."""
        if event != "connection.connect_tcp.complete":
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


@contextlib.contextmanager
def _errors_of(method: str, url: str, deadline: _Deadline) -> Iterator[None]:
    """Inside, whatever goes wrong on the way raises `Error`."""
    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL, _NotWhole) as error:
        is_late = deadline.is_over or isinstance(error, httpx.TimeoutException)
        problem = f"there was no whole answer within {deadline.seconds:g} s" if is_late else str(error)
        raise Error(method, _shown(url), problem or type(error).__name__) from error


def _whole_body(answer: httpx.Response, deadline: _Deadline) -> bytes:
    body = bytearray()
    for part in answer.iter_bytes():
        body += part
        if len(body) > BYTES_AT_MOST:
            raise _NotWhole(f"the answer is larger than {BYTES_AT_MOST // 2**20} MiB")
    if deadline.is_over:
        # A body without a length ends with its connection, also when it was us who shut that down.
        raise _NotWhole
    return bytes(body)


def _shown(url: str) -> str:
    """A URL without what may be secret: user, password, query."""
    try:
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    except ValueError:
        return "a URL that is none"
