"""The SQL of an app is tried before the app runs: each mistake is named at its line and column, and nothing else is."""

from pathlib import Path

import pytest

from melee.builder.source import Finding
from tests.melee.builder.with_sql import (
    APP,
    ATTACH,
    MIGRATION,
    SEE,
    STATEMENT,
    STATS,
    Write,
    found,
    found_in_method,
    marked,
)


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ('self.storage.first("SELECT ^vews FROM days")', f"no such column: vews in the database of Stats; {MIGRATION}"),
        ('self.storage.run("DELETE FROM ^dais")', f"no such table: dais in the database of Stats; {MIGRATION}"),
        (
            'self.storage.run("INSERT INTO days (on_date, ^vews) VALUES (?, 1)", day)',
            f"table days has no column named vews in the database of Stats; {MIGRATION}",
        ),
        (
            'self.storage.run("UPDATE days SET ^vews = 1 WHERE on_date = ?", day)',
            f"no such column: vews in the database of Stats; {MIGRATION}",
        ),
        ('self.storage.query("SELECT views FORM ^days")', f'near "days": syntax error; {STATEMENT}'),
        ('self.storage.query("^SELECT views FROM days WHERE")', f"incomplete input; {STATEMENT}"),
        ('self.storage.query("SELECT ^nope(views) FROM days")', f"no such function: nope; {STATEMENT}"),
        (
            'self.storage.run("^INSERT INTO days VALUES (?)", day)',
            f"table days has 2 columns but 1 values were supplied; {STATEMENT}",
        ),
        (
            'self.storage.run("^BEGIN")',
            f"BEGIN by hand is refused; use `with storage.transaction():` or `with db.transaction():` {SEE}",
        ),
        (
            'self.storage.run("^ATTACH ? AS more", day)',
            f"{ATTACH} {SEE}",
        ),
        (
            'self.storage.query("^SELECT * FROM _melee_values")',
            f"tables that begin with _melee_ are melee's own; choose another name {SEE}",
        ),
        (
            'self.storage.query("^SELECT a.views, b.views FROM days AS a, days AS b")',
            f"two columns have one name in ['views', 'views']; give one another name with AS {SEE}",
        ),
        (
            'self.storage.run("UPDATE days SET views = 0; DELETE FROM days WHERE ^vews = 1")',
            f"no such column: vews in the database of Stats; {MIGRATION}",
        ),
        (
            'with self.storage.transaction():\n    self.storage.run("DELETE FROM ^dais")',
            f"no such table: dais in the database of Stats; {MIGRATION}",
        ),
        (
            'storage = self.storage\nstorage.run("DELETE FROM ^dais")',
            f"no such table: dais in the database of Stats; {MIGRATION}",
        ),
        (
            'self.storage.run(f"DELETE FROM ^dais")',
            f"no such table: dais in the database of Stats; {MIGRATION}",
        ),
        (
            '[self.storage.run("DELETE FROM ^dais WHERE on_date = ?", each) for each in day]',
            f"no such table: dais in the database of Stats; {MIGRATION}",
        ),
    ],
)
def test_a_statement_that_sqlite_would_refuse_is_named_at_the_mistake(
    tmp_path: Path, write: Write, statement: str, problem: str
) -> None:
    body, line, column = marked(statement)
    assert found_in_method(tmp_path, write, body) == [(line, column + 8, problem)]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ('"SELECT ? + ?", day', "has 2 parameters and is given 1 value"),
        ('"SELECT 1", day', "has 0 parameters and is given 1 value"),
        ('"SELECT :a"', "has 1 parameter and is given 0 values"),
        ('"SELECT ? AS a; SELECT ? AS b", day', "has 2 parameters and is given 1 value"),
        ('"SELECT :a, :b", day, day, day', "has 2 parameters and is given 3 values"),
    ],
)
def test_a_wrong_number_of_values_is_named_at_the_statement(
    tmp_path: Path, write: Write, call: str, problem: str
) -> None:
    problem = f"the statement {problem}; give one value for each parameter (see guide/database#statements)"
    assert found_in_method(tmp_path, write, f"self.storage.query({call})") == [(1, 28, problem)]


