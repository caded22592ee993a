"""An app with a database of its own and one of a class; what is found wrong in its SQL."""

from collections.abc import Callable
from pathlib import Path

from melee.builder.classes import durable_classes, job_classes
from melee.builder.reading import read_sources
from melee.builder.source import Finding
from melee.builder.statements import findings
from melee.project import Project

REPOSITORY = Path(__file__).parents[3]
DAYS = "CREATE TABLE days (on_date TEXT PRIMARY KEY, views INTEGER NOT NULL DEFAULT 0);\n"
NOTES = "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);\n"
APP = "from melee import App\n\napp = App(__name__)\n\n\n"
STATS = "from melee import Durable\n\n\nclass Stats(Durable):\n    def hit(self, day):\n"
STATS_LINES = STATS.count("\n")
MIGRATION = "correct the name, or make it in a migration, db/objects/stats/002_what.sql (see guide/database#migrations)"
SEE = "(see guide/database#statements)"
STATEMENT = f"correct the statement {SEE}"
ATTACH = "ATTACH, DETACH and VACUUM reach past the one database and its transaction; keep your tables in this one"

Write = Callable[[str, str], Path]


def found(folder: Path) -> list[Finding]:
    sources, unreadable = read_sources(folder)
    assert unreadable == []
    return findings(Project.at(folder), sources, durable_classes(sources), job_classes(sources))


def found_in_method(folder: Path, write: Write, body: str) -> list[tuple[int, int, str]]:
    """Line in the body, column, and problem of what is found in a method of `Stats`."""
    write("lib/stats.py", STATS + "".join(f"        {line}\n" for line in body.splitlines()))
    result = found(folder)
    assert {finding.file for finding in result} <= {"lib/stats.py"}
    return [(line - STATS_LINES, column, problem) for _file, line, column, problem in result]


def marked(text: str) -> tuple[str, int, int]:
    """The text without its `^`, and the line and column of what stood after it."""
    before, _, after = text.partition("^")
    return before + after, before.count("\n") + 1, len(before) - before.rfind("\n")
