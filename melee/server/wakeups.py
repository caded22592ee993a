"""When an app goes to sleep, and when a timer wakes it."""

from dataclasses import dataclass

from melee.clock import Clock

AHEAD_SECONDS = 2
"""How long before a timer the worker is started, so that it is there in time."""


@dataclass
class Wakeups:
    """The two decisions. Moments are in epoch seconds; None means that no timer is set.

    Args:
        sleep_after_seconds: an app sleeps when nobody has asked for anything for so long, and it will not be woken
            again in as long, since sleep pays only when it lasts.
    """

    clock: Clock
    sleep_after_seconds: float

    def may_sleep(self, idle_seconds: float, next_wake_at: float | None) -> bool:
        if idle_seconds < self.sleep_after_seconds:
            return False
        return next_wake_at is None or next_wake_at - self.clock.now() > self.sleep_after_seconds + AHEAD_SECONDS

    def is_due(self, next_wake_at: float | None) -> bool:
        """Whether the worker has to be started for a timer."""
        return next_wake_at is not None and next_wake_at - self.clock.now() <= AHEAD_SECONDS