@pytest.mark.parametrize(
    ("call", "column", "kind"),
    [
        ('"SELECT ?", ^(day,)', 40, "tuple"),
        ('"SELECT ? + ?", ^[day, 1]', 44, "list"),
        ('"SELECT ? + ?", 1, ^()', 47, "tuple"),
    ],
)
def test_values_in_brackets_are_named_at_the_bracket(
    tmp_path: Path, write: Write, call: str, column: int, kind: str
) -> None:
    problem = f"a {kind} is no value; give each value as an argument of its own {SEE}"
    assert found_in_method(tmp_path, write, f"self.storage.query({call.replace('^', '')})") == [(1, column, problem)]


@pytest.mark.parametrize(
    "body",
    [
        'self.storage.run("SELECT ? + ?", *day)',
        'self.storage.run("SELECT :a, :b", {"a": 1, "b": 2})',
        'self.storage.run("SELECT :a, :b", day)',
        'self.storage.run("SELECT ?1 AS a, ?1 AS b", day)',
        'self.storage.run("UPDATE days SET views = 0; DELETE FROM days;")',
        'self.storage.run("")',
        'self.storage.put("views", 1)\nself.storage.get("SELECT")',
        'self.storage.query(f"SELECT {day} FROM dais")',
        'self.storage.query("SELECT " + day)',
        'self.storage.query("SELECT %s" % day)',
        "self.storage.query(day)",
        "self.storage.query()",
        "self.storage.query('SELECT \\ud83d FROM dais')",
        "self.storage.query('SELECT \\0 FROM dais')",
        'day.query("SELECT vews")',
        'day.storage.run("BEGIN")',
        'import subprocess\nsubprocess.run("BEGIN")',
        'storage = self.storage\nstorage = day\nstorage.run("BEGIN")',
        'storage = self.storage\nf = lambda storage: storage.run("BEGIN")',
        'self.storage.run("PRAGMA defer_foreign_keys = ON")',
        'self.storage.query("PRAGMA table_info(days)")',
    ],
)
def test_what_is_right_or_cannot_be_known_is_left_alone(tmp_path: Path, write: Write, body: str) -> None:
    assert found_in_method(tmp_path, write, body) == []


def test_nothing_is_executed(tmp_path: Path, write: Write) -> None:
    drop = 'self.storage.run("DROP TABLE days")'
    assert found_in_method(tmp_path, write, f"{drop}\n{drop}") == []


def test_a_class_without_migrations_is_told_where_they_belong(tmp_path: Path, write: Write) -> None:
    write("db/objects/stats/001_days.sql", "").unlink()
    [(line, column, problem)] = found_in_method(tmp_path, write, 'self.storage.run("DELETE FROM days")')
    assert (line, column) == (1, 39)
    assert "make it in a migration, db/objects/stats/001_what.sql (see" in problem


@pytest.mark.parametrize(
    "use",
    [
        "app.db.query({})",
        "db = app.db\n    db.query({})",
        "current_app.db.query({})",
        "other.db.query({})",
        "sole.app.db.query({})",
    ],
)
@pytest.mark.parametrize("file", ["app.py", "lib/notes.py"])
def test_the_statements_on_the_apps_database_are_checked(tmp_path: Path, write: Write, file: str, use: str) -> None:
    head = APP if file == "app.py" else "from app import app\n"
    head += "import app as sole\nfrom flask import current_app\nfrom app import app as other\n\ndef notes():\n    "
    text, line, column = marked(head + use.format('"SELECT ^test FROM notes"') + "\n")
    write(file, text)
    missing = "no such column: test in the database of the app; correct the name, or make it in a migration, "
    assert found(tmp_path) == [Finding(file, line, column, f"{missing}db/002_what.sql (see guide/database#migrations)")]


def test_each_database_is_asked_about_its_own_statements(tmp_path: Path, write: Write) -> None:
    write("app.py", f'{APP}def notes():\n    return app.db.query("SELECT views FROM days")\n')
    write("lib/stats.py", f'{STATS}        self.storage.run("DELETE FROM notes")\n')
    assert [finding[:3] for finding in found(tmp_path)] == [("app.py", 7, 44), ("lib/stats.py", 6, 39)]


