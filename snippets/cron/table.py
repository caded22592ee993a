"""Writes the tables of the nights in which clocks change, from the code of schedules:

python -m snippets.cron.table
"""

from datetime import datetime
from pathlib import Path

from snippets.cron.nights import EXPRESSIONS, NIGHTS, USUAL, matches

HEAD = ("expression", "most nights", "clocks go forward", "clocks go back")


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
