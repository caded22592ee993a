"""Writes the tables of limits, each number read from the code that keeps it:

python -m snippets.what_melee_cannot_do.table
"""

from pathlib import Path

from snippets.what_melee_cannot_do import objects, requests, server

HEAD = ("what", "limit", "beyond it")
TABLES = {
    "requests": requests.LIMITS,
    "objects": objects.LIMITS,
    "server": server.LIMITS,
}


def table(limits: list[tuple[str, str, str]]) -> str:
    rows = [HEAD, ("---",) * len(HEAD), *limits]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main() -> None:
    for name, limits in TABLES.items():
        file = Path(__file__).with_name(f"{name}.md")
        file.write_text(table(limits), encoding="utf-8")


if __name__ == "__main__":
    main()
