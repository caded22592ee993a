"""A connection to one SQLite file: settings that keep the promises, errors in words, and what an app may not do."""

import os
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import apsw

from melee import log
from melee.clock import SystemClock
from melee.errors import (
    ConstraintError,
    DatabaseError,
    DatabaseFull,
    DatabaseLocked,
    StatementRefused,
    WrongProcess,
)
from melee.store.database import Row, check_distinct
from melee.store.migrations import statements

_Result = TypeVar("_Result")

BUSY_SECONDS = 5
_BUSY_PAUSE_SECONDS = 0.0005, 0.004
_WAL_BYTES_KEPT = 4 * 1024 * 1024
_TRANSACTION = (apsw.SQLITE_TRANSACTION, apsw.SQLITE_SAVEPOINT)
_ATTACH = (apsw.SQLITE_ATTACH, apsw.SQLITE_DETACH)
_READING_PRAGMAS = {"foreign_key_check", "foreign_key_list", "integrity_check", "quick_check"}
_READING_PRAGMAS |= {"index_info", "index_list", "index_xinfo", "table_info", "table_list", "table_xinfo"}
# What a full-text search asks for by itself.
_READING_PRAGMAS |= {"data_version"}
# Until the transaction ends only, for migrations that rebuild a table.
_HARMLESS_PRAGMAS = _READING_PRAGMAS | {"defer_foreign_keys"}
_NAME_AT_THE_END = re.compile(r"(?:: | named )(\S+)$")
_COMMENT = re.compile(r"--[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TEXT_OR_COMMENT = r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/"


class Connection:
    """A SQLite file in WAL mode, where a commit is on disk when it returns (`synchronous=FULL`).

    Args:
        path: the file; made if missing, in a folder that exists.
        read_only: opens an existing file and refuses to change it.
        at_rest: with `read_only`, a promise that nobody changes the file meanwhile; nothing is left beside it then.

    Raises:
        DatabaseError: from every method, when SQLite refuses; the subclass says why.
        WrongProcess: used in another process than the one that opened it.
    """

    # So that a reader that turns into a writer never finds that somebody else wrote meanwhile.
    begins = "BEGIN IMMEDIATE"
    finds_table = "SELECT 1 FROM sqlite_master WHERE name = ?"
    # Nobody else writes once a transaction has begun.
    lets_one_migrate = "SELECT NULL"
    statements: Callable[[str], Iterator[tuple[int, str]]] = staticmethod(statements)
    is_broken = False

    def __init__(self, path: Path, *, read_only: bool = False, at_rest: bool = False) -> None:
        self.path, self.place = path, str(path)
        self._pid = os.getpid()
        self._is_own_statement = False
        self._refusal = ""
        self._waits_since = 0.0
        name = f"{path.resolve().as_uri()}?immutable=1" if at_rest else str(path)
        flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        try:
            self._sqlite = apsw.Connection(name, flags=flags | (apsw.SQLITE_OPEN_URI if at_rest else 0))
            self._sqlite.set_busy_handler(self._wait_for_another)
            if not read_only:
                self._sqlite.pragma("journal_mode", "wal")
                self._sqlite.pragma("synchronous", "full")
                # A WAL that grew behind a reader shrinks again when the reader is gone.
                self._sqlite.pragma("journal_size_limit", _WAL_BYTES_KEPT)
            self._sqlite.pragma("foreign_keys", True)
        except apsw.Error as error:
            raise _translated(error, "", f"cannot open {path}: {error}") from error
        self._sqlite.authorizer = self._authorize

    @property
    def in_transaction(self) -> bool:
        return self._sqlite.in_transaction

    @property
    def changes(self) -> int:
        """How many rows all statements so far have changed; `last_changes`, how many the last one that changed any."""
        return self._sqlite.total_changes()

    @property
    def last_changes(self) -> int:
        return self._sqlite.changes()

    def begin(self) -> None:
        """Opens a transaction that `commit` or `rollback` ends; takes no lock before the first statement."""
        self.control("BEGIN")

    def commit(self) -> None:
        self.control("COMMIT")

    def rollback(self) -> None:
        self.control("ROLLBACK")

    def own(self, sql: str, *parameters: Any) -> list[Row]:
        """Runs a statement of melee's own, on tables that an app's statements cannot reach."""
        return self._as_own(lambda: self.execute(sql, parameters))

    def control(self, sql: str) -> None:
        """Begins, ends or sets something; never a statement that a transaction has to be open for."""
        self._as_own(lambda: Connection.execute(self, sql, ()))

    def set_durable(self, durable: bool) -> None:
        """False lets a crash of the machine (never of the process) take back the commits that follow."""
        self.control(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")

    def back_up(self, target: Path) -> None:
        """Writes a consistent copy, with what is still in the WAL, to a new file."""
        self._check_process()
        try:
            with closing(apsw.Connection(str(target))) as copy:
                with copy.backup("main", self._sqlite, "main") as backup:
                    backup.step()
                copy.execute("PRAGMA journal_mode = DELETE")
        except apsw.Error as error:
            raise _translated(error, "", f"cannot copy {self.path} to {target}: {error}") from error

    def close(self) -> None:
        """Closes the file; as the last to do so, moves the WAL into it. A disk that refuses is not an error: the WAL
        stays beside the file and is read when it is opened next."""
        self._check_process()
        try:
            self._sqlite.close()
        except apsw.Error as error:
            log.wal_left_behind(str(self.path), error)

    def execute(self, sql: str, parameters: tuple[Any, ...]) -> list[Row]:
        """Runs one statement of an app and reads all its rows; none when it returns no columns."""
        self._check_process()
        if not self._is_own_statement and not _is_one(sql):
            raise DatabaseError(sql, "there is a second statement behind the first; run each by itself")
        bindings = parameters[0] if len(parameters) == 1 and isinstance(parameters[0], dict) else parameters
        # Prepared statements are kept by text and flags, and asked about once. With a flag of their own, melee's are
        # never found for the same text of an app.
        flags = apsw.SQLITE_PREPARE_PERSISTENT if self._is_own_statement else 0
        try:
            cursor = self._sqlite.execute(sql, bindings, prepare_flags=flags)
            first = next(cursor, None)
            if first is None:
                return []
            names = [column[0] for column in cursor.get_description()]
            rows = [first, *cursor]
        except apsw.Error as error:
            raise _translated(error, sql, self._explain(error)) from error
        except KeyError as error:
            raise DatabaseError(sql, f"the dict of parameters has no {error}") from error
        except (TypeError, OverflowError, UnicodeEncodeError) as error:
            raise DatabaseError(sql, f"{error}; pass None, bool, int (64 bits), float, str or bytes") from error
        check_distinct(names, sql)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def prepare(self, sql: str) -> tuple[str | None, ...]:
        """Refuses a statement of an app that `execute` would refuse, and does not run it.

        Returns the names of its parameters in order, None for each `?`.
        """
        # It takes longer to import than a request may; only the build step has that time.
        from apsw.ext import query_info

        self._check_process()
        try:
            details = query_info(self._sqlite, sql)
        except (apsw.Error, UnicodeEncodeError) as error:
            raise _translated(error, sql, self._explain(error)) from error
        check_distinct([column[0] for column in details.description], sql)
        return details.bindings_names

    def _wait_for_another(self, tries: int) -> bool:
        """Whether to ask again for a lock that another connection holds.

        SQLite by itself would come back after 0.1 s, and never find a moment between those who write without a pause.
        """
        now = SystemClock().elapsed()
        if tries == 0:
            self._waits_since = now
        time.sleep(random.uniform(*_BUSY_PAUSE_SECONDS))
        return now - self._waits_since < BUSY_SECONDS

    def _as_own(self, statement: Callable[[], _Result]) -> _Result:
        before, self._is_own_statement = self._is_own_statement, True
        try:
            return statement()
        finally:
            self._is_own_statement = before

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise WrongProcess(str(self.path), self._pid, os.getpid())

    def _explain(self, error: Exception) -> str:
        refusal, self._refusal = self._refusal, ""
        return refusal if isinstance(error, apsw.AuthError) and refusal else str(error)

    def _authorize(self, action: int, *names: str | None) -> int:
        # SQLite asks this once for everything that a statement does, when it is prepared.
        if not self._is_own_statement:
            self._refusal = _refusal(action, names)
        return apsw.SQLITE_OK if self._is_own_statement or not self._refusal else apsw.SQLITE_DENY


def _refusal(action: int, names: tuple[str | None, ...]) -> str:
    """Why an app's statement may not do this; empty when it may."""
    if action in _TRANSACTION:
        return f"{names[0]} by hand is refused; use `with storage.transaction():` or `with db.transaction():`"
    if action in _ATTACH:
        return "ATTACH, DETACH and VACUUM reach past the one database and its transaction; keep your tables in this one"
    if action == apsw.SQLITE_PRAGMA and names[0] not in _HARMLESS_PRAGMAS:
        return f"PRAGMA {names[0]} is refused, since the settings keep melee's promises; leave it out"
    if any(name and name.lower().startswith("_melee_") for name in names):
        return "tables that begin with _melee_ are melee's own; choose another name"
    return ""


@lru_cache(maxsize=1000)
def _is_one(sql: str) -> bool:
    """Whether there is nothing behind the statement but space and comments."""
    if ";" not in sql:
        return True
    _first, *others = [text for _index, text in statements(sql)] or [""]
    return not any(_COMMENT.sub("", text).strip("; \t\n\r\f") for text in others)


def _translated(error: Exception, sql: str, problem: str) -> DatabaseError:
    kinds: list[tuple[type[apsw.Error], type[DatabaseError]]] = [
        (apsw.ConstraintError, ConstraintError),
        (apsw.FullError, DatabaseFull),
        (apsw.BusyError, DatabaseLocked),
        (apsw.LockedError, DatabaseLocked),
        # One that stands still in the middle of reading the WAL in.
        (apsw.ProtocolError, DatabaseLocked),
        (apsw.AuthError, StatementRefused),
    ]
    kind = next((ours for theirs, ours in kinds if isinstance(error, theirs)), DatabaseError)
    return kind(sql, problem, _position(error, sql))


def _position(error: Exception, sql: str) -> int:
    offset = getattr(error, "error_offset", -1)
    if offset >= 0:
        return len(sql.encode()[:offset].decode(errors="ignore"))
    # For some mistakes SQLite names the name and not the place: "no such table: dais".
    name = _NAME_AT_THE_END.search(str(error))
    if not name:
        return 0
    pattern = rf"(?is){_TEXT_OR_COMMENT}|(?<!\w)({re.escape(name[1])})(?!\w)"
    return next((found.start() for found in re.finditer(pattern, sql) if found[1]), 0)
