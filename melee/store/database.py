"""What an app does with a database: statements, rows as dicts, and transactions that nest."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from melee.errors import DatabaseError

Row = dict[str, Any]


class Statements(Protocol):
    """What a connection to a database of either kind can do."""

    begins: str
    """The statement that opens a transaction for writing."""

    place: str
    """Which database it is, for an error."""

    finds_table: str
    """A statement that gives a row when there is a table whose name is its parameter."""

    lets_one_migrate: str
    """A statement that waits until no other migrates, and keeps others waiting until the transaction ends."""

    @property
    def in_transaction(self) -> bool: ...

    @property
    def changes(self) -> int:
        """How many rows all statements so far have changed; `last_changes`, how many the last one that changed any."""

    @property
    def last_changes(self) -> int: ...

    @property
    def is_broken(self) -> bool:
        """Whether nothing more can be done on it."""

    def statements(self, script: str, /) -> Iterator[tuple[int, str]]:
        """Each statement of a script, with the index in the script at which it begins."""

    def own(self, sql: str, *parameters: Any) -> list[Row]:
        """Runs a statement of melee's own, with its parameters."""

    def control(self, sql: str) -> None:
        """Begins or ends a transaction."""

    def execute(self, sql: str, parameters: tuple[Any, ...]) -> list[Row]:
        """Runs one statement of an app and reads all its rows."""


class Database:
    """A SQL database: `app.db`, in SQLite or Postgres, and `self.storage` of a durable object, in SQLite.

    Statements take `?` parameters in order, or one dict for named ones such as `:day`. Values are None, bool, int,
    float, str and bytes; Postgres also takes and gives what psycopg knows, such as `datetime`. A statement outside
    `transaction()` stands on its own.

    Raises:
        DatabaseError: from every method, when the database refuses; the subclass says why.
    """

    def __init__(self, connection: Statements) -> None:
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
        """All of what happens inside is kept, or, when it raises, none. Transactions nest.

        On Postgres a statement that fails gives up the transaction it is in, whoever catches its error; one that may
        fail goes into an inner transaction.
        """
        nested = self._connection.in_transaction
        self._connection.control("SAVEPOINT melee" if nested else self._connection.begins)
        try:
            yield
            self._connection.control("RELEASE melee" if nested else "COMMIT")
        except BaseException:
            self._roll_back(nested)
            raise

    def _roll_back(self, nested: bool) -> None:
        # A full disk, RAISE(ROLLBACK) or a connection that broke has rolled everything back already; a second ROLLBACK
        # would only hide the error that says so.
        if not self._connection.in_transaction:
            return
        try:
            self._connection.control("ROLLBACK TO melee; RELEASE melee" if nested else "ROLLBACK")
        except DatabaseError:
            if not self._connection.is_broken:
                raise


def check_distinct(names: list[str], sql: str) -> None:
    """Refuses rows that would have fewer values as a dict than as a row."""
    if len(set(names)) < len(names):
        raise DatabaseError(sql, f"two columns have one name in {names}; give one another name with AS")
