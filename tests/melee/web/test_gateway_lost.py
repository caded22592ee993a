"""What the gateway makes of children that never take what they are given."""

import asyncio
import os
import socket
from pathlib import Path
from typing import Any

from structlog.testing import capture_logs

from melee.clock import SystemClock
from melee.project import WebConfig
from melee.web.children import Children
from melee.web.gateway import Gateway
from tests.melee.web.stock import Observed, with_children

SCOPE: dict[str, Any] = {
    "method": "GET",
    "path": "/",
    "raw_path": b"/",
    "query_string": b"",
    "http_version": "1.1",
    "scheme": "http",
    "client": ("192.0.2.7", 50_000),
    "server": ("127.0.0.1", 8000),
    "headers": [],
}


def test_a_request_that_no_child_takes_is_given_up_after_a_few(tmp_path: Path) -> None:
    tried = tmp_path / "tried"

    def leave_unread(connection: socket.socket) -> None:
        connection.recv(1, socket.MSG_PEEK)
        with tried.open("a") as file:
            file.write("x")
        os._exit(3)

    async def test(children: Observed, _parent: int) -> None:
        async def awake() -> Children:
            return children

        await children.loaded
        gateway = Gateway(awake, WebConfig(slots=1), tmp_path, SystemClock())
        # The one slot is free again for the second.
        for tries in (5, 10):
            with capture_logs() as logs:
                assert await status_from(gateway) == 502
            [line] = [line for line in logs if line["event"] == "the child of a request was lost"]
            assert "ended before it took the request" in line["reason"]
            assert len(tried.read_text()) == tries

    with_children(test, work=leave_unread)


async def status_from(gateway: Gateway) -> int:
    """What the gateway answers to one request, whose client waits."""
    statuses = []
    parts: list[dict[str, Any]] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Any:
        if parts:
            return parts.pop()
        return await waiting

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    await gateway(SCOPE, receive, send)
    [status] = statuses
    return int(status)
