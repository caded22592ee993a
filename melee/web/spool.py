"""`Spool`: the bytes between a child that writes as fast as it can and a client that reads as slowly as it likes."""

import asyncio
import os
import tempfile
from collections import deque
from typing import IO

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
        self._file: IO[bytes] | None = None
        # Where the file is written and read next; what lies between was written after all that is in memory.
        self._write_at, self._read_at = 0, 0
        self._has_ended = False
        self._error: Exception | None = None
        self._has_news = asyncio.Event()

    def write(self, data: bytes) -> None:
        """Appends; after the end or a failure it does nothing. A disk that refuses is a failure of the spool: `read`
        raises it, after what came before."""
        if self._has_ended or not data:
            return
        if self._write_at == 0 and self._memory_bytes + len(data) <= MEMORY_BYTES:
            self._memory.append(data)
            self._memory_bytes += len(data)
        else:
            try:
                self._write_to_file(memoryview(data))
            except OSError as error:
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
            OSError: the disk refused the bytes that come next, or to give them back.
            Exception: what `fail` was given.
        """
        while True:
            if data := self._next():
                return data
            if self._error:
                raise self._error
            if self._has_ended:
                return b""
            self._has_news.clear()
            await self._has_news.wait()

    def close(self) -> None:
        """For a reader that has gone: forgets what it did not read. May be called more than once."""
        self.end()
        self._memory.clear()
        self._write_at, self._read_at = 0, 0
        if self._file:
            self._file.close()
            self._file = None

    def _next(self) -> bytes:
        if self._memory:
            data = self._memory.popleft()
            self._memory_bytes -= len(data)
            return data
        return self._read_from_file() if self._file and self._read_at < self._write_at else b""

    def _write_to_file(self, data: memoryview) -> None:
        if not self._file:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed by close()
        # What went before the disk was full counts as written.
        while data:
            written = os.pwrite(self._file.fileno(), data, self._write_at)
            self._write_at += written
            data = data[written:]

    def _read_from_file(self) -> bytes:
        assert self._file
        descriptor = self._file.fileno()
        data = os.pread(descriptor, min(_READ_BYTES, self._write_at - self._read_at), self._read_at)
        self._read_at += len(data)
        if self._read_at == self._write_at:
            os.ftruncate(descriptor, 0)
            self._write_at, self._read_at = 0, 0
        return data
