"""A worker's way to its database: connects, hears of news, and connects again when that breaks."""

import selectors
from collections.abc import Callable

from melee import log
from melee.clock import Clock
from melee.errors import DatabaseError
from melee.jobs.opened import Opened
from melee.jobs.store import Store

_PAUSE_SECONDS = 0.2
_PAUSE_SECONDS_AT_MOST = 10


class Link:
    """Open or not. While it cannot be opened it is tried again, each time after a longer pause.

    Args:
        open_database: connects; raises `DatabaseError`.
        selector: what the bell is heard with; whoever hears it, with this as its data, calls `hear`.
    """

    def __init__(self, open_database: Callable[[], Opened], selector: selectors.BaseSelector, clock: Clock) -> None:
        self._open_database, self._selector, self._clock = open_database, selector, clock
        self._opened: Opened | None = None
        self._descriptor: int | None = None
        self._has_heard = False
        self._look_at = 0.0
        self._retry_at, self._pause_seconds = 0.0, 0.0

    @property
    def next_at(self) -> float:
        """When there is something to do, as `elapsed` of the clock says."""
        return self._look_at if self._opened else self._retry_at

    @property
    def is_open(self) -> bool:
        return self._opened is not None

    def store(self, at_once: bool = False) -> Store | None:
        """The store; None while it is not yet time to connect again, unless that is to be done at once. Raises
        `DatabaseError`."""
        if not self._opened and (at_once or self._clock.elapsed() >= self._retry_at):
            self._opened = self._open_database()
            # Asked now: a connection that broke has none any more.
            self._descriptor = self._opened.bell.fileno()
            if self._descriptor is not None:
                self._selector.register(self._descriptor, selectors.EVENT_READ, self)
            self._has_heard, self._look_at = True, self._clock.elapsed()
        return self._opened.store if self._opened else None

    def hear(self) -> None:
        """What the bell is heard with is readable."""
        self._has_heard = True

    def has_news(self) -> bool:
        """Whether there may be something new in the store since this was last asked. Raises `DatabaseError`."""
        now = self._clock.elapsed()
        if not self._opened or (not self._has_heard and now < self._look_at):
            return False
        bell = self._opened.bell
        self._has_heard, self._look_at, is_time = False, now + bell.look_seconds, now >= self._look_at
        return bell.rings() or (is_time and not bell.hears_all)

    def works(self) -> None:
        """All that was to be done has been done, so the next failure is a first one."""
        self._pause_seconds = 0

    def fail(self, error: DatabaseError) -> None:
        """Nothing more can be expected of this connection."""
        self._pause_seconds = min(max(2 * self._pause_seconds, _PAUSE_SECONDS), _PAUSE_SECONDS_AT_MOST)
        self._retry_at = self._clock.elapsed() + self._pause_seconds
        log.job_store_failed(error, self._pause_seconds)
        self.close()

    def close(self) -> None:
        if self._opened:
            if self._descriptor is not None:
                self._selector.unregister(self._descriptor)
            self._opened.close()
            self._opened = None