# Texts with a name


def test_a_text_that_a_module_names_once_is_checked_where_it_is_written(tmp_path: Path, write: Write) -> None:
    text, line, column = marked('A: str = "SELECT views FROM days"\nHIT = (\n    "DELETE "\n    "FROM ^dais"\n)\n')
    write("lib/sql.py", text)
    write("lib/stats.py", f"from lib import sql\nfrom lib.sql import A, HIT\n{STATS}        self.storage.run(HIT)\n")
    write("lib/more.py", "from lib.stats import Stats\nfrom lib.sql import HIT\nHIT = HIT\n")
    assert [finding[:3] for finding in found(tmp_path)] == [("lib/sql.py", line, column)]


@pytest.mark.parametrize("assignment", ["HIT = 'SELECT 1'", "HIT += ' -- dais'", "for HIT in []: pass"])
def test_a_name_that_is_assigned_twice_is_left_alone(tmp_path: Path, write: Write, assignment: str) -> None:
    write("lib/stats.py", f'HIT = "DELETE FROM dais"\n{assignment}\n{STATS}        self.storage.run(HIT)\n')
    assert found(tmp_path) == []


@pytest.mark.parametrize("use", ["self.HIT", "Stats.HIT"])
def test_a_text_that_a_class_names_once_is_checked(tmp_path: Path, write: Write, use: str) -> None:
    head = "from melee import Durable\n\n\nclass Stats(Durable):\n    HIT = 'DELETE FROM dais'\n"
    method = f"    def hit(self):\n        self.storage.run({use})\n"
    write("lib/stats.py", head + method)
    assert [finding[:3] for finding in found(tmp_path)] == [("lib/stats.py", 5, 24)]
    write("lib/stats.py", head + method + "    def set(self):\n        self.HIT = 'SELECT 1'\n")
    assert found(tmp_path) == []


# Classes that are derived from others

BASE = """from melee import Durable


class Counter(Durable):
    TABLE = "DELETE FROM counts"

    def clear(self):
        self.storage.run(self.TABLE)

    def look(self):
        return self.storage.query("SELECT n FROM counts")
"""


def test_inherited_methods_are_checked_with_the_tables_of_the_class_that_inherits(tmp_path: Path, write: Write) -> None:
    write("lib/counter.py", BASE)
    derived = "from lib.counter import Counter\n\n\nclass Stats(Counter):\n"
    write("lib/stats.py", f"{derived}    pass\n")
    assert [finding[:3] for finding in found(tmp_path)] == [("lib/counter.py", 5, 26), ("lib/counter.py", 11, 50)]
    write("lib/stats.py", f"{derived}    TABLE = 'DELETE FROM days'\n    def look(self): pass\n")
    assert found(tmp_path) == []


def test_a_class_with_tables_and_heirs_is_checked_too(tmp_path: Path, write: Write) -> None:
    write("lib/counter.py", BASE)
    write("db/objects/counter/001_counts.sql", "CREATE TABLE counts (m);")
    write("db/objects/stats/002_counts.sql", "CREATE TABLE counts (n);")
    write("lib/stats.py", "from lib.counter import Counter\n\n\nclass Stats(Counter):\n    pass\n")
    [finding] = found(tmp_path)
    assert finding[:3] == ("lib/counter.py", 11, 43)
    assert finding.problem.startswith("no such column: n in the database of Counter;")


def test_a_class_that_makes_its_tables_and_has_heirs_is_checked_too(tmp_path: Path, write: Write) -> None:
    setup = "\n    def setup(self):\n        self.storage.run('CREATE TABLE counts (m)')\n"
    write("lib/counter.py", BASE + setup)
    derived = "from lib.counter import Counter\n\n\nclass Stats(Counter):\n    def look(self): pass\n"
    write("lib/stats.py", derived)
    [finding] = found(tmp_path)
    assert finding[:3] == ("lib/counter.py", 11, 43)
    assert finding.problem.startswith("no such column: n in the database of Counter;")
