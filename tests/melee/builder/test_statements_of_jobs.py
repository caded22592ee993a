"""The SQL of jobs, and of apps that have some, is tried before the app runs."""

from pathlib import Path

import pytest

from tests.melee.builder.with_sql import APP, STATS, Write, found

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
