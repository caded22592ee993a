"""How a job worker learns that there may be something new, without asking for it all the time."""

from typing import TYPE_CHECKING, Protocol

from melee.store.connection import Connection

if TYPE_CHECKING:
    from melee.store.postgres import PostgresConnection

CHANNEL = "melee_jobs"
"""What Postgres notifies, once a transaction, when there is something to claim."""


class Bell(Protocol):
    """Rings when jobs may have been stored.

    Attributes:
        look_seconds: how long to wait before it is asked, if there is nothing to wait for.
        hears_all: whether nothing new is there when it did not ring.
    """

    look_seconds: float
    hears_all: bool

    def fileno(self) -> int | None:
        """Readable when it rings; None when there is no such thing."""

    def rings(self) -> bool:
        """Whether it rang since this was last asked."""

    def close(self) -> None: ...


class SqliteBell:
    """Looks whether another connection has changed the file, which costs about as much as reading the time."""

    look_seconds = 0.02
    hears_all = True

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._version = -1

    def fileno(self) -> int | None:
        return None

    def rings(self) -> bool:
        before, self._version = self._version, self._connection.own("PRAGMA data_version")[0]["data_version"]
        return self._version != before

    def close(self) -> None:
        """Nothing of its own to close."""


class PostgresBell:
    """Listens on a connection of its own. Behind a pooler that gives it another one for each transaction it hears
    nothing; so the store is looked into once a second all the same."""

    look_seconds = 1.0
    hears_all = False

    def __init__(self, connection: "PostgresConnection") -> None:
        self._connection = connection
        connection.listen(CHANNEL)

    def fileno(self) -> int | None:
        return self._connection.fileno()

    def rings(self) -> bool:
        return self._connection.has_news()

    def close(self) -> None:
        self._connection.close()
