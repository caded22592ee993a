"""The SQL of an app is tried before the app runs: each mistake is named at its line and column, and nothing else is."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from melee.builder.classes import durable_classes, job_classes
from melee.builder.reading import read_sources
from melee.builder.source import Finding
from melee.builder.statements import findings
from melee.project import Project
from tests.melee.builder.an_app import sources_with_one_unread

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


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, text: str) -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    written("app.py", APP)
    written("db/001_notes.sql", NOTES)
    written("db/objects/stats/001_days.sql", DAYS)
    written("lib/stats.py", f"{STATS}        pass\n")
    return written


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


# Migrations


def test_a_migration_that_fails_is_named_at_the_mistake(tmp_path: Path, write: Write) -> None:
    write("db/objects/stats/002_more.sql", "-- more\nCREATE TABLE more (\n    x TEXT\n) STRICTT;\n")
    problem = f"unknown table option: STRICTT; {STATEMENT}".replace("#statements", "#migrations")
    assert found(tmp_path) == [Finding("db/objects/stats/002_more.sql", 4, 3, problem)]


def test_of_a_database_that_cannot_be_made_the_statements_are_not_judged(tmp_path: Path, write: Write) -> None:
    write("db/objects/stats/001_days.sql", "CREATE TABLE days (on_date TEXT,);")
    write("lib/stats.py", f'{STATS}        self.storage.run("DELETE FROM dais")\n')
    write("app.py", f'{APP}@app.get("/")\ndef index():\n    return app.db.query("SELECT test FROM notes")\n')
    problem = f'near ")": syntax error; {STATEMENT}'.replace("#statements", "#migrations")
    missing = "no such column: test in the database of the app; correct the name, or make it in a migration, "
    assert found(tmp_path) == [
        Finding("app.py", 8, 33, f"{missing}db/002_what.sql (see guide/database#migrations)"),
        Finding("db/objects/stats/001_days.sql", 1, 33, problem),
    ]


def test_of_the_migrations_of_a_database_the_first_that_fails_is_named(tmp_path: Path, write: Write) -> None:
    for name in ["db/002_a.sql", "db/003_b.sql", "db/objects/stats/002_a.sql", "db/objects/stats/003_b.sql"]:
        write(name, "CREATE TABLE more (x,);")
    assert [finding[:3] for finding in found(tmp_path)] == [
        ("db/002_a.sql", 1, 22),
        ("db/objects/stats/002_a.sql", 1, 22),
    ]


def test_a_migration_that_cannot_be_read_is_named(tmp_path: Path, write: Write) -> None:
    (tmp_path / "db" / "002_more.sql").mkdir()
    problem = "it cannot be read: Is a directory; make it readable, or remove it (see guide/database#migrations)"
    assert found(tmp_path) == [Finding("db/002_more.sql", 1, 1, problem)]


def test_a_migration_may_not_do_what_an_app_may_not(tmp_path: Path, write: Write) -> None:
    write("db/002_settings.sql", "\n  PRAGMA journal_mode = OFF;")
    problem = "PRAGMA journal_mode is refused, since the settings keep melee's promises; leave it out"
    assert found(tmp_path) == [Finding("db/002_settings.sql", 2, 3, f"{problem} (see guide/database#migrations)")]


def test_a_migration_that_leaves_a_broken_foreign_key_is_named(tmp_path: Path, write: Write) -> None:
    write("db/002_tags.sql", "CREATE TABLE tags (note INTEGER REFERENCES notes DEFERRABLE INITIALLY DEFERRED);")
    write("db/003_seed.sql", "INSERT INTO tags VALUES (7);")
    problem = "FOREIGN KEY constraint failed; correct the file (see guide/database#migrations)"
    assert found(tmp_path) == [Finding("db/003_seed.sql", 1, 1, problem)]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("2_more.sql", "a migration is named NNN_what.sql, such as 001_days.sql; rename it"),
        ("001_zoo.sql", "001_notes.sql has the same number; give it the next one"),
    ],
)
def test_a_file_with_a_wrong_name_is_named(tmp_path: Path, write: Write, name: str, problem: str) -> None:
    write(f"db/{name}", "CREATE TABLE more (x);")
    assert found(tmp_path) == [Finding(f"db/{name}", 1, 1, f"{problem} (see guide/database#migrations)")]


def test_a_file_that_is_not_utf_8_is_named(tmp_path: Path, write: Write) -> None:
    write("db/002_more.sql", "").write_bytes("CREATE TABLE é (x)".encode("latin-1"))
    [finding] = found(tmp_path)
    assert finding[:3] == ("db/002_more.sql", 1, 1)
    assert "save it as UTF-8" in finding.problem


def test_migrations_in_a_folder_that_no_class_has_are_found(tmp_path: Path, write: Write) -> None:
    write("db/objects/statz/001_days.sql", DAYS)
    write("db/objects/statz/002_more.sql", DAYS)
    problem = (
        "no durable class has the folder db/objects/statz, so nothing runs this; "
        "name the folder after its class (db/objects/stats) (see guide/database#migrations)"
    )
    assert found(tmp_path) == [Finding("db/objects/statz/001_days.sql", 1, 1, problem)]


def test_migrations_beside_the_folders_of_classes_are_found(tmp_path: Path, write: Write) -> None:
    write("db/objects/001_days.sql", DAYS)
    [finding] = found(tmp_path)
    assert finding[:3] == ("db/objects/001_days.sql", 1, 1)


def test_a_module_that_cannot_be_read_may_have_the_class_of_a_folder_and_make_its_tables(
    tmp_path: Path, write: Write
) -> None:
    write("db/objects/statz/001_days.sql", DAYS)
    write("app.py", f'{APP}app.db.query("SELECT a FROM b")\napp.db.query("SELECT")\n')
    write("lib/stats.py", f'{STATS}        self.storage.run("DELETE FROM dais")\n')
    sources = sources_with_one_unread(tmp_path, app=(tmp_path / "app.py").read_text())
    problem = f"incomplete input; {STATEMENT}"
    assert findings(Project.at(tmp_path), sources, durable_classes(sources), []) == [Finding("app.py", 7, 15, problem)]


# Statements


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


# Tables that code makes


@pytest.mark.parametrize(
    "setup",
    [
        'self.storage.run("CREATE TABLE log (x)")',
        'self.storage.run("/* first */ CREATE TABLE IF NOT EXISTS log (x);")',
        'self.storage.run("create index by_x on log (x)")\nself.storage.run("create table log (x)")',
        'self.storage.run("CREATE TABLE log (x)")\nself.storage.run("CREATE TABLE log (x)")',
        'self.storage.run("CREATE TABLE log (x)")\nself.storage.run("CREATE TABLE log (x, y)")',
        'self.storage.run("ALTER TABLE days RENAME TO log")',
        'self.storage.run(f"CREATE TABLE {day} (x)")',
        "self.storage.run(day)",
        'for sql in ["CREATE TABLE log (x)"]: self.storage.query(sql)',
        'make(self.storage)\n\ndef make(storage): storage.run("CREATE TABLE log (x)")',
    ],
)
def test_a_table_that_code_makes_or_may_make_is_not_missed(tmp_path: Path, write: Write, setup: str) -> None:
    assert found_in_method(tmp_path, write, f'{setup}\nself.storage.run("DELETE FROM log")') == []


def test_tables_may_be_made_in_any_order(tmp_path: Path, write: Write) -> None:
    tables = "CREATE TABLE log AS SELECT * FROM a", "CREATE TABLE a AS SELECT * FROM b", "CREATE TABLE b (x)"
    body = "".join(f'self.storage.run("{table}")\n' for table in tables)
    assert found_in_method(tmp_path, write, f'{body}self.storage.run("DELETE FROM log WHERE x")') == []


def test_many_comments_before_a_statement_take_no_time(tmp_path: Path, write: Write) -> None:
    assert found_in_method(tmp_path, write, f'self.storage.run("{"/* a */ " * 1000}SELECT 1")') == []


def test_a_column_that_code_adds_is_not_missed(tmp_path: Path, write: Write) -> None:
    body = 'self.storage.run("ALTER TABLE days ADD seen")\nself.storage.run("INSERT INTO days VALUES (1, 2, 3)")'
    assert found_in_method(tmp_path, write, body) == []


@pytest.mark.parametrize(
    "unknown",
    [
        "self.storage.query(day)",
        'self.storage.run(f"UPDATE days SET {day} = 1")',
        'self.storage.run("UPDATE days SET " + day + " = 1")',
    ],
)
def test_a_text_that_cannot_be_known_and_makes_no_table_hides_nothing(
    tmp_path: Path, write: Write, unknown: str
) -> None:
    [(line, column, _)] = found_in_method(tmp_path, write, f'{unknown}\nself.storage.run("DELETE FROM log")')
    assert (line, column) == (2, 39)


def test_a_table_that_code_makes_has_its_columns_checked(tmp_path: Path, write: Write) -> None:
    body = 'self.storage.run("CREATE TABLE log (x)")\nself.storage.run("DELETE FROM log WHERE y")'
    [(line, column, _)] = found_in_method(tmp_path, write, body)
    assert (line, column) == (2, 49)


def test_a_table_that_code_makes_wrongly_is_found(tmp_path: Path, write: Write) -> None:
    problem = f'near ")": syntax error; {STATEMENT}'
    assert found_in_method(tmp_path, write, 'self.storage.run("CREATE TABLE log (x,)")') == [(1, 47, problem)]


def test_a_class_with_methods_from_elsewhere_may_have_tables_from_there(tmp_path: Path, write: Write) -> None:
    head = STATS.replace("(Durable)", "(Log, Durable)")
    write("lib/stats.py", f'{head}        self.storage.run("DELETE FROM log")\n')
    assert found(tmp_path) == []


def test_the_example_is_right() -> None:
    assert found(REPOSITORY / "melee_examples" / "board") == []


# Where the mistake is, however the text is written

PLAIN = "abc xyz é✓\U0001f40d'\"\\{}%\n\t"


def in_quotes(text: str, prefix: str, quote: str) -> str:
    """Python source of a string with this text."""
    if prefix == "r":
        return f"r{quote}{text}{quote}"
    written = text.replace("\\", "\\\\").replace(quote[0], f"\\{quote[0]}")
    if len(quote) == 1:
        written = written.replace("\n", "\\n")
    return prefix + quote + (written.replace("{", "{{").replace("}", "}}") if prefix == "f" else written) + quote


def can_be_raw(text: str, quote: str) -> bool:
    return quote[0] not in text and not text.endswith("\\") and (len(quote) == 3 or "\n" not in text)


@st.composite
def pieces(draw: st.DrawFn, text: str) -> str:
    """Source of a text in one or more strings side by side, each quoted in a way of its own."""
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    parts = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    written = []
    for part in parts:
        quote = draw(st.sampled_from(["'", '"', "'''", '"""']))
        prefix = draw(st.sampled_from(["", "f", "r"] if can_be_raw(part, quote) else ["", "f"]))
        written.append(in_quotes(part, prefix, quote))
    return draw(st.sampled_from([" ", "\n    ", "  # é'\n", "\\\n"])).join(written)


