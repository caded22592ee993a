"""`RefusingProtocol`: uvicorn's HTTP/1.1, which can refuse what comes at any point and spoils no response by it.

uvicorn by itself writes its 400 into the middle of the response before it, and closes over bytes that nobody read,
which resets the connection before its client has the answer.
"""

import asyncio
from enum import Enum, auto
from typing import Any

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from melee import log
from melee.web.pages import error_answer

LINGER_SECONDS = 30
"""For so long a client that was refused may send on, and is not listened to. One that is done closes sooner."""


class Refused(Exception):
    """Raised by what the parser calls: the request is answered with `status` and the connection ends."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Stage(Enum):
    """What of a request has arrived: nothing yet, a part of its head, or its head."""

    BETWEEN = auto()
    HEAD = auto()
    BODY = auto()


class RefusingProtocol(HttpToolsProtocol):
    """Answers 400 to what is no HTTP, and what `Refused` says to what a class derived from it refuses."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.stage = Stage.BETWEEN
        # Nothing that the client sends is read any more. It may have answers coming.
        self._is_deaf = False
        self._lingering: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        if self._is_deaf:
            return
        self._unset_keepalive_if_required()
        try:
            self.feed(data)
        except httptools.HttpParserError as error:
            cause = error.__context__
            self.refuse(cause.status if isinstance(cause, Refused) else 400)

    def feed(self, data: bytes) -> None:
        """Gives bytes to the parser; raises `HttpParserError`."""
        self.parser.feed_data(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.stage = Stage.HEAD

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self.stage = Stage.BODY

    def on_message_complete(self) -> None:
        self.stage = Stage.BETWEEN
        super().on_message_complete()

    def refuse(self, status: int) -> None:
        """Ends the connection, at once or after the responses that are under way.

        A client that has sent a part of a request gets `status` as its answer.
        """
        if self.transport.is_closing():
            return
        self._is_deaf = True
        log.request_refused(self.client, status)
        has_response_coming = self.cycle is not None and not self.cycle.response_complete
        if self.stage is Stage.BODY and has_response_coming:
            self._refuse_body(status)
        elif has_response_coming:
            self.cycle.keep_alive = False
        elif self.stage is Stage.HEAD:
            self.answer_and_linger(status)
        else:
            self.transport.close()

    def answer_and_linger(self, status: int) -> None:
        """Sends a short answer as the last one; the connection closes when the client does, or after 30 s."""
        self._is_deaf = True
        headers, page = error_answer(status, "", accept="")
        headers = [*self.server_state.default_headers, *headers, (b"connection", b"close")]
        head = b"".join(b"%s: %s\r\n" % header for header in headers)
        self.transport.write(STATUS_LINE[status] + head + b"\r\n" + page)
        self._linger()

    def shutdown(self) -> None:
        if self._lingering:
            self.transport.close()
        else:
            super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._lingering:
            self._lingering.cancel()
        super().connection_lost(exc)

    def _refuse_body(self, status: int) -> None:
        if self.pipeline:
            # The app has not begun with this one, and cannot be told to skip it.
            self.transport.abort()
            return
        # The app waits for a body that will not come; to it the client has gone.
        self.cycle.disconnected = True
        self.cycle.waiting_for_100_continue = False
        self.cycle.message_event.set()
        if self.cycle.response_started:
            self._linger()
        else:
            self.answer_and_linger(status)

    def _linger(self) -> None:
        # It may be paused for an app that took nothing of the body.
        self.flow.resume_reading()
        self.transport.write_eof()
        self._lingering = self.loop.call_later(LINGER_SECONDS, self.transport.abort)
