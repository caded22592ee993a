"""An object's own database, as its methods see it (`Storage`) and as the host commits it (`ObjectConnection`)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from melee import shape
from melee.errors import DatabaseError
from melee.store.connection import Connection
from melee.store.database import Database, Row


class ObjectConnection(Connection):
    """A connection whose statements gather in one open transaction until the host commits it.

    `lost` is the error that took that transaction away, when SQLite rolled it back by itself: a full disk,
    `RAISE(ROLLBACK)`. From then on every statement raises it, so that nobody builds on writes that are gone.
    """

    lost: DatabaseError | None = None
    transactions_open = 0

    def execute(self, sql: str, parameters: tuple[Any, ...]) -> list[Row]:
        self.enter_batch()
        try:
            return super().execute(sql, parameters)
        except DatabaseError as error:
            if not self.in_transaction:
                self.lost = error
            raise

    def enter_batch(self) -> None:
        if self.lost:
            raise self.lost
        if not self.in_transaction:
            self.begin()

    def give_up(self, error: DatabaseError) -> None:
        """Takes back what was not committed, because of `error`."""
        self.lost = error
        if self.in_transaction:
            self.rollback()


class Storage(Database):
    """The object's own database, `self.storage`: SQL as in `app.db`, and keys with values.

    What a call wrote is on disk before its caller has the answer. What an exception leaves behind are the statements
    that had ended; put those that belong together into `transaction()`.

    Raises:
        DatabaseError: from every method, when SQLite refuses; the subclass says why.
        ShapeError: from `put`, `get`, `delete` and `keys`, when a key is no text or a value is not JSON-shaped.
    """

    _connection: ObjectConnection

    def __init__(self, connection: ObjectConnection) -> None:
        super().__init__(connection)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of what happens inside is kept, or, when it raises, none; the timer too. Transactions nest."""
        self._connection.enter_batch()
        self._connection.transactions_open += 1
        try:
            with super().transaction():
                yield
        finally:
            self._connection.transactions_open -= 1

    def put(self, key: str, value: Any) -> None:
        """Keeps a JSON-shaped value under a key, in place of the one that was there."""
        encoded = shape.encode(value, f'storage.put("{key}") value').decode()
        self._values(
            "INSERT INTO _melee_values VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2", key, encoded
        )

    def get(self, key: str, default: Any = None) -> Any:
        """The value under a key, or `default`."""
        rows = self._values("SELECT value FROM _melee_values WHERE key = ?", key)
        return shape.decode(rows[0]["value"].encode()) if rows else default

    def delete(self, key: str) -> bool:
        """Removes a key and returns whether it was there."""
        return bool(self._values("DELETE FROM _melee_values WHERE key = ? RETURNING 1 AS gone", key))

    def keys(self, prefix: str = "") -> list[str]:
        """The keys that begin with `prefix`, in order."""
        rows = self._values("SELECT key FROM _melee_values WHERE instr(key, ?) = 1 ORDER BY key", prefix)
        return [row["key"] for row in rows]

    def _values(self, sql: str, key: str, *parameters: str) -> list[Row]:
        return self._connection.own(sql, shape.check_text(key, "storage key"), *parameters)
