"""A connection to a Postgres database, for the same `Database` that SQLite has."""

import os
import re
import select
from collections.abc import Sequence
from functools import lru_cache
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
from melee.store.database import Row

try:
    import psycopg
    from psycopg import errors
    from psycopg.rows import dict_row
except ImportError as missing:
    raise BadConfig("DATABASE_URL", "it names Postgres; install melee-runtime[postgres] for that") from missing

CONNECT_SECONDS_AT_MOST = 10
# Texts, names and comments, in which a parameter is none; a cast; then the parameters.
_TOKEN = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | \$(\w*)\$.*?\$\1\$ | --[^\n]* | /\*.*?\*/ | :: | \?\?"""
    r"""| (?P<question>\?) | (?<!\w):(?P<name>[A-Za-z_]\w*)""",
    re.DOTALL | re.VERBOSE,
)

_BROKEN = (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow)


class PostgresConnection:
    """A connection on which each statement stands on its own, unless a transaction is opened.

    No statement is prepared on the server and no setting is left there, so a pooler that hands out another connection
    for each transaction may stand in between.

    Args:
        url: such as `postgresql://user:password@host/name`.

    Raises:
        DatabaseError: from every method, when Postgres refuses; the subclass says why.
        DatabaseUnreachable: it cannot be reached, or the connection broke; nothing more can be done with this one.
        WrongProcess: used in another process than the one that opened it.
    """

    begins = "BEGIN"
    finds_table = "SELECT 1 AS found FROM pg_class WHERE oid = to_regclass(?)"

    def __init__(self, url: str) -> None:
        self.place = shown(url)
        self._pid, self._changes, self._last_changes = os.getpid(), 0, 0
        try:
            self._postgres = psycopg.connect(
                url,
                autocommit=True,
                cursor_factory=psycopg.RawCursor,
                row_factory=dict_row,
                prepare_threshold=None,
                connect_timeout=CONNECT_SECONDS_AT_MOST,
                application_name="melee",
            )
        except psycopg.Error as error:
            raise DatabaseUnreachable("", f"{shown(url)}: {_one_line(error)}") from error

    @property
    def in_transaction(self) -> bool:
        return not self._is_idle and not self._postgres.closed and not self._postgres.broken

    @property
    def is_broken(self) -> bool:
        return self._postgres.closed or self._postgres.broken or (self._is_idle and self._is_hung_up)

    @property
    def changes(self) -> int:
        return self._changes

    @property
    def last_changes(self) -> int:
        return self._last_changes

    def control(self, sql: str) -> None:
        self._run(sql, ())

    def execute(self, sql: str, parameters: tuple[Any, ...]) -> list[Row]:
        return self._run(*_in_postgres_words(sql, parameters))

    def own(self, sql: str, *parameters: Any) -> list[Row]:
        return self.execute(sql, parameters)

    def listen(self, channel: str) -> None:
        """From now on `has_news` says whether somebody has notified this channel."""
        self._run(f"LISTEN {channel}", ())

    def fileno(self) -> int:
        """Readable when there may be news."""
        return self._postgres.fileno()

    def has_news(self) -> bool:
        """Whether there was a notification since this was last asked."""
        self._check_process()
        try:
            return len(list(self._postgres.notifies(timeout=0))) > 0
        except psycopg.Error as error:
            raise _translated(error, "") from error

    def close(self) -> None:
        self._check_process()
        self._postgres.close()

    @property
    def _is_idle(self) -> bool:
        return self._postgres.info.transaction_status == psycopg.pq.TransactionStatus.IDLE

    @property
    def _is_hung_up(self) -> bool:
        """Whether there is something to read: to one who has asked nothing, and listens to nothing, Postgres says
        little else than that it ends."""
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN)
        return bool(poll.poll(0))

    def _run(self, sql: str, parameters: Sequence[Any]) -> list[Row]:
        self._check_process()
        try:
            cursor = self._postgres.execute(sql, parameters or None)
            if cursor.rowcount > 0 and not (cursor.statusmessage or "").startswith("SELECT"):
                self._last_changes = cursor.rowcount
                self._changes += cursor.rowcount
            return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            raise _translated(error, sql) from error
        except (TypeError, UnicodeEncodeError) as error:
            raise DatabaseError(sql, str(error)) from error

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise WrongProcess("the connection to Postgres", self._pid, os.getpid())


def shown(url: str) -> str:
    """A URL without its password."""
    return re.sub(r"(?<=//)[^@/]*@", "", url.partition("?")[0])


def _in_postgres_words(sql: str, parameters: tuple[Any, ...]) -> tuple[str, Sequence[Any]]:
    """A statement with `?` or `:name` as one with `$1`, and its parameters in that order."""
    words, names, questions = _numbered(sql)
    if len(parameters) == 1 and isinstance(parameters[0], dict):
        try:
            return words, [parameters[0][name] for name in names]
        except KeyError as error:
            raise DatabaseError(sql, f"the dict of parameters has no {error}") from error
    if questions != len(parameters):
        raise DatabaseError(sql, f"it has {questions} parameters, and {len(parameters)} were given")
    return words, parameters


@lru_cache(maxsize=1000)
def _numbered(sql: str) -> tuple[str, list[str], int]:
    names: list[str] = []
    questions = 0

    def number(found: re.Match[str]) -> str:
        nonlocal questions
        if found["question"]:
            questions += 1
            return f"${questions}"
        if name := found["name"]:
            if name not in names:
                names.append(name)
            return f"${names.index(name) + 1}"
        # How JDBC writes the operator, too.
        return "?" if found[0] == "??" else found[0]

    return _TOKEN.sub(number, sql), names, questions


def _translated(error: psycopg.Error, sql: str) -> DatabaseError:
    kinds: list[tuple[type[psycopg.Error], type[DatabaseError]]] = [
        (errors.IntegrityError, ConstraintError),
        (errors.DiskFull, DatabaseFull),
        (errors.LockNotAvailable, DatabaseLocked),
        (errors.DeadlockDetected, DatabaseLocked),
        (errors.InsufficientPrivilege, StatementRefused),
    ]
    kind = next((ours for theirs, ours in kinds if isinstance(error, theirs)), DatabaseError)
    if isinstance(error, _BROKEN) or not error.sqlstate:
        # What libpq says by itself comes without a code: there was no answer.
        kind = DatabaseUnreachable
    position = error.diag.statement_position
    return kind(sql, _one_line(error), int(position) - 1 if position else 0)


def _one_line(error: psycopg.Error) -> str:
    return " ".join((error.diag.message_primary or str(error)).split())
