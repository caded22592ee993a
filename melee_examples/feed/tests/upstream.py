"""Somebody else's server, on a real socket, as good or as bad as a test wants it."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HARBOUR = {
    "title": "Notes from the harbour",
    "items": [{"url": "https://harbour.example/1", "title": "The ferry sails again"}],
}
ISLAND = {
    "title": "Notes from the island",
    "items": [{"url": "https://island.example/1", "title": "Two seals on the pier"}],
}


class Upstream(ThreadingHTTPServer):
    """A server on a free port.

    Attributes:
        body, status: of its answers.
        hangs: whether it takes a request and says nothing.
        breaks_off: whether it hangs up in the middle of the body.
        asked: how many requests came.
        hung: set when it has taken such a request.
    """

    daemon_threads = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.body, self.status, self.asked = b"", 200, 0
        self.hangs = self.breaks_off = False
        self.hung, self.closing = threading.Event(), threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/feed.json"

    def sends(self, feed: Any) -> None:
        self.body = json.dumps(feed).encode()


class Answer(BaseHTTPRequestHandler):
    server: Upstream

    def do_GET(self) -> None:
        self.server.asked += 1
        if self.server.hangs:
            self.server.hung.set()
            self.server.closing.wait()
            return
        body = self.server.body
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        # Whoever finds it too large hangs up.
        with suppress(ConnectionError):
            self.wfile.write(body[:-1] if self.server.breaks_off else body)

    def log_message(self, *_what: object) -> None:
        """Says nothing."""


@contextmanager
def upstream() -> Iterator[Upstream]:
    with Upstream() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            server.shutdown()
            thread.join()
