"""Cron expressions: when one matches next, across changes of the clock, as Debian's cron does it."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from melee.errors import DefinitionError
from melee.jobs.store import NewJob

_ZONE = re.compile(r"CRON_TZ=(\S+)\s+(.*)", re.DOTALL)
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")


class Schedule:
    """When a cron expression matches.

    Five fields: minute, hour, day of the month, month, day of the week; in UTC, or in the zone that is named in front
    of them, as `CRON_TZ=+01:00 ` or `CRON_TZ=Europe/Paris `. Where clocks are set forward, what would have come in the
    hour that is left out comes right after it; where they are set back, what has an hour of its own comes once. These
    are the rules of Debian's cron, see cron(8) there.

    Args:
        expression: such as `"0 8 * * MON-FRI"`.

    Attributes:
        fields: the expression without its zone.
        zone: the zone; printed as `Europe/Paris`, `UTC` or `UTC+01:00`.

    Raises:
        DefinitionError: it is none, or never matches.
    """

    def __init__(self, expression: str) -> None:
        self.expression = expression
        zoned = _ZONE.fullmatch(expression.strip())
        self.zone = _zone(zoned[1], expression) if zoned else UTC
        self.fields = (zoned[2] if zoned else expression).strip()
        if len(self.fields.split()) != 5:
            raise _refused(expression, f"it has {len(self.fields.split())} fields, and five are wanted")
        try:
            self.next_after(0)
        except CronSimError as error:
            raise _refused(expression, str(error)) from error
        except StopIteration:
            raise _refused(expression, "it never matches") from None

    def next_after(self, moment: float) -> float:
        """The first match later than a moment; both in epoch seconds."""
        return next(CronSim(self.fields, datetime.fromtimestamp(moment, self.zone))).timestamp()


@dataclass(frozen=True)
class CronJob:
    """A job that is enqueued whenever its schedule matches, each time with the same payload."""

    schedule: Schedule
    job: NewJob


def _zone(name: str, expression: str) -> tzinfo:
    if offset := _OFFSET.fullmatch(name):
        sign = -1 if offset[1] == "-" else 1
        hours, minutes = int(offset[2]), int(offset[3])
        if hours < 24 and minutes < 60:
            return timezone(sign * timedelta(hours=hours, minutes=minutes))
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        raise _refused(expression, f"there is no time zone {name}; write one such as Europe/Paris or +01:00") from None


def _refused(expression: str, problem: str) -> DefinitionError:
    example = "the fields are minute, hour, day of the month, month, day of the week, such as 0 8 * * MON-FRI"
    return DefinitionError(f"cron({expression!r})", f"{problem}; {example}")
