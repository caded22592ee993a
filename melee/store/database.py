"""What an app does with a SQLite database: statements, rows as dicts, and transactions that nest."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from melee.store.connection import Connection, Row


class Database:
    """A SQLite database, as `app.db` and as `self.storage` of a durable object.

    Statements take `?` parameters in order, or one dict for named ones. Values are None, bool, int, float, str and
    bytes. A statement outside `transaction()` stands on its own.

    Raises:
        DatabaseError: from every method, when SQLite refuses; the subclass says why.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def query(self, sql: str, *parameters: Any) -> list[Row]:
        """All rows, each a dict by column name. They are read before anything else happens."""
        return self._connection.execute(sql, parameters)

    def first(self, sql: str, *parameters: Any) -> Row | None:
        """The first row, or None when there is none."""
        rows = self._connection.execute(sql, parameters)
        return rows[0] if rows else None

    def run(self, sql: str, *parameters: Any) -> int:
        """Changes data or schema; returns how many rows were inserted, updated or deleted."""
        before = self._connection.changes
        self._connection.execute(sql, parameters)
        return self._connection.last_changes if self._connection.changes != before else 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of what happens inside is kept, or, when it raises, none. Transactions nest."""
        nested = self._connection.in_transaction
        self._connection.control("SAVEPOINT melee" if nested else "BEGIN IMMEDIATE")
        try:
            yield
            self._connection.control("RELEASE melee" if nested else "COMMIT")
        except BaseException:
            # A full disk or RAISE(ROLLBACK) has rolled everything back already; a second ROLLBACK would only hide
            # the error that says so.
            if self._connection.in_transaction:
                self._connection.control("ROLLBACK TO melee; RELEASE melee" if nested else "ROLLBACK")
            raise