# In a comment of SQL anything may stand before the mistake.
fillers = st.text(PLAIN, max_size=12)


@given(st.data(), fillers, fillers, st.text("é✓a ", max_size=5))
def test_the_place_is_that_of_the_wrong_name_however_the_text_is_written(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, before: str, after: str, indent: str
) -> None:
    written = data.draw(pieces(f"SELECT /*{before}*/ ")), data.draw(pieces(f" /*{after}*/ FROM notes"))
    escaped = data.draw(st.sampled_from(["", "'\\\n'", "'\\x20'", "'\\N{SPACE}'", "'\\u0020\\U00000020\\40'", "'\\t'"]))
    argument = f"({written[0]} {escaped} 'vews' {written[1]})"
    source = f"{APP}def notes(): # {indent}\n    return '{indent}', app.db.query({argument})\n"
    folder = tmp_path_factory.mktemp("app")
    (folder / "db").mkdir()
    (folder / "db" / "001_notes.sql").write_text(NOTES)
    (folder / "app.py").write_text(source, encoding="utf-8")
    [finding] = found(folder)
    assert finding.problem.startswith("no such column: vews")
    assert source.split("\n")[finding.line - 1][finding.column - 1 :].startswith("vews")


MAIL = "from melee import Job\n\n\nclass Mail(Job):\n    NAME = 'mail'\n\n    def run(self, resources):\n        "


