"""Tables that the code of an app makes, or may make, are not missed."""

from pathlib import Path

import pytest

from tests.melee.builder.with_sql import REPOSITORY, STATEMENT, STATS, Write, found, found_in_method


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
