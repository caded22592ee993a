"""A disk that can be full or failing: SQLite's own file system, but for the writes a test wants to fail."""

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

# Connections may outlive the block, and SQLite reaches its file system through a pointer.
_mounted: list["FailingDisk"] = []


class FailingDisk(apsw.VFS):
    """Inside `with FailingDisk.mounted() as disk`, new connections use it. `disk.fails_with` is raised by writes (or,
    with `fails_on = "sync"`, by syncs) to files whose name contains `disk.fails_for`."""

    fails_with: type[apsw.Error] | None = None
    fails_on = "write"
    fails_for = ".sqlite3-wal"

    def __init__(self) -> None:
        self._name = f"failing{id(self)}"
        super().__init__(self._name, "unix")

    @classmethod
    @contextmanager
    def mounted(cls) -> Iterator["FailingDisk"]:
        disk = cls()
        _mounted.append(disk)
        apsw.set_default_vfs(disk._name)
        try:
            yield disk
        finally:
            apsw.set_default_vfs("unix")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _FailingFile(self, name, flags)

    def check(self, operation: str, name: str) -> None:
        if self.fails_with and operation == self.fails_on and self.fails_for in name:
            raise self.fails_with(f"the test says: {self.fails_with.__name__}")


class _FailingFile(apsw.VFSFile):
    def __init__(self, disk: FailingDisk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        self._name = str(name.filename() if isinstance(name, apsw.URIFilename) else name)
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.check("write", self._name)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.check("sync", self._name)
        super().xSync(flags)
