"""`Spool`: the bytes between a child that writes as fast as it can and a client that reads as slowly as it likes."""

import asyncio
from collections import deque

from melee.web.scratch import DiskRefused, Scratch

MEMORY_BYTES = 256 * 1024
_READ_BYTES = 64 * 1024


class Spool:
    """A first-in, first-out of bytes with one writer that never waits and one reader that does.

    The first 256 KiB that nobody has read stay in memory, what is more goes to an unlinked temporary file. So a child
    is done when it has written its response, and what a slow client costs is disk. The file is written and read in the
    event loop, 64 KiB at a time from and to the page cache: that is quicker than a thread's answer.
    """

    def __init__(self) -> None:
        self._memory: deque[bytes] = deque()
        self._memory_bytes = 0
        # What it holds from where it is read next was written after all that is in memory.
        self._file, self._read_at = Scratch(), 0
        self._has_ended = False
        self._error: Exception | None = None
        self._has_news = asyncio.Event()

    def write(self, data: bytes) -> None:
        """Appends; after the end or a failure it does nothing. A disk that refuses is a failure of the spool: `read`
        raises it, after what came before."""
        if self._has_ended or not data:
            return
        if self._file.size == 0 and self._memory_bytes + len(data) <= MEMORY_BYTES:
            self._memory.append(data)
            self._memory_bytes += len(data)
        else:
            try:
                self._file.append(data)
            except DiskRefused as error:
                self.fail(error)
        self._has_news.set()

    def end(self) -> None:
        """Nothing more is written."""
        self._has_ended = True
        self._has_news.set()

    def fail(self, error: Exception) -> None:
        """Ends with an error, which the reader meets where the bytes that are missing would have been. An end or an
        earlier failure stays what it is."""
        if not self._has_ended:
            self._error = error
        self.end()

    async def read(self) -> bytes:
        """The next bytes, waiting for some; empty at the end, and from then on.

        Raises:
            DiskRefused: there was no room for the bytes that come next.
            Exception: what `fail` was given.
        """
        while True:
            if data := self._next():
                return data
            if self._error:
                raise self._error
            if self._has_ended:
                return b""
            await self._news()

    async def size(self) -> int:
        """How many bytes wait for the reader, waiting itself until nothing more is written; raises as `read` does."""
        while not self._has_ended:
            await self._news()
        if self._error:
            raise self._error
        return self._memory_bytes + self._file.size - self._read_at

    def close(self) -> None:
        """For a reader that has gone: forgets what it did not read. May be called more than once."""
        self.end()
        self._memory.clear()
        self._read_at = 0
        self._file.close()

    async def _news(self) -> None:
        self._has_news.clear()
        await self._has_news.wait()

    def _next(self) -> bytes:
        if self._memory:
            data = self._memory.popleft()
            self._memory_bytes -= len(data)
            return data
        return self._read_from_file() if self._file.size else b""

    def _read_from_file(self) -> bytes:
        data = self._file.read(self._read_at, _READ_BYTES)
        self._read_at += len(data)
        if self._read_at == self._file.size:
            self._file.clear()
            self._read_at = 0
        return data
