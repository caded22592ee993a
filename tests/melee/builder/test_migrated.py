"""Migrations are run before the app runs: each mistake in one is named at its line and column."""

from pathlib import Path

import pytest

from melee.builder.classes import durable_classes
from melee.builder.source import Finding
from melee.builder.statements import findings
from melee.project import Project
from tests.melee.builder.an_app import sources_with_one_unread
from tests.melee.builder.with_sql import APP, DAYS, STATEMENT, STATS, Write, found


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
