"""What every database does. `test_database` and `test_postgres` run this on theirs."""

import pytest

from melee.errors import ConstraintError, DatabaseError, StatementRefused
from melee.store.database import Database


def days(db: Database) -> list[str]:
    return [row["on_date"] for row in db.query("SELECT on_date FROM days ORDER BY on_date")]


def insert_and_fail(db: Database, on_date: str) -> None:
    with db.transaction():
        with db.transaction():
            db.run("INSERT INTO days VALUES (?, 1)", on_date)
        raise KeyError(on_date)


class DatabaseSuite:
    """Its fixture: `db`, with an empty table `days (on_date TEXT PRIMARY KEY NOT NULL, views INTEGER)`."""

    def test_rows_are_dicts_by_column_name(self, db: Database) -> None:
        db.run("INSERT INTO days VALUES (?, ?)", "2030-01-01", 3)
        assert db.query("SELECT * FROM days") == [{"on_date": "2030-01-01", "views": 3}]
        assert db.query("SELECT count(*) AS n, NULL AS note FROM days") == [{"n": 1, "note": None}]

    def test_first_is_the_first_row_or_none(self, db: Database) -> None:
        assert db.first("SELECT * FROM days") is None
        db.run("INSERT INTO days VALUES ('a', 1), ('b', 2)")
        assert db.first("SELECT views FROM days ORDER BY views DESC") == {"views": 2}

    def test_a_dict_gives_named_parameters(self, db: Database) -> None:
        assert db.query("SELECT :a + :b AS sum", {"a": 1, "b": 2}) == [{"sum": 3}]

    def test_rows_are_read_before_anything_else_happens(self, db: Database) -> None:
        db.run("INSERT INTO days VALUES ('a', 1), ('b', 2)")
        for row in db.query("SELECT on_date FROM days"):
            db.run("DELETE FROM days WHERE on_date = ?", row["on_date"])
        assert days(db) == []

    @pytest.mark.parametrize(
        ("statement", "count"),
        [
            ("INSERT INTO days VALUES ('c', 3), ('d', 4)", 2),
            ("UPDATE days SET views = 0", 2),
            ("UPDATE days SET views = 0 WHERE on_date = 'z'", 0),
            ("DELETE FROM days", 2),
            ("INSERT INTO days VALUES ('a', 1) ON CONFLICT DO NOTHING", 0),
            ("CREATE TABLE other (x INTEGER)", 0),
            ("SELECT * FROM days", 0),
            ("UPDATE days SET views = 5 WHERE on_date = 'a' RETURNING views", 1),
        ],
    )
    def test_run_returns_how_many_rows_changed(self, db: Database, statement: str, count: int) -> None:
        db.run("INSERT INTO days VALUES ('a', 1), ('b', 2)")
        assert db.run(statement) == count

    def test_a_transaction_keeps_all_or_nothing(self, db: Database) -> None:
        with db.transaction():
            db.run("INSERT INTO days VALUES ('kept', 1)")
        with pytest.raises(KeyError):
            insert_and_fail(db, "gone")
        assert days(db) == ["kept"]

    def test_a_nested_transaction_that_fails_takes_back_what_is_inside_and_no_more(self, db: Database) -> None:
        with db.transaction():
            db.run("INSERT INTO days VALUES ('outer', 1)")
            with pytest.raises(KeyError):
                insert_and_fail(db, "inner")
            db.run("INSERT INTO days VALUES ('after', 1)")
        assert days(db) == ["after", "outer"]

    def test_two_columns_of_one_name_are_refused_rather_than_lost(self, db: Database) -> None:
        with pytest.raises(DatabaseError, match=r"two columns have one name in \['x', 'x'\]; give one another name"):
            db.query("SELECT 1 AS x, 2 AS x")

    @pytest.mark.parametrize("sql", ["DELETE FROM days; DELETE FROM days", "SELECT 1 AS a; /* ; */ ;; SELECT 2 AS a"])
    def test_a_second_statement_is_refused_before_the_first_runs(self, db: Database, sql: str) -> None:
        db.run("INSERT INTO days VALUES ('a', 1)")
        with pytest.raises(DatabaseError, match="there is a second statement behind the first; run each by itself"):
            db.run(sql)
        assert days(db) == ["a"]

    def test_what_ends_with_a_semicolon_and_a_comment_is_one_statement(self, db: Database) -> None:
        assert db.query("SELECT 1 AS a; -- one;\n/* two; */ ;") == [{"a": 1}]
        assert db.query("-- nothing") == []

    def test_a_comment_or_a_text_is_no_parameter(self, db: Database) -> None:
        assert db.query("SELECT '?' AS a, ? AS b -- ? :c", 1) == [{"a": "?", "b": 1}]

    @pytest.mark.parametrize(
        ("sql", "parameters"),
        [
            ("SELECT ? AS a", ()),
            ("SELECT ? AS a", (1, 2)),
            ("SELECT 1 AS a", (1,)),
            ("SELECT :a AS a", ()),
            ("SELECT :a AS a", ({"b": 1},)),
        ],
    )
    def test_parameters_that_do_not_fit_are_refused(self, db: Database, sql: str, parameters: tuple[object]) -> None:
        with pytest.raises(DatabaseError, match="in: SELECT"):
            db.query(sql, *parameters)

    @pytest.mark.parametrize("broken", ["INSERT INTO days VALUES ('a', 1)", "INSERT INTO days VALUES (NULL, 1)"])
    def test_a_broken_constraint_is_an_error_of_its_own(self, db: Database, broken: str) -> None:
        db.run("INSERT INTO days VALUES ('a', 1)")
        with pytest.raises(ConstraintError, match=r"constraint.* in: INSERT"):
            db.run(broken)

    def test_a_commit_that_breaks_a_deferred_constraint_rolls_back(self, db: Database) -> None:
        db.run("CREATE TABLE views (on_date TEXT REFERENCES days DEFERRABLE INITIALLY DEFERRED)")
        with pytest.raises(ConstraintError, match="in: COMMIT"), db.transaction():
            db.run("INSERT INTO views VALUES ('no such day')")
        assert db.query("SELECT * FROM views") == []
        with db.transaction():
            db.run("INSERT INTO days VALUES ('a', 1)")
        assert days(db) == ["a"]

    @pytest.mark.parametrize(
        ("sql", "says"),
        [
            ("BEGIN", "by hand is refused; use `with"),
            ("commit", "by hand is refused; use `with"),
            ("ROLLBACK", "by hand is refused; use `with"),
            ("SAVEPOINT a", "by hand is refused; use `with"),
            ("/* */ RELEASE a", "by hand is refused; use `with"),
            ("SELECT * FROM _melee_migrations", "tables that begin with _melee_ are melee's own"),
            ('DROP TABLE "_MELEE_migrations"', "tables that begin with _melee_ are melee's own"),
        ],
    )
    def test_what_melee_keeps_for_itself_is_refused(self, db: Database, sql: str, says: str) -> None:
        db._connection.own("CREATE TABLE _melee_migrations (number INTEGER)")
        with pytest.raises(StatementRefused) as caught:
            db.run(sql)
        assert says in caught.value.problem
