"""A connection to a Postgres database, for the same `Database` that SQLite has."""

import os
import select
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from melee.errors import (
    BadConfig,
    ConstraintError,
    DatabaseError,
    DatabaseFull,
    DatabaseLocked,
    DatabaseUnreachable,
    StatementRefused,
    WrongProcess,
)
from melee.store.database import Row, check_distinct
from melee.store.postgres_text import Numbered, numbered, statements

try:
    import psycopg
    from psycopg import errors
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.rows import dict_row
except ImportError as missing:
    raise BadConfig("DATABASE_URL", "it names Postgres; install melee-runtime[postgres] for that") from missing

_SETTINGS = {
    "application_name": "melee",
    "client_encoding": "utf8",
    # How long it takes to notice that the other side is gone without a word.
    "connect_timeout": 10,
    "tcp_user_timeout": 30_000,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
_KINDS: list[tuple[type[psycopg.Error], type[DatabaseError]]] = [
    (errors.IntegrityError, ConstraintError),
    (errors.DiskFull, DatabaseFull),
    (errors.LockNotAvailable, DatabaseLocked),
    (errors.DeadlockDetected, DatabaseLocked),
    (errors.SerializationFailure, DatabaseLocked),
    (errors.InsufficientPrivilege, StatementRefused),
]
_FAILED = "an earlier statement in it failed; put one that may fail into a `with db.transaction():` of its own"
_HINTS: list[tuple[type[psycopg.Error], str]] = [
    (errors.InFailedSqlTransaction, _FAILED),
    (errors.ActiveSqlTransaction, "a migration is one, as is `with db.transaction():`; do without, or run it by hand"),
]
_COUNTED = ("INSERT", "UPDATE", "DELETE", "MERGE")


class PostgresConnection:
    """A connection on which each statement stands on its own, unless a transaction is opened.

    No statement is prepared on the server and no setting is left there, so a pooler that hands out another connection
    for each transaction may stand in between.

    Args:
        url: such as `postgresql://user:password@host/name`; its password is in no error.

    Raises:
        DatabaseError: from every method, when Postgres refuses; the subclass says why.
        DatabaseUnreachable: it cannot be reached, or the connection broke; nothing more can be done with this one.
        WrongProcess: used in another process than the one that opened it.
    """

    begins = "BEGIN"
    finds_table = "SELECT 1 AS found FROM pg_class WHERE oid = to_regclass(?)"
    lets_one_migrate = "SELECT pg_advisory_xact_lock(hashtext('_melee_migrations'))"
    statements: Callable[[str], Iterator[tuple[int, str]]] = staticmethod(statements)

    def __init__(self, url: str) -> None:
        settings = _settings(url)
        self.place = _shown(settings)
        self._pid, self._changes, self._last_changes = os.getpid(), 0, 0
        self._has_news, self._is_unsettled = False, False
        self._news: set[str] = set()
        try:
            self._postgres = psycopg.connect(
                autocommit=True,
                cursor_factory=psycopg.RawCursor,
                row_factory=dict_row,
                prepare_threshold=None,
                **settings,
            )
        except psycopg.Error as error:
            raise DatabaseUnreachable("", f"{self.place}: {_one_line(error)}") from error
        self._descriptor = self._postgres.fileno()
        self._postgres.add_notify_handler(self._note_news)

    @property
    def in_transaction(self) -> bool:
        self._settle()
        return self._postgres.info.transaction_status != psycopg.pq.TransactionStatus.IDLE and not self.is_broken

    @property
    def is_broken(self) -> bool:
        return self._postgres.closed or self._postgres.broken

    @property
    def changes(self) -> int:
        return self._changes

    @property
    def last_changes(self) -> int:
        return self._last_changes

    def control(self, sql: str) -> None:
        if sql == "COMMIT" and self._postgres.info.transaction_status == psycopg.pq.TransactionStatus.INERROR:
            # Postgres would roll back, and not call it an error.
            raise DatabaseError(sql, f"nothing in this transaction is kept: {_FAILED}")
        self._run(Numbered(sql), sql, ())
        if sql == "COMMIT":
            self._send_news()
        elif sql == "ROLLBACK":
            self._news.clear()

    def notify(self, channel: str) -> None:
        """Tells who listens, as soon as what was done is committed. It gets lost with the connection.

        It is no part of the transaction: those that notify wait for each other, each until the one before is on disk.
        """
        self._check_process()
        self._news.add(channel)
        if not self.in_transaction:
            self._send_news()

    def execute(self, sql: str, parameters: tuple[Any, ...]) -> list[Row]:
        text = numbered(sql)
        if text.refusal:
            raise StatementRefused(sql, text.refusal)
        return self._run(text, sql, _in_order(text, sql, parameters))

    def own(self, sql: str, *parameters: Any) -> list[Row]:
        text = numbered(sql)
        return self._run(text, sql, _in_order(text, sql, parameters))

    def listen(self, channel: str) -> None:
        """From now on `has_news` says whether somebody has notified this channel."""
        self.control(f"LISTEN {channel}")

    def fileno(self) -> int:
        """Readable when there may be news, or the connection broke."""
        return self._descriptor

    def has_news(self) -> bool:
        """Whether there was a notification since this was last asked."""
        self._check_process()
        try:
            self._postgres.pgconn.consume_input()
        except psycopg.Error as error:
            raise self._translated(error, Numbered(), "") from error
        # They are read one by one, or they would pile up.
        while self._postgres.pgconn.notifies():
            self._has_news = True
        had, self._has_news = self._has_news, False
        return had

    def is_quiet(self) -> bool:
        """Whether the other side has said nothing unasked, as it does when it ends."""
        self._settle()
        return not self.is_broken and not select.select([self._descriptor], [], [], 0)[0]

    def close(self) -> None:
        self._check_process()
        self._postgres.close()

    def _send_news(self) -> None:
        """Nobody waits for the answer; it is read before the next statement."""
        for channel in self._news:
            self._settle()
            with suppress(psycopg.Error):
                self._postgres.pgconn.send_query(f"NOTIFY {channel}".encode())
                self._postgres.pgconn.flush()
                self._is_unsettled = True
        self._news.clear()

    def _settle(self) -> None:
        while self._is_unsettled:
            self._is_unsettled = self._postgres.pgconn.get_result() is not None

    def _note_news(self, _notify: psycopg.Notify) -> None:
        self._has_news = True

    def _run(self, text: Numbered, sql: str, parameters: Sequence[Any]) -> list[Row]:
        self._check_process()
        self._settle()
        try:
            cursor = self._postgres.execute(text.sql, parameters or None)
            if cursor.rowcount > 0 and (cursor.statusmessage or "").startswith(_COUNTED):
                self._last_changes = cursor.rowcount
                self._changes += cursor.rowcount
            rows = cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            raise self._translated(error, text, sql) from error
        except (TypeError, UnicodeEncodeError) as error:
            raise DatabaseError(sql, str(error)) from error
        if rows and cursor.pgresult and len(rows[0]) < cursor.pgresult.nfields:
            check_distinct([column.name for column in cursor.description or ()], sql)
        return rows

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise WrongProcess("the connection to Postgres", self._pid, os.getpid())

    def _translated(self, error: psycopg.Error, text: Numbered, sql: str) -> DatabaseError:
        kind = next((ours for theirs, ours in _KINDS if isinstance(error, theirs)), DatabaseError)
        if self.is_broken:
            kind = DatabaseUnreachable
        hint = next((f": {hint}" for theirs, hint in _HINTS if isinstance(error, theirs)), "")
        position = error.diag.statement_position
        return kind(sql, _one_line(error) + hint, text.origin(int(position) - 1) if position else 0)


def postgres_array(values: Sequence[str | float | None]) -> str:
    """An array as Postgres reads it, for a parameter such as `:ids::bigint[]`; many times as fast as a list is."""
    return "{" + ",".join(map(_element, values)) + "}"


def _element(value: str | float | None) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return "NULL" if value is None else repr(value)


def _settings(url: str) -> dict[str, Any]:
    try:
        return _SETTINGS | conninfo_to_dict(url)
    except psycopg.Error:
        # What it says shows parts of the URL.
        problem = "it cannot be read; write special characters in its password as in %40 for @"
        raise BadConfig("DATABASE_URL", problem) from None


def _shown(settings: dict[str, Any]) -> str:
    port = f":{settings['port']}" if settings.get("port") else ""
    return f"postgresql://{settings.get('host') or ''}{port}/{settings.get('dbname') or ''}"


def _in_order(text: Numbered, sql: str, parameters: tuple[Any, ...]) -> Sequence[Any]:
    """The values of `$1`, `$2`, …"""
    if not text.is_one:
        raise DatabaseError(sql, "there is a second statement behind the first; run each by itself")
    if text.names and text.questions:
        raise DatabaseError(sql, "it has both ? and named parameters; write all in one way")
    if len(parameters) == 1 and isinstance(parameters[0], dict) and not text.questions:
        try:
            return [parameters[0][name] for name in text.names]
        except KeyError as error:
            raise DatabaseError(sql, f"the dict of parameters has no {error}") from error
    if text.names:
        raise DatabaseError(sql, f"it has named parameters, such as :{text.names[0]}; pass one dict")
    if text.questions != len(parameters):
        problem = f"it has {text.questions} parameters, and {len(parameters)} were given"
        raise DatabaseError(sql, f"{problem}; the operator ? is written ??" if text.questions else problem)
    return parameters


def _one_line(error: psycopg.Error) -> str:
    return " ".join((error.diag.message_primary or str(error)).split())
