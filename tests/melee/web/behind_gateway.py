"""A gateway on a real socket, with a real request parent behind it, in a loop whose time is moved."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import structlog

from melee import log
from melee.clock import SystemClock
from melee.project import WebConfig
from melee.web.children import Children, ParentLost
from melee.web.gateway import Gateway
from tests.melee.gate import WAIT_AT
from tests.melee.web.parent import command
from tests.melee.web.serving import Serving, answer, serving

APP = (
    WAIT_AT
    + '''
import os
import resource
from pathlib import Path

leaked = []


class Closing(list):
    """A body that tells the test when it is closed, and waits for it."""

    def close(self):
        wait_at(self.gate)
        Path(self.gate + ".closed").touch()


def app(environ, start_response):
    path, query = environ["PATH_INFO"], environ["QUERY_STRING"]
    if path == "/die":
        os._exit(3)
    if path == "/kill":
        os.kill(os.getpid(), 9)
    if path == "/hang":
        copy = os.fork()
        wait_at(query)
        if copy == 0:
            os._exit(0)
    if path == "/twice":
        copy = os.fork()
        if copy == 0 and query:
            wait_at(query)
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [str(copy).encode()]
    if path == "/break":
        start_response("200 OK", [("Content-Type", "text/plain")])(b"begun")
        os._exit(3)
    if path == "/leak":
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
        leaked.extend(os.dup(1) for _ in range(100 - len(os.listdir("/proc/self/fd")) + 1))
    if path == "/length":
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [str(len(environ["wsgi.input"].read())).encode()]
    if path == "/large":
        start_response("200 OK", [("Content-Type", "text/plain")])
        return (b"x" * 65536 for _part in range(1600))
    if path == "/closing":
        body = Closing([b"whole"])
        body.gate = query
        start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "5")])
        return body
    if path == "/not-http":
        start_response("200 OK", [("Content-Type", "text/plain"), ("X-Late", "a\\x01")])
        return [b"never seen"]
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [path.encode()]
'''
)


class Behind:
    """A request parent that the gateway has started for its first request, and its children."""

    def __init__(self, folder: Path, config: WebConfig) -> None:
        (folder / "guests.py").write_text(APP)
        (folder / "melee.toml").write_text(f"[web]\nrequests_per_child = {config.requests_per_child}\n")
        self._folder, self._config = folder, config
        self._children: Children | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.problem = ""
        """What `awake` raises instead of starting one."""

    async def awake(self) -> Children:
        if self.problem:
            raise ParentLost(self.problem)
        if not self._children or self._children.lost.done():
            ours, theirs = socket.socketpair()
            with theirs:
                arguments = command("guests:app", theirs)
                self.process = subprocess.Popen(arguments, pass_fds=[theirs.fileno()], cwd=self._folder)
            self._children = Children(ours, self._config.slots, stay=self._config.requests_per_child != 1)
        await self._children.loaded
        return self._children

    def hang_up(self) -> None:
        """In the loop."""
        if self._children:
            self._children.close()

    def close(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()

    def kill(self) -> None:
        assert self.process
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


class GatewayUnderTest:
    """What a visitor and the one who reads the log see.

    Attributes:
        gateway, server, parent: what it is made of.
    """

    def __init__(self, gateway: Gateway, server: Serving, parent: Behind, written: StringIO) -> None:
        self.gateway, self.server, self.parent, self._written = gateway, server, parent, written

    def begin(self, path: str, method: str = "GET", headers: str = "", body: bytes = b"") -> socket.socket:
        """A client that has sent its request."""
        client = self.server.connect()
        client.sendall(f"{method} {path} HTTP/1.1\r\nHost: melee.example\r\n{headers}\r\n".encode() + body)
        return client

    def ask(self, path: str, method: str = "GET", headers: str = "", body: bytes = b"") -> Any:
        """Status, headers and body of an answer."""
        with self.begin(path, method, headers, body) as client:
            return answer(client)

    def logged(self, event: str) -> list[dict[str, Any]]:
        """The lines of the log about something, after all that has happened in the loop."""
        self.server.run(lambda: None)
        lines = [json.loads(line) for line in self._written.getvalue().splitlines()]
        return [line for line in lines if line["event"] == event]


@contextmanager
def behind_gateway(folder: Path, says: Sequence[str] = (), **web: Any) -> Iterator[GatewayUnderTest]:
    """Inside, an app is served with `[web]` as given. `static/` in the folder holds its static files.

    Args:
        says: what uvicorn complains of.
    """
    written, logged_before = StringIO(), structlog.get_config()
    log.to_json(written)
    config = WebConfig(**web)
    parent = Behind(folder, config)
    gateway = Gateway(parent.awake, config, folder / "static", SystemClock())
    try:
        with serving(gateway, says) as server:
            try:
                yield GatewayUnderTest(gateway, server, parent, written)
            finally:
                server.run(parent.hang_up)
    finally:
        parent.close()
        structlog.configure(**logged_before)
