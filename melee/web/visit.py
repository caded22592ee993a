"""One request at the gateway: its id, what was answered so far, and its line in the access log."""

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from melee import log
from melee.clock import Clock
from melee.web.body import Body
from melee.web.exchange import Head, Headers, Request
from melee.web.pages import error_answer
from melee.web.response_head import WITHOUT_BODY

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

# What nginx writes for the same; it is for the log alone.
_CLIENT_LEFT = 499


class Visit:
    """A request and what it is answered.

    Args:
        scope, send: of ASGI.
    """

    def __init__(self, scope: Scope, send: Send, clock: Clock) -> None:
        self.scope, self._send, self._clock = scope, send, clock
        self.id = secrets.token_hex(8)
        self.has_left = False
        self._status, self._body_bytes = 0, 0
        self._announced_bytes: int | None = None
        self._began_at = clock.elapsed()

    def request(self, body: Body) -> Request:
        scope = self.scope
        return Request(
            id=self.id,
            method=scope["method"],
            path=scope["raw_path"],
            query=scope["query_string"],
            http_version=scope["http_version"],
            scheme=scope["scheme"],
            client=scope["client"] or ("", 0),
            server=scope["server"] or ("", 0),
            headers=scope["headers"],
            body_bytes=body.size,
            body=body.inline,
        )

    async def send(self, message: Message) -> None:
        """Sends an ASGI message, and notes what the access log says of it."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._announced_bytes = _announced_bytes(message["headers"])
            message["headers"] = [*message["headers"], (b"x-request-id", self.id.encode())]
        else:
            self._body_bytes += len(message.get("body", b""))
        await self._send(message)

    @property
    def is_whole(self) -> bool:
        """Whether the client has all that was announced, and so may go."""
        return self._body_bytes == self._announced_bytes

    def shows_its_end(self, head: Head) -> bool:
        """Whether the client can tell where this response ends. What has no length goes out in chunks, which HTTP/1.0
        does not know: RFC 9112, section 6.1."""
        is_bodiless = self.scope["method"] == "HEAD" or head.status in WITHOUT_BODY
        return is_bodiless or self.scope["http_version"] != "1.0" or _announced_bytes(head.headers) is not None

    async def begin(self, head: Head) -> None:
        await self.send({"type": "http.response.start", "status": head.status, "headers": head.headers})

    async def write(self, part: bytes) -> None:
        await self.send({"type": "http.response.body", "body": part, "more_body": True})

    async def finish(self) -> None:
        await self.send({"type": "http.response.body", "body": b"", "more_body": False})

    async def refuse(self, status: int, before_end: Callable[[], Awaitable[None]] | None = None) -> None:
        """Answers with an error page. A response that has begun breaks off instead: nobody must take it for whole.

        Args:
            before_end: what to do while the client has its answer and the connection is still open; it is closed then.
        """
        if self._status:
            return
        accept = b",".join(value for name, value in self.scope["headers"] if name == b"accept").decode("latin-1")
        headers, page = error_answer(status, self.id, accept)
        if before_end:
            headers.append((b"connection", b"close"))
        await self.begin(Head(status, headers))
        await self.write(page)
        if before_end:
            await before_end()
        await self.finish()

    def end(self) -> None:
        """Writes the line of the access log."""
        client, path = self.scope["client"], self.scope["raw_path"].decode("latin-1")
        status = _CLIENT_LEFT if self.has_left else self._status
        seconds = self._clock.elapsed() - self._began_at
        address = client[0] if client else ""
        log.request_served(self.id, address, self.scope["method"], path, status, self._body_bytes, seconds)


def _announced_bytes(headers: Headers) -> int | None:
    return next((int(value) for name, value in headers if name == b"content-length"), None)
