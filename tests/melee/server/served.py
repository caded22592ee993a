"""An app whose requests and objects do what a server must bear, and `melee serve` as its user has it."""

import os
import select
import signal
import socket
import struct
import uuid
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import NamedTuple
from urllib.parse import urlsplit

from tests.melee.cli.small_app import PATIENCE_SECONDS, DevServer
from tests.melee.gate import WAIT_AT

APP = (
    WAIT_AT
    + '''
import os
import time

from flask import request
from lib.counter import Counter
from melee import App
from melee.errors import ObjectError

app = App(__name__)


@app.get("/")
def version():
    return "version 1"


@app.get("/hit/<id>")
def hit(id):
    try:
        return str(Counter.get(id).hit())
    except ObjectError as error:
        return type(error).__name__, 500


@app.get("/wait")
def wait():
    wait_at(request.args["gate"])
    return "waited"


@app.get("/hang")
def hang():
    """For ever, and so does a process that it forks."""
    os.fork()
    wait_at(request.args["gate"])
    return "let go"


@app.get("/sleep/<float:seconds>")
def sleep(seconds):
    time.sleep(seconds)
    return "slept"


@app.get("/ask/<id>/<method>")
def ask(id, method):
    return str(getattr(Counter.get(id), method)())


@app.get("/endless")
def endless():
    Counter.get("a").endless(request.args["gate"])


@app.get("/arm/<id>/<float:seconds>")
def arm(id, seconds):
    return str(Counter.get(id).arm(seconds))
'''
)

COUNTER = (
    WAIT_AT
    + '''
import time

from melee import Durable, now


class Counter(Durable):
    def hit(self):
        self.storage.put("count", self.count() + 1)
        return self.count()

    def count(self):
        return self.storage.get("count", 0)

    def arm(self, seconds):
        """The moment it is set to."""
        due_at = now().timestamp() + seconds
        self.storage.put("due_at", due_at)
        self.timer(at=due_at)
        return due_at

    def on_timer(self):
        self.storage.put("fired", self.fired() + 1)
        self.storage.put("late_seconds", now().timestamp() - self.storage.get("due_at"))

    def fired(self):
        return self.storage.get("fired", 0)

    def late_seconds(self):
        return self.storage.get("late_seconds")

    def endless(self, gate):
        wait_at(gate)
        while True:
            time.sleep(1)
'''
)

_MARK = "MELEE_SERVER_UNDER_TEST"


def write_app(folder: Path, config: str = "") -> Path:
    """Writes the app into a folder that need not exist, and returns it.

    Args:
        config: what its `melee.toml` says.
    """
    (folder / "lib").mkdir(parents=True)
    (folder / "app.py").write_text(APP)
    (folder / "lib" / "counter.py").write_text(COUNTER)
    (folder / "melee.toml").write_text(config)
    return folder


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: str
    retry_after: str | None


class ServerUnderTest(DevServer):
    """`melee serve` on a free port, read line by line. At the end of `with` it is killed, should it still run, and no
    process of it may be left.
    """

    subcommand = "serve"

    def __init__(self, app: Path | str, *options: str) -> None:
        super().__init__(app, *options)
        # Whatever the server starts has it too.
        self._mark = f"{_MARK}={uuid.uuid4()}"
        name, _, value = self._mark.partition("=")
        self.environment[name] = value
        self._clients = ThreadPoolExecutor(200)

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
        address = urlsplit(self.url)
        with closing(HTTPConnection(address.hostname or "", address.port, timeout=PATIENCE_SECONDS)) as connection:
            connection.request("GET", f"/{path}")
            response = connection.getresponse()
            return Answer(response.status, response.read().decode(), response.headers["Retry-After"])

    def ask_and_leave(self, path: str) -> None:
        """Asks for a page and does not wait for it."""
        address = urlsplit(self.url)
        with closing(HTTPConnection(address.hostname or "", address.port, timeout=PATIENCE_SECONDS)) as connection:
            connection.request("GET", f"/{path}")

    def descriptors(self) -> int:
        """How many the server has open."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

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

    def left_after(self, processes: set[int]) -> set[int]:
        """Waits until these have ended; returns those that did not."""
        return {pid for pid in processes if not _ends(pid)}

    def wait_until_alone(self) -> None:
        """Waits until the server has no child any more."""
        assert not self.left_after(self.children())


def pid_of(caller: socket.socket) -> int:
    """Which process is at the other end of a Unix socket."""
    pid: int = struct.unpack("3i", caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    return pid


def _command_of(pid: int) -> list[bytes]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return []


def _ends(pid: int) -> bool:
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(process, select.POLLIN)
        return bool(poll.poll(PATIENCE_SECONDS * 1000))
    finally:
        os.close(process)
