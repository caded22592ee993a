"""SQL from migrations and in the page, on real databases."""

from pathlib import Path

import pytest

from tests.melee_docs.a_project import AProject, in_page

OBJECT = "melee_examples/board/db/objects/stats"


@pytest.fixture
def project(tmp_path: Path) -> AProject:
    project = AProject(tmp_path)
    project.write("melee_examples/board/db/001_notes.sql", "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT);\n")
    project.write(f"{OBJECT}/001_days.sql", "CREATE TABLE days (on_date TEXT PRIMARY KEY, views INTEGER);\n")
    project.write(f"{OBJECT}/002_index.sql", "CREATE INDEX by_views\n  ON days (views);\n")
    return project


def test_a_migration_is_applied_after_those_before_it(project: AProject) -> None:
    proof = project.prove(project.block_of(f"{OBJECT}/002_index.sql", language="sql"))
    assert (proof.kind, proof.problem) == ("applied", "")
    assert proof.evidence == ("applied to an empty database, after the migrations before it",)


def test_a_migration_that_fails_is_named_with_its_statement(project: AProject) -> None:
    project.write(f"{OBJECT}/003_bad.sql", "CREATE INDEX a ON days (views);\nCREATE INDEX b ON days (missing);\n")
    problem = project.prove(project.block_of(f"{OBJECT}/003_bad.sql", language="sql")).problem
    assert problem.startswith(f"{OBJECT}/003_bad.sql:2:25: ")
    assert "missing" in problem


@pytest.mark.parametrize(
    ("app", "statement"),
    [
        ("melee_examples/board", "SELECT text FROM notes WHERE id = ?"),
        ("melee_examples/board", "SELECT name, last_error FROM melee_jobs WHERE status = 'failed'"),
        ("melee_examples/board:stats", "SELECT views FROM days;\n\nDELETE FROM days WHERE views < :least;\n"),
    ],
)
def test_a_statement_in_the_page_is_prepared_against_the_database_that_its_fence_names(
    project: AProject, app: str, statement: str
) -> None:
    proof = project.prove(in_page("sql", statement, app=app))
    assert (proof.problem, proof.evidence) == ("", (f"prepared against the migrated database of {app}",))


def test_an_object_has_no_table_of_jobs(project: AProject) -> None:
    proof = project.prove(in_page("sql", "SELECT name FROM melee_jobs", app="melee_examples/board:stats"))
    assert "no such table: melee_jobs" in proof.problem


def test_a_statement_that_does_not_prepare_is_named_with_its_line(project: AProject) -> None:
    block = in_page("sql", "SELECT views FROM days;\nSELECT\n  clicks FROM days;\n", app="melee_examples/board:stats")
    proof = project.prove(block)
    assert proof.problem == "no such column: clicks in: SELECT clicks FROM days;; correct the statement"
    assert proof.problem_line == 12


@pytest.mark.parametrize(
    ("app", "reason"),
    [
        ("", "no app is named whose tables this could use"),
        ("melee_examples/none", "there is no folder melee_examples/none/db; correct the name"),
        ("melee_examples/board:none", "there is no folder melee_examples/board/db/objects/none; correct the name"),
    ],
)
def test_a_statement_without_a_database_is_refused(project: AProject, app: str, reason: str) -> None:
    assert reason in project.prove(in_page("sql", "SELECT 1", app=app)).problem
