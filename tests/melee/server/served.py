"""`melee serve` as its user has it: a real process and all that it starts."""

import os
import select
import signal
import socket
import struct
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import urlsplit

from melee.web.pages import RETRY_AFTER_SECONDS
from tests.melee.cli.small_app import PATIENCE_SECONDS, DevServer

RETRY_AFTER = str(RETRY_AFTER_SECONDS)

_MARK = "MELEE_SERVER_UNDER_TEST"


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: str
    retry_after: str | None


class ServerUnderTest(DevServer):
    """`melee serve` on a free port, read line by line. At the end of `with` it is killed, should it still run, and no
    process of it may be left.

    Attributes:
        start_seconds: how long its first line took; more on a machine that has much else to do.
    """

    subcommand = "serve"

    def __init__(self, app: Path | str, *options: str) -> None:
        super().__init__(app, *options)
        # Whatever the server starts has it too.
        self._mark = f"{_MARK}={uuid.uuid4()}"
        name, _, value = self._mark.partition("=")
        self.environment[name] = value
        self._clients = ThreadPoolExecutor(200)
        self._began_at = time.monotonic()

    def __enter__(self) -> Self:
        super().__enter__()
        self.start_seconds = time.monotonic() - self._began_at
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        left = self.left_after(self.processes())
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        super().__exit__(kind, error, trace)
        self._clients.shutdown()
        assert not left, f"{left} outlive the server, which printed:\n{''.join(self.printed)}"

    def begin_get(self, path: str = "") -> "Future[Answer]":
        """Loads a page while the test goes on."""
        return self._clients.submit(self.ask, path)

    def ask(self, path: str = "") -> "Answer":
        """Loads a page."""
        with self.asked(path) as connection:
            response = connection.getresponse()
            return Answer(response.status, response.read().decode(), response.headers["Retry-After"])

    @contextmanager
    def asked(self, path: str, **headers: str) -> Iterator[HTTPConnection]:
        """Inside, somebody has asked for a page; leaves at the end."""
        address = urlsplit(self.url)
        with closing(HTTPConnection(address.hostname or "", address.port, timeout=PATIENCE_SECONDS)) as connection:
            connection.request("GET", f"/{path}", headers=headers)
            yield connection

    def read_no_more(self) -> None:
        """Leaves the output of the server without a reader, from its next line on."""
        assert self.process.stdout
        with Path(os.devnull).open() as nothing:
            os.dup2(nothing.fileno(), self.process.stdout.fileno())

    def descriptors(self) -> int:
        """How many the server has open."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def kilobytes(self) -> int:
        """How much memory the server holds."""
        return _kilobytes(self.process.pid)

    def kill(self, module: str) -> None:
        """Ends by SIGKILL the process that runs a module, and waits until it is gone. Of those that were forked from
        one it is the first."""
        pid = min(self.named(module))
        os.kill(pid, signal.SIGKILL)
        assert not self.left_after({pid})

    def processes(self) -> set[int]:
        """All that the server has started and that is still there, itself too."""
        found = set()
        for folder in Path("/proc").iterdir():
            # Some end while they are looked at, and a zombie has no environment.
            with suppress(OSError):
                if folder.name.isdecimal() and self._mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found.add(int(folder.name))
        return found

    def children(self) -> set[int]:
        """All of them but the server itself."""
        return self.processes() - {self.process.pid}

    def named(self, module: str) -> set[int]:
        """Those that run a module such as `melee.objects`."""
        return {pid for pid in self.processes() if module.encode() in _command_of(pid)}

    def wait_for_processes(self, module: str, count: int) -> None:
        """Waits until so many run a module; the others end, one after the other."""
        while len(running := self.named(module)) > count:
            assert _one_ends(running), f"{running} run on"

    def left_after(self, processes: set[int]) -> set[int]:
        """Waits until these have ended; returns those that did not."""
        return {pid for pid in processes if not _one_ends({pid})}

    def wait_until_alone(self) -> None:
        """Waits until the server has no child any more."""
        assert not self.left_after(self.children())


def pid_of(caller: socket.socket) -> int:
    """Which process is at the other end of a Unix socket."""
    pid: int = struct.unpack("3i", caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    return pid


def _kilobytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def _command_of(pid: int) -> list[bytes]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return []


def _one_ends(pids: set[int]) -> bool:
    """Waits until one of these has ended; returns whether it did."""
    poll = select.poll()
    with ExitStack() as opened:
        for pid in pids:
            try:
                process = os.pidfd_open(pid)
            except ProcessLookupError:
                return True
            opened.callback(os.close, process)
            poll.register(process, select.POLLIN)
        return bool(poll.poll(PATIENCE_SECONDS * 1000))
