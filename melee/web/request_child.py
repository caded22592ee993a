"""The process that serves a request: a WSGI server with one caller, the gateway."""

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
from melee.web.exchange import REQUEST_HEADER, Head, Kind, Request, frame, head_frame, read_request
from melee.web.pages import error_page, wants_html
from melee.web.target import WsgiApp

# RFC 9110, sections 15.3.5 and 15.4.5.
_WITHOUT_BODY = {204, 304}
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
        connection.sendall(frame(Kind.LAST_END if is_last else Kind.END))
        if is_last:
            return


def _receive(connection: socket.socket) -> tuple[Request, IO[bytes]] | None:
    """The next request and its body; None when there is none."""
    header, descriptors, _flags, _address = socket.recv_fds(connection, REQUEST_HEADER.size, 1, socket.MSG_WAITALL)
    if not header:
        return None
    length: int = REQUEST_HEADER.unpack(header)[0]
    request = read_request(connection.recv(length, socket.MSG_WAITALL))
    return request, os.fdopen(descriptors[0], "rb") if descriptors else io.BytesIO(request.body)


class _Response(BaseHandler):
    """Runs an app for one request and sends what it answers, each part as soon as the app gives it."""

    environ: dict[str, Any]
    headers: Headers
    status: str
    wsgi_multithread = False
    # The gateway writes these.
    origin_server = False
    # Whatever this process was started with is not a header of the request.
    os_environ: dict[str, str] = {}  # noqa: RUF012

    def __init__(self, connection: socket.socket, request: Request, body: IO[bytes]) -> None:
        self._connection, self._request, self._body = connection, request, body
        self._unsent: list[bytes] = []
        self._has_begun = False
        self.is_whole = False
        """Whether the response came to its end."""

    def run(self, application: WsgiApp) -> None:
        """Answers the request; leaves `is_whole` False when the response broke off."""
        try:
            self.setup_environ()
            self.result = application(self.environ, self.start_response)
            self.finish_response()
        except Exception:  # noqa: BLE001 - whatever the app raises
            self.log_exception(sys.exc_info())
            if self._has_begun:
                return
            self.result = self.error_output(self.environ, self.start_response)
            self.finish_response()
        self.is_whole = True

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

    def send_headers(self) -> None:
        self.cleanup_headers()
        self.headers_sent = self._has_begun = True
        status = int(self.status[:3])
        if status in _WITHOUT_BODY:
            del self.headers["content-length"]
        headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in self.headers.items()]
        self._unsent.append(head_frame(Head(status, headers)))

    def _write(self, data: bytes) -> None:
        if data and int(self.status[:3]) not in _WITHOUT_BODY:
            self._unsent.append(frame(Kind.BODY, data))

    def _flush(self) -> None:
        self._connection.sendall(b"".join(self._unsent))
        self._unsent.clear()

    def log_exception(self, exc_info: Any) -> None:
        log.request_failed(self._request.method, self._request.path.decode("latin-1"), exc_info[1])

    def error_output(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        content_type, page = error_page(500, self._request.id, wants_html(environ.get("HTTP_ACCEPT", "")))
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
    if request.body_bytes or "CONTENT_LENGTH" in variables:
        variables["CONTENT_LENGTH"] = str(request.body_bytes)
    return variables
