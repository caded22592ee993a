"""An object comes from its file: what its migrations, its file and its folder say at the first call."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from melee.errors import DatabaseError, MigrationError, ObjectUnavailable
from melee.objects.durable import Durable
from melee.objects.files import every_file
from tests.melee.objects.conftest import OpenHost
from tests.melee.objects.counter import Counter

Migration = Callable[[str, str, str], Path]


def test_migrations_run_in_order_before_the_first_call_after_a_deploy(
    open_host: OpenHost, migration: Migration
) -> None:
    class Diary(Durable):
        def write(self, text: str) -> None:
            self.storage.run("INSERT INTO entries (text) VALUES (?)", text)

        def entries(self) -> list[dict[str, Any]]:
            return self.storage.query("SELECT * FROM entries")

    migration("diary", "001_entries.sql", "CREATE TABLE entries (text TEXT NOT NULL);")
    open_host(Diary)
    Diary.get("a").write("one")
    migration("diary", "002_mood.sql", "ALTER TABLE entries ADD COLUMN mood TEXT NOT NULL DEFAULT 'fine';")
    open_host(Diary)
    assert Diary.get("a").entries() == [{"text": "one", "mood": "fine"}]


def test_a_migration_that_fails_makes_its_objects_unusable_and_no_others(
    open_host: OpenHost, migration: Migration
) -> None:
    class Broken(Durable):
        def hello(self) -> str:
            return "hello"

    file = migration("broken", "001_a.sql", "CREATE TABLE a (b);\nCREATE TABLE c (d);\nINSERT INTO nowhere VALUES (1);")
    open_host(Broken, Counter)
    with pytest.raises(MigrationError) as raised:
        Broken.get("x").hello()
    assert raised.value.file == f"{file}:3:13"
    assert raised.value.statement == "INSERT INTO nowhere VALUES (1);"
    assert "no such table: nowhere" in str(raised.value)
    assert (Broken.count(), Counter.get("a").add()) == (0, 1)
    file.write_text("CREATE TABLE a (b);")
    assert Broken.get("x").hello() == "hello"


def test_an_edited_migration_is_said_at_the_first_call_and_loses_nothing(
    open_host: OpenHost, migration: Migration
) -> None:
    original = "CREATE TABLE a (b);"
    file = migration("counter", "001_a.sql", original)
    open_host(Counter)
    Counter.get("a").add(3)
    file.write_text("CREATE TABLE a (b, c);")
    open_host(Counter)
    with pytest.raises(MigrationError, match="edited after it ran"):
        Counter.get("a").value()
    file.write_text(original)
    assert Counter.get("a").value() == 3


def test_a_damaged_file_is_an_error_of_that_object_alone(open_host: OpenHost, tmp_path: Path) -> None:
    open_host(Counter)
    Counter.get("a").add()
    open_host(Counter)
    (file,) = every_file(tmp_path / "data" / "objects")
    file.write_bytes(b"not a database, by any means " * 100)
    with pytest.raises(DatabaseError, match="file is not a database"):
        Counter.get("a").value()
    assert Counter.get("b").add() == 1


def test_a_folder_that_cannot_be_made_is_an_error_of_that_call_alone(open_host: OpenHost, tmp_path: Path) -> None:
    open_host(Counter)
    (tmp_path / "data" / "objects" / "counter").write_text("a file where a folder should be")
    with pytest.raises(ObjectUnavailable, match="its file cannot be opened"):
        Counter.get("a").add()
    (tmp_path / "data" / "objects" / "counter").unlink()
    assert Counter.get("a").add() == 1
