"""When a timer is due: what `timer(after=…)` and `timer(at=…)` accept, and why they refuse the rest."""

import math
from datetime import datetime

from melee.errors import TimerError

# A moment in seconds before 2001-09-09 has fewer than ten digits: a delay, or minutes. One after the year 5000 has
# more than eleven: milliseconds.
_EARLIEST, _LATEST = 1_000_000_000, 95_617_584_000
_AFTER_AT_MOST = 100 * 366 * 86_400


def due_moment(after: float | None, at: float | datetime | None, now: float) -> float:
    """Epoch seconds at which a timer is due.

    Raises:
        TimerError: both or neither given, not a number, NaN, a negative delay, a naive `datetime`, or a number that
            cannot be a moment in epoch seconds.
    """
    if (after is None) == (at is None):
        raise TimerError("timer() takes one of after=seconds and at=moment; use cancel_timer() to clear it")
    if after is not None:
        return now + _delay(after)
    if isinstance(at, datetime):
        return _moment(_aware(at).timestamp(), at)
    return _moment(_number("at", at, "pass epoch seconds or an aware datetime"), at)


def _delay(after: object) -> float:
    seconds = _number("after", after, "pass seconds")
    if seconds < 0:
        raise TimerError(f"after={after} is negative; pass 0 or more seconds")
    if seconds > _AFTER_AT_MOST:
        raise TimerError(f"after={after} is more than a hundred years; pass seconds, or at= for a moment")
    return seconds


def _moment(seconds: float, given: object) -> float:
    if seconds < _EARLIEST:
        raise TimerError(f"at={given} is before 2001-09-09; pass epoch seconds, or after= for a delay")
    if seconds > _LATEST:
        raise TimerError(f"at={given} is after the year 5000; pass seconds, not milliseconds")
    return seconds


def _aware(at: datetime) -> datetime:
    if at.utcoffset() is None:
        raise TimerError(f"at={at} has no time zone; start from melee.now(), or pass datetime(…, tzinfo=…)")
    return at


def _number(name: str, value: object, instead: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TimerError(f"{name}={value!r} is of type {type(value).__name__}; {instead}")
    try:
        seconds = float(value)
    except OverflowError:
        seconds = math.inf
    if not math.isfinite(seconds):
        raise TimerError(f"{name}={seconds} is no moment; {instead}")
    return seconds
