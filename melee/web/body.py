"""`Body`: the whole body of a request, read before a child is taken for it, so that a slow client holds none."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from melee.web.scratch import DiskRefused, Scratch

BODY_BYTES_AT_MOST = 32 * 1024 * 1024
INLINE_BYTES = 64 * 1024
DISCARD_SECONDS = 30

Receive = Callable[[], Awaitable[Mapping[str, Any]]]


class TooLarge(Exception):
    """The body is longer than 32 MiB, or says that it will be. What the client still sends was not read."""


class NoRoom(Exception):
    """The disk refused the body; why. What the client still sends was not read."""


class Gone(Exception):
    """The client left before its body was whole."""


class Body:
    """The bytes of a body: up to 64 KiB in memory, more of them in an unlinked temporary file.

    Attributes:
        inline: the bytes, or none when they are in the file.
        file: holds the bytes; None when they are in memory.
        size: how many bytes there are.
    """

    def __init__(self) -> None:
        self.inline = b""
        self.file: Scratch | None = None
        self.size = 0

    def append(self, data: bytes) -> None:
        """Raises `TooLarge` or `NoRoom`."""
        self.size += len(data)
        if self.size > BODY_BYTES_AT_MOST:
            raise TooLarge
        if self.size <= INLINE_BYTES:
            self.inline += data
            return
        self.file = self.file or Scratch()
        try:
            self.file.append(self.inline + data)
        except DiskRefused as error:
            raise NoRoom(str(error)) from error
        self.inline = b""

    def close(self) -> None:
        if self.file:
            self.file.close()


async def whole_body(scope: Mapping[str, Any], receive: Receive) -> Body:
    """Reads the body of an ASGI request to its end; the caller closes it.

    A length that is announced and too large is refused before anything is read, so that a client that asks first
    (`Expect: 100-continue`) never sends it.

    Raises:
        TooLarge: answer 413, then `discard_rest`.
        Gone: nobody waits for an answer.
        NoRoom: answer 503, then `discard_rest`.
    """
    if _announced_bytes(scope) > BODY_BYTES_AT_MOST:
        raise TooLarge
    body = Body()
    try:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Gone
            body.append(message.get("body", b""))
            if not message.get("more_body", False):
                return body
    except BaseException:
        body.close()
        raise


async def discard_rest(receive: Receive) -> None:
    """Takes what a client still sends although it was answered, for at most 30 s.

    A connection that closes over bytes nobody read is reset, and the reset can overtake the answer. So send the answer
    whole but leave it open (`more_body`), discard, then end it.
    """
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_SECONDS):
            while (await receive()).get("more_body", False):
                pass


def _announced_bytes(scope: Mapping[str, Any]) -> int:
    # The server in front lets only digits pass, and only one length.
    return max((int(value) for name, value in scope["headers"] if name == b"content-length"), default=0)
