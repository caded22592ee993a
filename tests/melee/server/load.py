"""Visitors of a server under test, many at a time."""

import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Self

from tests.melee.cli.small_app import PATIENCE_SECONDS
from tests.melee.server.served import Answer, ServerUnderTest


class Load:
    """Visitors who hit the counter `a` one time after the other, until `end`; each waits for its answer.

    Attributes:
        answers: what they got, when they have ended.
        failed: those of them that are not 200.
    """

    def __init__(self, server: ServerUnderTest, clients: int) -> None:
        self._server, self._clients = server, ThreadPoolExecutor(clients)
        self._count, self._is_over = clients, threading.Event()
        self._got: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self.answers: list[Answer] = []
        self.failed: list[Answer] = []

    def __enter__(self) -> Self:
        self._visits = [self._clients.submit(self._visit) for _ in range(self._count)]
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_over.set()
        self._clients.shutdown()

    def end(self) -> None:
        self._is_over.set()
        for visits in self._visits:
            self.answers += visits.result()
        self.failed = [answer for answer in self.answers if answer.status != 200]

    def wait_for(self, count: int) -> None:
        """Returns when so many more have been served."""
        while count:
            count -= self._got.get(timeout=PATIENCE_SECONDS).status == 200

    def _visit(self) -> list[Answer]:
        answers = []
        while not self._is_over.is_set():
            answers.append(self._server.ask("hit/a"))
            self._got.put(answers[-1])
        return answers
