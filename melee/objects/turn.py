"""Whose turn it is: code of a host's objects runs in one thread at a time."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

LOOK_AGAIN_SECONDS = 60


class Turn:
    """A lock that goes to those who wait for it in the order in which they came, so that no thread that takes it again
    and again keeps it from the others. A thread that has it may take it once more.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._line: deque[object] = deque()
        self._changed = threading.Condition(threading.Lock())
        self._thread = 0
        self._times_taken = 0

    def take(self, within_seconds: float | None = None) -> bool:
        """Waits until it is this thread's turn, which lasts until `end`; False when that takes too long."""
        thread = threading.get_ident()
        if self._thread == thread:
            self._times_taken += 1
            return True
        # Mostly there is nobody else, and this is all.
        is_free = not self._line and self._lock.acquire(blocking=False)
        if not is_free and not self._wait_in_line(within_seconds):
            return False
        self._thread, self._times_taken = thread, 1
        return True

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

    def _wait_in_line(self, within_seconds: float | None) -> bool:
        place = object()
        with self._changed:
            self._line.append(place)
            try:
                look_again_seconds = LOOK_AGAIN_SECONDS if within_seconds is None else within_seconds
                while not self._changed.wait_for(lambda: self._comes_to(place), look_again_seconds):
                    if within_seconds is not None:
                        return False
                return True
            finally:
                self._line.remove(place)
                self._changed.notify_all()

    def _comes_to(self, place: object) -> bool:
        return self._line[0] is place and self._lock.acquire(blocking=False)

    def _release(self) -> None:
        self._thread = 0
        self._lock.release()
        # Who comes into the line after this look finds the lock free.
        if self._line:
            with self._changed:
                self._changed.notify_all()
