"""A mail service on a real socket. A test has it fail, hang or answer too late; run by
hand, `python -m tests.mail_service`, it prints the mails."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def sends(_key: str) -> str:
    return "send"


def sends_late(_key: str) -> str:
    return "send late"


def fails(_key: str) -> str:
    return "fail"


def hangs(_key: str) -> str:
    return "hang"


class MailService(ThreadingHTTPServer):
    """A service that sends one mail for each idempotency key.

    What it does with a request, `behave` says, by the key of the request: "send";
    "fail", which answers 500; "hang"; "send late", which sends and then hangs; "answer
    twice", which sends and says so twice.

    Attributes:
        mails: what it sent: the address by the key.
        asked: how many requests came with each key.
        hung: set when a request hangs.
    """

    daemon_threads = False

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Answer)
        self.behave: Callable[[str], str] = sends
        self.mails: dict[str, str] = {}
        self.asked = Counter[str]()
        self.hung, self.closing = threading.Event(), threading.Event()
        self.changed = threading.Condition()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/mails"

    def take(self, key: str, to: str) -> str:
        """Sends the mail, if it does, and returns how to answer."""
        with self.changed:
            what = self.behave(key)
            self.asked[key] += 1
            if what in ("send", "send late", "answer twice") and key not in self.mails:
                self.mails[key] = to
            self.changed.notify_all()
            return what

    def wait_until(self, is_reached: Callable[[], bool]) -> bool:
        """Waits for requests until it is so; False when it is not within a minute."""
        with self.changed:
            return self.changed.wait_for(is_reached, timeout=60)


class Answer(BaseHTTPRequestHandler):
    server: MailService

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        mail = json.loads(self.rfile.read(length))
        what = self.server.take(self.headers["Idempotency-Key"], mail["to"])
        if what in ("hang", "send late"):
            self.server.hung.set()
            self.server.closing.wait()
            return
        self.log_message("%s: %s to %s", what, mail["subject"], mail["to"])
        for _ in range(1 + (what == "answer twice")):
            self.send_response(500 if what == "fail" else 202)
            self.send_header("Content-Length", "0")
            self.end_headers()


@contextmanager
def mail_service() -> Iterator[MailService]:
    with MailService() as service:
        thread = threading.Thread(target=service.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield service
        finally:
            service.closing.set()
            service.shutdown()
            thread.join()


if __name__ == "__main__":
    MailService(port=8200).serve_forever()
