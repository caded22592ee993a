"""Outgoing HTTP: `http.get(url)`, `http.post(url, json=…)`. It is httpx with a time limit always, one kind of error,
and nothing sent by a durable object before what the object wrote is on disk.

Every request has a connection of its own: the process that makes it seldom makes a second one. It goes through the
proxy that the environment names in `HTTP_PROXY`, `HTTPS_PROXY` or `ALL_PROXY`, but for the hosts in `NO_PROXY`. Nothing
is read from `.netrc`.
"""

import codecs
import contextlib
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypedDict, Unpack
from urllib.parse import urljoin, urlsplit

import httpx
import msgspec

from melee.errors import HttpError
from melee.exchange import Deadline, NoAnswer, answer_to
from melee.outgoing import before_sending

Error = HttpError
"""Whatever can go wrong with a request or its answer."""

TIMEOUT_SECONDS = 10.0

# What may stand in a header. A line break would begin another one.
_SENDABLE = re.compile(r"([!-~]([\t -~]*[!-~])?)?")

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
        except (LookupError, UnicodeError) as error:
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
            location = self.headers.get("Location")
            elsewhere = f" and points to {_shown(urljoin(self.url, location))}" if location else ""
            raise self._error(f"it answered {self.status}{elsewhere}")
        return self

    def _error(self, problem: str) -> Error:
        return Error(self.method, self.url, problem, self.status)


class Options(TypedDict, total=False):
    """What a request can be given by name.

    Attributes:
        timeout: seconds for all of it, from the connection to the last byte; default: 10. Only two things can take
            longer: a name server that does not answer, until the system gives up, and a name with several addresses
            of which none answers, that long for each.
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

    A redirect is followed when the same request can be sent to the same server, or to its `https`. A `GET` is followed
    to other servers too, where it takes neither `auth` nor the headers that may be secret. A redirect that would turn a
    `POST` into a `GET`, or lead from `https` to `http`, is not followed: it is the response, and not `ok`.

    Raises:
        Error: there is no whole answer: the URL is none, a header or a proxy cannot be used, the server cannot be
            reached, takes too long, breaks off, redirects for ever, or sends more than 32 MiB.
        TransactionOpen: an object asks inside a transaction, whose writes cannot be on disk before it ends.
    """
    seconds, headers = options.get("timeout", TIMEOUT_SECONDS), dict(options.get("headers", {}))
    if not (isinstance(seconds, int | float) and 0 < seconds <= threading.TIMEOUT_MAX):
        raise ValueError(f"timeout={seconds}: pass a number of seconds above 0")
    if "idempotency_key" in options:
        headers["Idempotency-Key"] = options["idempotency_key"]
    before_sending.get()(f"{method} {_shown(url)}")
    with Deadline(seconds) as deadline, _errors_of(method, url, deadline), _client() as client:
        _check_sendable(headers)
        asked = client.build_request(
            method,
            url,
            params=options.get("params"),
            headers=headers,
            json=options.get("json"),
            data=options.get("data"),
            content=options.get("content"),
        )
        answer, body = answer_to(client, asked, options.get("auth"), deadline)
    encoding = answer.encoding or "utf-8"
    return Response(answer.status_code, answer.headers, body, encoding, method, _shown(url))


def _client() -> httpx.Client:
    try:
        return httpx.Client(verify=_TLS, limits=_ONE_REQUEST_EACH, headers={"Accept-Encoding": "gzip"})
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        raise NoAnswer(f"the proxy that the environment names cannot be used ({error})") from error


def _check_sendable(headers: Mapping[str, str]) -> None:
    """Says the name alone: the value may be secret, and the message goes to the log."""
    for name, value in headers.items():
        if not _SENDABLE.fullmatch(value):
            raise NoAnswer(
                f"the header {name} cannot be sent; pass printable ASCII, with no line break and no space around it"
            )


@contextlib.contextmanager
def _errors_of(method: str, url: str, deadline: Deadline) -> Iterator[None]:
    """Inside, whatever goes wrong on the way raises `Error`."""
    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, NoAnswer) as error:
        is_late = deadline.is_over or isinstance(error, httpx.TimeoutException)
        problem = f"there was no whole answer within {deadline.seconds:g} s" if is_late else str(error)
        raise Error(method, _shown(url), problem or type(error).__name__) from error


def _shown(url: str) -> str:
    """A URL without what may be secret: user, password, query."""
    try:
        parts = urlsplit(url)
        shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        return shown.encode(errors="backslashreplace").decode()
    except ValueError:
        return "a URL that is none"
