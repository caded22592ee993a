"""The only place that reads the time.

Code that depends on the time is handed a `Clock`. What an app calls, `melee.now()`, reads the clock and the time zone
installed in its process, so that a test can move both.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Protocol

import tzlocal


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since 1970-01-01 UTC; may be stepped back or forward by the machine's owner."""

    def elapsed(self) -> float:
        """Seconds since some moment; only ever grows, so this measures how long something took."""


class SystemClock:
    def now(self) -> float:
        return time.time()

    def elapsed(self) -> float:
        return time.monotonic()


class ManualClock:
    """A clock that stands still until a test moves it.

    Args:
        at: where it starts: epoch seconds, or an aware `datetime`. Default: 2030-01-01 00:00 UTC.
    """

    def __init__(self, at: float | datetime = datetime(2030, 1, 1, tzinfo=UTC)) -> None:
        self._now = _epoch_seconds(at)
        self._elapsed = 0.0

    def now(self) -> float:
        return self._now

    def elapsed(self) -> float:
        return self._elapsed

    def move(self, seconds: float) -> None:
        """Lets `seconds` pass; raises `ValueError` when they are fewer than 0."""
        if seconds < 0:
            raise ValueError(f"time cannot pass by {seconds} s; use step_to() to set the wall clock back")
        self._now += seconds
        self._elapsed += seconds

    def move_to(self, at: float | datetime) -> None:
        """Lets time pass until `at`; raises `ValueError` when that is in the past, or has no time zone."""
        self.move(_epoch_seconds(at) - self._now)

    def step_to(self, at: float | datetime) -> None:
        """Sets the wall clock to any moment, as an administrator would; no time passes. Raises `ValueError` when `at`
        has no time zone."""
        self._now = _epoch_seconds(at)


def _epoch_seconds(at: float | datetime) -> float:
    if not isinstance(at, datetime):
        return float(at)
    if at.tzinfo is None:
        raise ValueError(f"{at} has no time zone; pass datetime(…, tzinfo=…)")
    return at.timestamp()


@dataclass
class _Installed:
    clock: Clock
    zone: tzinfo


_installed = _Installed(SystemClock(), tzlocal.get_localzone())


@contextmanager
def installed(clock: Clock, zone: tzinfo) -> Iterator[None]:
    """Inside, `melee.now()` of the whole process reads this clock and zone."""
    before = _installed.clock, _installed.zone
    _installed.clock, _installed.zone = clock, zone
    try:
        yield
    finally:
        _installed.clock, _installed.zone = before


def current() -> Clock:
    """The clock that is installed in this process."""
    return _installed.clock


def now() -> datetime:
    """This moment, as an aware `datetime` in the app's time zone (`[app] timezone`, default the machine's).

    Moves with the test clock. Apps call this and never `datetime.now()`.
    """
    return datetime.fromtimestamp(_installed.clock.now(), _installed.zone)
