"""How things are put into words for a person, at a terminal or in a browser."""

from datetime import datetime, tzinfo

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def visible(text: str) -> str:
    """The text on one line, with what a terminal would act on (line breaks, escapes, marks that turn the reading
    direction) shown as an escape such as `\\n`."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def shortened(text: str, at_most: int = 200) -> str:
    """The text, or its beginning and how long it is."""
    return text if len(text) <= at_most else f"{text[:at_most]}… ({len(text):,} characters)"


def moment(at: float, zone: tzinfo) -> str:
    """A moment in epoch seconds as local time, such as `2030-01-02 00:00:00 CET`."""
    return datetime.fromtimestamp(at, zone).strftime("%Y-%m-%d %H:%M:%S %Z")


def distance(seconds: float) -> str:
    """How far away a moment is: `in 3 h`, `2 min ago`, `now`."""
    for size, unit in _UNITS:
        if abs(seconds) >= size:
            number = f"{abs(seconds) // size:g} {unit}"
            return f"in {number}" if seconds > 0 else f"{number} ago"
    return "now"
