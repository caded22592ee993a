"""`LimitedProtocol`: an end to all that a client can make the server hold or wait for.

llhttp knows no sizes, and of times uvicorn knows how long a connection may be idle between two requests.
"""

import asyncio
import socket
from typing import Any

from uvicorn.config import Config
from uvicorn.server import ServerState

from melee import log
from melee.web.refusals import Refused, Stage
from melee.web.slow_readers import SlowReader
from melee.web.strictness import StrictProtocol

HEADER_BYTES_AT_MOST = 32 * 1024
"""Of the request line, the headers and the trailers. As in HTTP/2 a header counts for 32 bytes more than its text, so
that thousands of tiny ones have an end too."""
URL_BYTES_AT_MOST = 8 * 1024
HEADER_SECONDS = 10
"""From the connection, or from the first byte of a further request, to the end of the headers."""
BODY_SECONDS = 30
"""Without a byte of the body."""
BODY_BYTES_PER_SECOND = 1024
"""What a body must bring on average, once `BODY_AVERAGE_AFTER_SECONDS` are over: what a phone with hardly a signal
does. One byte in 29 s would hold its connection for years."""
BODY_AVERAGE_AFTER_SECONDS = 60
CONNECTIONS_AT_MOST = 1000
TURNED_AWAY_AT_MOST = 100
"""So many connections more are told that there are too many; further ones are closed without a word."""
PIPELINED_AT_MOST = 16
"""Requests that wait on their connection for the responses before theirs. Those beyond are not answered: the connection
closes after the last that is, and a client sends the rest again."""
_BYTES_PER_HEADER = 32


class LimitedProtocol(StrictProtocol):
    """Give it to `uvicorn.Config(http=LimitedProtocol)`.

    uvicorn's own `limit_concurrency` counts pipelined requests as if they were connections, and its 503 does not say
    when to try again.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._head_bytes = 0
        # What was given to the parser since it last handed on a head or a part of a body; it may hold all of it.
        self._held_bytes = 0
        self._body_bytes, self._body_began_at = 0, 0.0
        self._time_limit: asyncio.TimerHandle | None = None

    # What the transport calls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        _send_at_once(transport.get_extra_info("socket"))
        # So that writing is paused whenever the client has not taken all.
        transport.set_write_buffer_limits(high=0)
        self._slow_reader = SlowReader(transport, self.loop)
        connected = len(self.connections)
        if connected > CONNECTIONS_AT_MOST + TURNED_AWAY_AT_MOST:
            transport.abort()
        elif connected > CONNECTIONS_AT_MOST:
            log.request_refused(self.client, 503)
            self.answer_and_linger(503)
        else:
            self._limit_time(HEADER_SECONDS)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._slow_reader.watch()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._slow_reader.let_be()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_time_limit()
        self._slow_reader.let_be()
        super().connection_lost(exc)

    # What the parser is given, and calls

    def feed(self, data: bytes) -> None:
        self._held_bytes += len(data)
        super().feed(data)
        if self._held_bytes > HEADER_BYTES_AT_MOST:
            self.refuse(431)
        elif self.stage is Stage.BODY:
            self._limit_time_of_body()
        elif not self._time_limit and (self.stage is Stage.HEAD or self._held_bytes):
            self._limit_time(HEADER_SECONDS)

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= PIPELINED_AT_MOST:
            raise Refused(503)
        self._head_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._head_bytes += len(url)
        if self._head_bytes > URL_BYTES_AT_MOST:
            raise Refused(414)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_bytes += len(name) + len(value) + _BYTES_PER_HEADER
        if self._head_bytes > HEADER_BYTES_AT_MOST:
            raise Refused(431)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._part_is_complete()
        self._body_bytes, self._body_began_at = 0, self.loop.time()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._part_is_complete()
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._part_is_complete()
        super().on_message_complete()

    def _part_is_complete(self) -> None:
        self._held_bytes = 0
        self._end_time_limit()

    # How long it waits

    def _limit_time_of_body(self) -> None:
        if self._time_limit:
            # Nothing of the body came, just what frames it.
            return
        taken_seconds = self.loop.time() - self._body_began_at
        average_seconds = BODY_AVERAGE_AFTER_SECONDS + self._body_bytes / BODY_BYTES_PER_SECOND
        self._limit_time(min(BODY_SECONDS, average_seconds - taken_seconds))

    def _limit_time(self, seconds: float) -> None:
        self._time_limit = self.loop.call_later(seconds, self._time_is_up)

    def _end_time_limit(self) -> None:
        if self._time_limit:
            self._time_limit.cancel()
            self._time_limit = None

    def _time_is_up(self) -> None:
        self._time_limit = None
        if self.stage is Stage.BODY and self.flow.read_paused:
            # The app does not take what has come; that is not the client's time.
            self._body_bytes, self._body_began_at = 0, self.loop.time()
            self._limit_time_of_body()
        else:
            self.refuse(408)

    def refuse(self, status: int) -> None:
        self._end_time_limit()
        super().refuse(status)


def _send_at_once(connection: socket.socket) -> None:
    """asyncio does this only for a listener that was made with TCP's number, which `socket.create_server` leaves out.
    Without it the body of each response waits 40 ms for the client's word that it has the head."""
    if connection.family in (socket.AF_INET, socket.AF_INET6):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
