"""The process that serves a request: a WSGI server with one caller, the gateway."""

import errno
import io
import os
import socket
import sys
from collections.abc import Callable
from typing import IO, Any
from urllib.parse import unquote_to_bytes
from wsgiref.handlers import BaseHandler
from wsgiref.headers import Headers

from melee import log
from melee.web.exchange import REQUEST_HEADER, Kind, Request, frame, head_frame, read_request
from melee.web.pages import error_page
from melee.web.response_head import WITHOUT_BODY, announced_bytes, head_of
from melee.web.target import WsgiApp

_PART_BYTES = 64 * 1024
# CGI gives these two no prefix, see RFC 3875, section 4.1.
_UNPREFIXED = {"CONTENT_TYPE", "CONTENT_LENGTH"}


def serve_requests(app: WsgiApp, connection: socket.socket, requests_per_child: int) -> None:
    """Serves requests that come on a connection; returns after `requests_per_child` of them (0: any number), or when
    the other side closes it."""
    served = 0
    while received := _receive(connection):
        request, body = received
        served += 1
        with body, log.of_request(request.id):
            response = _Response(connection, request, body)
            response.run(app)
        if not response.is_whole:
            # The gateway sees a connection that closes before the end.
            return
        is_last = served == requests_per_child
        response.send(frame(Kind.LAST_END if is_last else Kind.END))
        if is_last:
            return


def _receive(connection: socket.socket) -> tuple[Request, IO[bytes]] | None:
    """The next request and its body; None when there is none, or the gateway gave up in the middle of it.

    Raises:
        OSError: the app holds so many descriptors that the kernel dropped the one of the body.
    """
    try:
        header, descriptors, _flags, _address = socket.recv_fds(connection, REQUEST_HEADER.size, 1)
        header += _exactly(connection, REQUEST_HEADER.size - len(header))
        request = read_request(_exactly(connection, *REQUEST_HEADER.unpack(header)))
    except (EOFError, ConnectionError):
        return None
    if not descriptors:
        if len(request.body) != request.body_bytes:
            raise OSError(errno.EMFILE, "no descriptor is left for the body: the app does not close what it opens")
        return request, io.BytesIO(request.body)
    os.set_inheritable(descriptors[0], False)
    return request, os.fdopen(descriptors[0], "rb")


def _exactly(connection: socket.socket, count: int) -> bytes:
    """So many bytes; raises `EOFError` when no more come."""
    received = bytearray()
    while len(received) < count:
        part = connection.recv(count - len(received))
        if not part:
            raise EOFError
        received += part
    return bytes(received)


class _OwnHeaders(Headers):
    """Headers of one response, even of an app that gives the same list again."""

    def __init__(self, headers: list[tuple[str, str]]) -> None:
        super().__init__(list(headers))


