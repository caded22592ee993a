"""What migrations do on every database. `test_migrations` and `test_postgres_migrations` run this on theirs."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier, Event

import pytest

from melee.errors import MigrationError
from melee.store.database import Database, Statements
from melee.store.migrations import migrate, read_migrations

DAYS = "CREATE TABLE days (on_date TEXT PRIMARY KEY);"

Opening = Callable[[], AbstractContextManager[Statements]]


@dataclass
class Migrated:
    """A database, and the folder of its migrations, which is made by the first that is written."""

    connection: Statements
    folder: Path

    def write(self, name: str, sql: str) -> Path:
        self.folder.mkdir(exist_ok=True)
        (self.folder / name).write_text(sql, encoding="utf-8")
        return self.folder / name

    def run(self) -> None:
        migrate(self.connection, Database(self.connection), read_migrations(self.folder))

    def refusal(self) -> str:
        with pytest.raises(MigrationError) as caught:
            self.run()
        assert not self.connection.in_transaction
        return str(caught.value)

    def has_table(self, name: str) -> bool:
        return bool(self.connection.own(self.connection.finds_table, name))

    def ledger(self) -> list[str]:
        if not self.has_table("_melee_migrations"):
            return []
        rows = self.connection.own("SELECT name FROM _melee_migrations ORDER BY number")
        return [row["name"] for row in rows]


class _Arriving(Database):
    """Says when it is about to open a transaction."""

    def __init__(self, connection: Statements, arrived: Event) -> None:
        super().__init__(connection)
        self._arrived = arrived

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._arrived.set()
        with super().transaction():
            yield


class MigrationsSuite:
    """Its fixtures: `migrated`, on an empty database; `opening`, which connects to it as often as it is called."""

    def test_a_folder_that_does_not_exist_has_no_migrations(self, migrated: Migrated) -> None:
        migrated.run()
        assert migrated.ledger() == []

    def test_files_run_in_the_order_of_their_numbers(self, migrated: Migrated) -> None:
        migrated.write("1000_c.sql", "INSERT INTO a VALUES (3);")
        migrated.write("002_b.sql", "INSERT INTO a VALUES (2);")
        migrated.write("001_a.sql", "CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (1)")
        migrated.run()
        assert migrated.ledger() == ["001_a.sql", "002_b.sql", "1000_c.sql"]
        assert [row["x"] for row in migrated.connection.execute("SELECT x FROM a ORDER BY x", ())] == [1, 2, 3]

    def test_what_ran_does_not_run_again(self, migrated: Migrated) -> None:
        migrated.write("001_days.sql", DAYS)
        migrated.run()
        migrated.run()
        migrated.write("002_log.sql", "CREATE TABLE log (x INTEGER);")
        migrated.run()
        assert all(map(migrated.has_table, ["days", "log"]))

    def test_a_failing_third_statement_takes_back_the_first_two_and_the_fixed_file_works(
        self, migrated: Migrated
    ) -> None:
        migrated.write("001_days.sql", DAYS)
        file = migrated.write(
            "002_log.sql",
            "CREATE TABLE log (x INTEGER);\nCREATE TABLE more (y INTEGER);\n\nCREATE  TABEL\n  broken (z INTEGER);\n",
        )
        refusal = migrated.refusal()
        assert refusal.startswith(f"{file}:4:9: ")
        assert refusal.endswith(" in: CREATE TABEL broken (z INTEGER);")
        assert not migrated.has_table("log")
        assert migrated.ledger() == ["001_days.sql"]
        migrated.write(
            "002_log.sql",
            "CREATE TABLE log (x INTEGER);\nCREATE TABLE more (y INTEGER);\nCREATE TABLE fixed (z INTEGER);\n",
        )
        migrated.run()
        assert all(map(migrated.has_table, ["days", "log", "more", "fixed"]))

    def test_a_file_that_was_edited_after_it_ran_is_refused(self, migrated: Migrated) -> None:
        migrated.write("001_days.sql", DAYS)
        migrated.run()
        file = migrated.write("001_days.sql", DAYS + " -- edited")
        problem = "it was edited after it ran; put it back as it was and write a new file for the change"
        assert migrated.refusal() == f"{file}: {problem}"
        migrated.write("001_days.sql", DAYS)
        migrated.run()

    def test_a_file_whose_line_ends_changed_is_the_same(self, migrated: Migrated) -> None:
        file = migrated.write("001_days.sql", "CREATE TABLE a (x INTEGER);\nCREATE TABLE b (x INTEGER);\n")
        migrated.run()
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
        migrated.run()

    def test_a_file_that_was_removed_after_it_ran_is_missed(self, migrated: Migrated) -> None:
        file = migrated.write("001_days.sql", DAYS)
        migrated.run()
        file.unlink()
        assert (
            migrated.refusal() == f"001_days.sql: it ran on {migrated.connection.place} and is gone; put the file back"
        )

    def test_a_lower_number_that_comes_later_is_refused(self, migrated: Migrated) -> None:
        migrated.write("003_days.sql", DAYS)
        migrated.run()
        file = migrated.write("002_log.sql", "CREATE TABLE log (x INTEGER);")
        assert (
            migrated.refusal()
            == f"{file}: number 3 ran before it on {migrated.connection.place}; give it a higher number"
        )

    @pytest.mark.parametrize(
        "name", ["01_days.sql", "days.sql", "001-days.sql", "001_Days.sql", "001_.sql", "001_a b.sql"]
    )
    def test_a_name_that_is_no_migrations_name_is_refused(self, migrated: Migrated, name: str) -> None:
        file = migrated.write(name, DAYS)
        assert migrated.refusal() == f"{file}: a migration is named NNN_what.sql, such as 001_days.sql; rename it"

    def test_two_files_of_one_number_are_refused(self, migrated: Migrated) -> None:
        migrated.write("001_days.sql", DAYS)
        file = migrated.write("0001_log.sql", "CREATE TABLE log (x INTEGER);")
        other = file.with_name("001_days.sql")
        assert migrated.refusal() in {
            f"{file}: 001_days.sql has the same number; give it the next one",
            f"{other}: 0001_log.sql has the same number; give it the next one",
        }
        assert not migrated.has_table("days")

    def test_a_file_that_is_not_utf_8_is_named(self, migrated: Migrated) -> None:
        file = migrated.write("001_days.sql", "")
        file.write_bytes("CREATE TABLE é (x INTEGER)".encode("latin-1"))
        assert migrated.refusal() == f"{file}: it is not UTF-8 (invalid continuation byte at byte 13); save it as UTF-8"

    def test_a_file_in_utf_16_is_named(self, migrated: Migrated) -> None:
        file = migrated.write("001_days.sql", "")
        file.write_bytes(DAYS.encode("utf-16-le"))
        assert migrated.refusal() == f"{file}: it holds NUL characters, as UTF-16 does; save it as UTF-8"

    def test_a_mark_that_some_editors_write_first_is_no_part_of_the_sql(self, migrated: Migrated) -> None:
        migrated.write("001_days.sql", "\ufeff" + DAYS)
        migrated.run()
        assert all(map(migrated.has_table, ["days"]))

    def test_two_processes_that_migrate_at_once_run_each_file_once(self, migrated: Migrated, opening: Opening) -> None:
        migrated.write("001_days.sql", DAYS)
        files = read_migrations(migrated.folder)
        connection, arrived = migrated.connection, Event()
        database = Database(connection)
        with opening() as other, ThreadPoolExecutor() as pool:
            with database.transaction():
                # The other has read an empty ledger. One of the two waits for the other.
                second = pool.submit(migrate, other, _Arriving(other, arrived), files)
                assert arrived.wait(10)
                migrate(connection, database, files)
            assert second.result() is None
        assert migrated.ledger() == ["001_days.sql"]

    def test_many_that_migrate_at_once_run_each_file_once(self, migrated: Migrated, opening: Opening) -> None:
        migrated.write("001_days.sql", DAYS)
        migrated.write("002_log.sql", "CREATE TABLE log (x INTEGER);\nINSERT INTO log VALUES (1);")
        files = read_migrations(migrated.folder)
        begun = Barrier(4)

        def run() -> None:
            with opening() as own:
                begun.wait(30)
                migrate(own, Database(own), files)

        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(run) for _ in range(4)]:
                done.result()
        assert migrated.ledger() == ["001_days.sql", "002_log.sql"]
        assert migrated.connection.execute("SELECT x FROM log", ()) == [{"x": 1}]

    @pytest.mark.parametrize("by_hand", ["BEGIN", "COMMIT", "SAVEPOINT a", "CREATE TABLE _melee_mine (x INTEGER)"])
    def test_a_migration_may_not_do_what_an_app_may_not(self, migrated: Migrated, by_hand: str) -> None:
        file = migrated.write("001_days.sql", f"{DAYS}\n{by_hand};")
        assert migrated.refusal().startswith(f"{file}:2:1: ")
        assert not migrated.has_table("days")
