"""A database that knows when what was written is kept for good."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from melee.store.database import Database, Statements


class NotifyingDatabase(Database):
    """See `Database`. Somebody may want to act on what is in it now, and on nothing that is rolled back."""

    def __init__(self, connection: Statements) -> None:
        super().__init__(connection)
        self._waiting: list[Callable[[], None]] = []

    def after_commit(self, act: Callable[[], None]) -> None:
        """Calls this when what was written so far is kept: now, or when the outermost transaction has ended; never when
        the transaction that is open now, or one around it, is rolled back."""
        if self._connection.in_transaction:
            self._waiting.append(act)
        else:
            act()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        nested, before = self._connection.in_transaction, len(self._waiting)
        try:
            with super().transaction():
                yield
        except BaseException:
            del self._waiting[before:]
            raise
        if not nested:
            acts = self._waiting[:]
            self._waiting.clear()
            for act in acts:
                act()
