"""Whose turn it is: code of a host's objects runs in one thread at a time."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self


class Turn:
    """A lock that goes to those who wait for it in the order in which they came, so that no thread that takes it again
    and again keeps it from the others. A thread that has it may take it once more.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._line: deque[object] = deque()
        self._thread = 0
        self._times_taken = 0

    def take(self, within_seconds: float | None = None) -> bool:
        """Waits until it is this thread's turn, which lasts until `end`; False when that takes too long."""
        thread = threading.get_ident()
        if self._thread == thread:
            self._times_taken += 1
            return True
        place = object()
        with self._changed:
            self._line.append(place)
            try:
                if not self._changed.wait_for(lambda: not self._thread and self._line[0] is place, within_seconds):
                    return False
                self._thread, self._times_taken = thread, 1
                return True
            finally:
                self._line.remove(place)
                self._changed.notify_all()

    def end(self) -> None:
        self._times_taken -= 1
        if not self._times_taken:
            self._release()

    def __enter__(self) -> Self:
        self.take()
        return self

    def __exit__(self, *_error: object) -> None:
        self.end()

    @contextmanager
    def given_up(self) -> Iterator[None]:
        """Inside, it is the turn of others, although this thread has taken it."""
        times_taken = self._times_taken
        self._release()
        try:
            yield
        finally:
            self.take()
            self._times_taken = times_taken

    def _release(self) -> None:
        with self._changed:
            self._thread = 0
            self._changed.notify_all()
