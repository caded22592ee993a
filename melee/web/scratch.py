"""`Scratch`: what is too much for memory and lasts as long as a request, on the disk."""

import errno
import os
import tempfile
from typing import IO, ClassVar

SCRATCH_BYTES_AT_MOST = 2 * 1024**3
"""In all such files of this process. Clients that send much and read slowly would fill the disk otherwise, on which the
app's own data has to go as well."""


class DiskRefused(OSError):
    """There is no room for more, on the disk or within 2 GiB."""


class Scratch:
    """A temporary file that has no name, and so goes with its process: written at its end, read anywhere.

    There is no file before something is written. Its descriptor stands at the first byte, for another process to read
    from.
    """

    _bytes_in_all: ClassVar[int] = 0

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self.size = 0

    def fileno(self) -> int:
        assert self._file
        return self._file.fileno()

    def append(self, data: bytes) -> None:
        """Raises `DiskRefused`; what went before the disk was full counts as written."""
        if Scratch._bytes_in_all + len(data) > SCRATCH_BYTES_AT_MOST:
            raise DiskRefused(errno.ENOSPC, f"temporary files hold {SCRATCH_BYTES_AT_MOST} bytes at most")
        try:
            if not self._file:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed by close()
            rest = memoryview(data)
            while rest:
                written = os.pwrite(self.fileno(), rest, self.size)
                self._grow(written)
                rest = rest[written:]
        except OSError as error:
            raise DiskRefused(error.errno, error.strerror) from error

    def read(self, at: int, count: int) -> bytes:
        return os.pread(self.fileno(), count, at)

    def clear(self) -> None:
        """Gives back the room."""
        os.ftruncate(self.fileno(), 0)
        self._grow(-self.size)

    def close(self) -> None:
        """May be called more than once."""
        if self._file:
            self._file.close()
            self._file = None
            self._grow(-self.size)

    def _grow(self, count: int) -> None:
        self.size += count
        Scratch._bytes_in_all += count
