"""When cron expressions match in the nights in which clocks change."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from melee.jobs.cron import Schedule

EXPRESSIONS = ("30 1 * * *", "30 2 * * *", "0 3 * * *", "30 * * * *", "*/20 2 * * *")
NIGHTS = {
    "paris": ("Europe/Paris", "2030-03-31", "2030-10-27"),
    "new_york": ("America/New_York", "2030-03-10", "2030-11-03"),
}
USUAL = "2030-01-15"
UNTIL_HOUR = 4


def matches(expression: str, zone: str, date: str) -> list[datetime]:
    """Those from midnight to four in the morning."""
    place = ZoneInfo(zone)
    midnight = datetime.fromisoformat(date).replace(tzinfo=place)
    until = (midnight + timedelta(hours=UNTIL_HOUR)).timestamp()
    schedule = Schedule(f"CRON_TZ={zone} {expression}")
    found = []
    moment = schedule.next_after(midnight.timestamp() - 1)
    while moment < until:
        found.append(datetime.fromtimestamp(moment, place))
        moment = schedule.next_after(moment)
    return found