class _Response(BaseHandler):
    """Runs an app for one request and sends what it answers, each part as soon as the app gives it.

    Of wsgiref it has what PEP 3333 asks for. Stricter than that is what would be noticed only in front, as a fault of
    the gateway: headers that are none, and a body of another length than its header announces.
    """

    environ: dict[str, Any]
    headers: Headers
    status: str
    bytes_sent: int
    wsgi_multithread = False
    # The gateway writes these.
    origin_server = False
    headers_class = _OwnHeaders
    # Whatever this process was started with is not a header of the request.
    os_environ: dict[str, str] = {}  # noqa: RUF012

    def __init__(self, connection: socket.socket, request: Request, body: IO[bytes]) -> None:
        self._connection, self._request, self._body = connection, request, body
        self._pid = os.getpid()
        self._unsent: list[bytes] = []
        self._has_begun = False
        self._to_come: int | None = None
        """How much of the body is still to come, if the app announced how long it is."""
        self.is_whole = False
        """Whether the response came to its end."""

    def run(self, application: WsgiApp) -> None:
        """Answers the request; leaves `is_whole` False when the response broke off."""
        try:
            self.setup_environ()
            self.result = application(self.environ, self.start_response)
            self.finish_response()
        except Exception:  # noqa: BLE001 - whatever the app raises
            # What `close` raises after a response that is whole changes nothing for the visitor.
            self.log_exception(sys.exc_info())
            if not self._has_begun:
                self.result = self.error_output(self.environ, self.start_response)
                self.finish_response()

    def get_stdin(self) -> IO[bytes]:
        return self._body

    def get_stderr(self) -> IO[str]:
        return sys.stderr

    def add_cgi_vars(self) -> None:
        request = self._request
        self.environ |= {
            "REQUEST_METHOD": request.method,
            "SCRIPT_NAME": "",
            "PATH_INFO": unquote_to_bytes(request.path).decode("latin-1"),
            "QUERY_STRING": request.query.decode("latin-1"),
            "SERVER_PROTOCOL": f"HTTP/{request.http_version}",
            "SERVER_NAME": request.server[0],
            "SERVER_PORT": str(request.server[1]),
            "REMOTE_ADDR": request.client[0],
            "REMOTE_PORT": str(request.client[1]),
            "wsgi.url_scheme": request.scheme,
            # The body is whole, however it came.
            "wsgi.input_terminated": True,
            "melee.request_id": request.id,
            **_header_variables(request),
        }

    def get_scheme(self) -> str:
        return self._request.scheme

    @property
    def _is_bodiless(self) -> bool:
        return self._request.method == "HEAD" or int(self.status[:3]) in WITHOUT_BODY

    def write(self, data: bytes) -> None:
        # The head waits for the first byte, so that an app that raises before it is answered for.
        if data or self.headers_sent:
            super().write(data)

    def finish_content(self) -> None:
        if not self.status:
            raise RuntimeError("the app returned without a call of start_response")
        if not self.headers_sent:
            if not self._is_bodiless:
                self.headers.setdefault("content-length", "0")
            self.send_headers()
        self._flush()
        if self._to_come:
            raise ValueError(f"the body is {self._to_come} bytes shorter than its Content-Length")
        self.is_whole = True

    def set_content_length(self) -> None:
        # How long the body is that goes with a HEAD is not known when the app gives none.
        if self.bytes_sent:
            super().set_content_length()

    def send_headers(self) -> None:
        self.cleanup_headers()
        # The gateway reads it too, even where no body follows.
        announced = announced_bytes(self.headers)
        self._to_come = None if self._is_bodiless else announced
        self._unsent.append(head_frame(head_of(self.status, self.headers)))
        self.headers_sent = self._has_begun = True

    def _write(self, data: bytes) -> None:
        if self._is_bodiless:
            return
        announced = data if self._to_come is None else data[: self._to_come]
        for begin in range(0, len(announced), _PART_BYTES):
            self._unsent.append(frame(Kind.BODY, announced[begin : begin + _PART_BYTES]))
            self._flush()
        if self._to_come is not None:
            self._to_come -= len(announced)
        if len(announced) < len(data):
            raise ValueError("the body is longer than its Content-Length")

    def _flush(self) -> None:
        if self._unsent:
            self.send(b"".join(self._unsent))
            self._unsent.clear()

    def send(self, frames: bytes) -> None:
        if os.getpid() != self._pid:
            # The app forked, and both went on. One answer is enough: a second would be that to the next request.
            os._exit(0)
        self._connection.sendall(frames)

    def log_exception(self, exc_info: Any) -> None:
        log.request_failed(self._request.method, self._request.path.decode("latin-1"), exc_info[1])

    def error_output(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        content_type, page = error_page(500, self._request.id, environ.get("HTTP_ACCEPT", ""))
        start_response("500 Internal Server Error", [("content-type", content_type)], sys.exc_info())
        return [page]


def _header_variables(request: Request) -> dict[str, str]:
    """The headers as CGI names them; those that came more than once are joined, cookies as RFC 6265 has it."""
    variables: dict[str, str] = {}
    for raw_name, raw_value in request.headers:
        variable = raw_name.decode("latin-1").upper().replace("-", "_")
        name, value = variable if variable in _UNPREFIXED else f"HTTP_{variable}", raw_value.decode("latin-1")
        if name in variables:
            value = f"{variables[name]}{'; ' if name == 'HTTP_COOKIE' else ','}{value}"
        variables[name] = value
    # A body that came in chunks has its length now, and is not in chunks any more.
    variables.pop("HTTP_TRANSFER_ENCODING", None)
    # Programs take the variable of this name for the proxy they are to use.
    variables.pop("HTTP_PROXY", None)
    if request.body_bytes or "CONTENT_LENGTH" in variables:
        variables["CONTENT_LENGTH"] = str(request.body_bytes)
    return variables
