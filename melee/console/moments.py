"""Moments as the page shows them."""

from dataclasses import dataclass
from datetime import UTC, datetime

from melee.words import distance, moment


@dataclass(frozen=True)
class Moment:
    """A moment in words.

    Attributes:
        local: in the app's time zone.
        utc: in UTC.
        machine: for a program, as ISO 8601.
        away: how far from now, such as `in 3 h`.
    """

    local: str
    utc: str
    machine: str
    away: str


class Now:
    """The moment at which the page is made.

    Args:
        at: that moment, in the app's time zone.
    """

    def __init__(self, at: datetime) -> None:
        self.seconds, self._zone = at.timestamp(), at.tzinfo or UTC

    def moment(self, seconds: float) -> Moment:
        utc = datetime.fromtimestamp(seconds, UTC)
        return Moment(
            local=moment(seconds, self._zone),
            utc=moment(seconds, UTC),
            machine=utc.isoformat(timespec="seconds"),
            away=distance(seconds - self.seconds),
        )