def test_the_statements_of_a_job_are_checked_on_the_database_of_the_app(tmp_path: Path, write: Write) -> None:
    write("jobs/mail.py", f"{MAIL}resources.db.query('SELECT text, txt FROM notes')\n")
    [finding] = found(tmp_path)
    assert finding[:3] == ("jobs/mail.py", 8, 42)
    write("jobs/mail.py", f"{MAIL}resources.db.query('SELECT text FROM notes')\n")
    assert found(tmp_path) == []


def test_what_is_no_database_of_a_job_is_left_alone(tmp_path: Path, write: Write) -> None:
    other = "\n\n    def other(self, resources):\n        resources.db.query('SELECT * FROM nothing')\n"
    write("jobs/mail.py", f"{MAIL}self.db.query('no SQL'){other}")
    assert found(tmp_path) == []


def test_an_app_with_jobs_may_ask_their_table(tmp_path: Path, write: Write) -> None:
    write("app.py", f"{APP}app.db.query('SELECT name, last_error FROM melee_jobs')\n")
    assert ["no such table: melee_jobs" in finding.problem for finding in found(tmp_path)] == [True]
    write("jobs/mail.py", f"{MAIL}pass\n")
    assert found(tmp_path) == []


def test_what_an_app_has_in_postgres_is_not_judged_as_sqlite(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("db/001_notes.sql", "CREATE TABLE notes (id bigint GENERATED ALWAYS AS IDENTITY, at timestamptz);\n")
    write("app.py", f"{APP}app.db.query('SELECT now() - interval \\'1 day\\'')\n")
    write("jobs/mail.py", f"{MAIL}resources.db.query('SELECT id::text FROM notes')\n")
    write("lib/stats.py", f"{STATS}        self.storage.query('SELECT * FROM weeks')\n")
    monkeypatch.setenv("DATABASE_URL", "postgresql://host/name")
    assert [finding.file for finding in found(tmp_path)] == ["lib/stats.py"]
    monkeypatch.delenv("DATABASE_URL")
    assert "db/001_notes.sql" in [finding.file for finding in found(tmp_path)]
