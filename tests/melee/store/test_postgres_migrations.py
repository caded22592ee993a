"""The suite of migrations on Postgres, and what only Postgres refuses there."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from melee.store.postgres import PostgresConnection
from tests.melee.store.migrations_suite import DAYS, Migrated, MigrationsSuite, Opening


@pytest.fixture
def opening(postgres_url: str) -> Opening:
    @contextmanager
    def open_one() -> Iterator[PostgresConnection]:
        with closing(PostgresConnection(postgres_url)) as connection:
            yield connection

    return open_one


@pytest.fixture
def migrated(opening: Opening, tmp_path: Path) -> Iterator[Migrated]:
    with opening() as connection:
        yield Migrated(connection, tmp_path / "db")


class TestMigrationsOnPostgres(MigrationsSuite):
    pass


def test_what_cannot_run_in_a_transaction_is_refused_and_says_so(migrated: Migrated) -> None:
    file = migrated.write("001_days.sql", f"{DAYS}\nCREATE INDEX CONCURRENTLY views ON days (on_date);")
    assert migrated.refusal() == (
        f"{file}:2:1: CREATE INDEX CONCURRENTLY cannot run inside a transaction block: a migration is one, as is "
        "`with db.transaction():`; do without, or run it by hand in: CREATE INDEX CONCURRENTLY views ON days (on_date);"
    )
    assert not migrated.has_table("days")


def test_a_setting_that_would_outlast_the_migration_is_refused(migrated: Migrated) -> None:
    file = migrated.write("001_days.sql", f"-- from a dump\nSET statement_timeout = 0;\n{DAYS}")
    assert migrated.refusal().startswith(
        f"{file}:2:1: SET would hold for whoever has the connection next; use SET LOCAL"
    )
    migrated.write("001_days.sql", f"SET LOCAL lock_timeout = '1s';\n{DAYS}")
    migrated.run()


def test_functions_with_semicolons_in_them_are_one_statement(migrated: Migrated) -> None:
    migrated.write(
        "001_days.sql",
        DAYS + "CREATE FUNCTION f() RETURNS trigger AS $body$ BEGIN new.on_date := ';' || new.on_date; RETURN new; END"
        " $body$ LANGUAGE plpgsql; CREATE TRIGGER t BEFORE INSERT ON days FOR EACH ROW EXECUTE FUNCTION f();"
        "CREATE FUNCTION two() RETURNS integer BEGIN ATOMIC SELECT 1; SELECT CASE WHEN true THEN 2 END; END;"
        "INSERT INTO days VALUES ('a')",
    )
    migrated.run()
    assert migrated.connection.execute("SELECT on_date, two() AS two FROM days", ()) == [{"on_date": ";a", "two": 2}]


def test_an_error_is_at_its_place_behind_comments_and_operators(migrated: Migrated) -> None:
    file = migrated.write(
        "001_days.sql", f"{DAYS}\n/* one; /* two; */ */\nSELECT '{{}}'::jsonb ?? 'é', vews\n  FROM days"
    )
    assert migrated.refusal().startswith(f'{file}:3:28: column "vews" does not exist in: SELECT')


def test_the_operator_is_told_how_it_is_written(migrated: Migrated) -> None:
    file = migrated.write("001_days.sql", "SELECT '{}'::jsonb ? 'a'")
    assert migrated.refusal().startswith(
        f"{file}:1:1: it has 1 parameters, and 0 were given; the operator ? is written ?? in: "
    )
