"""When cron expressions match in the nights in which clocks change.

python -m snippets.cron.nights
"""

from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from melee.jobs.cron import Schedule

EXPRESSIONS = ("30 1 * * *", "30 2 * * *", "0 3 * * *", "30 * * * *", "*/20 2 * * *")
NIGHTS = {
    "paris": ("Europe/Paris", "2030-03-31", "2030-10-27"),
    "new_york": ("America/New_York", "2030-03-10", "2030-11-03"),
}
HEAD = ("expression", "most nights", "clocks go forward", "clocks go back")
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


def cell(moments: list[datetime]) -> str:
    shown = [f"{moment:%H:%M}" + " again" * moment.fold for moment in moments]
    return ", ".join(shown) or "none"


def table(place: str) -> str:
    zone, forward, back = NIGHTS[place]
    rows = [HEAD, ("---",) * len(HEAD)]
    for expression in EXPRESSIONS:
        nights = (USUAL, forward, back)
        cells = [cell(matches(expression, zone, night)) for night in nights]
        rows.append((f"`{expression}`", *cells))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main() -> None:
    for place in NIGHTS:
        file = Path(__file__).with_name(f"{place}.md")
        file.write_text(table(place), encoding="utf-8")


if __name__ == "__main__":
    main()
