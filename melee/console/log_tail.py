"""The last lines of the log of this process."""

import itertools
from collections import deque
from dataclasses import dataclass

from melee import clock, log
from melee.console.moments import Moment, Now
from melee.console.text import Text, text

LINES_AT_MOST = 200


@dataclass(frozen=True)
class LogLine:
    """An event of the log: the how-manieth; `level` is `info`, `warning`, `error` or `critical`."""

    number: int
    logged: Moment
    level: str
    text: Text


class LogTail:
    """Keeps what is logged from now on, as much as the page shows."""

    def __init__(self) -> None:
        self._kept: deque[tuple[int, float, str, str]] = deque(maxlen=LINES_AT_MOST)
        self._numbers = itertools.count(1)
        log.also_to(self._keep)

    def lines(self, now: Now) -> list[LogLine]:
        """The newest first."""
        kept = list(self._kept)
        return [LogLine(number, now.moment(at), level, text(words)) for number, at, level, words in reversed(kept)]

    def _keep(self, level: str, words: str) -> None:
        self._kept.append((next(self._numbers), clock.current().now(), level, words))
