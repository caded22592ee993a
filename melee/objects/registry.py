"""Which objects exist and when each is due: an index over their files, which decide in the end.

It may be early, never late. An object's creation, its end, and an earlier timer are written here before the object
commits (`expect`); what is true afterwards, a later or cleared timer among it, after (`settle`). Between the two the
row is *unsettled*, and a start looks into the file of each row that is.
"""

from collections.abc import Iterable
from pathlib import Path

from melee.objects.request import ObjectRef
from melee.store.connection import Connection

_VERSION = 1
_SCHEMA = """
DROP TABLE IF EXISTS objects;
CREATE TABLE objects (
    class TEXT NOT NULL, id TEXT NOT NULL,
    due_no_later_than REAL,  -- the object's timer is due then or later
    wake_at REAL,            -- when to ask the object; later than due only after a try that ended the process or that
                             -- found it busy
    tries INTEGER NOT NULL DEFAULT 0,
    settled INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (class, id)
) WITHOUT ROWID;
CREATE INDEX objects_by_wake ON objects (wake_at) WHERE wake_at IS NOT NULL;
"""
RETRY_SECONDS_AT_MOST = 600

Due = tuple[ObjectRef, float | None]


class Registry:
    """The index in a file, made if missing. One that was not filled to the end is emptied when it is opened again.

    Raises:
        OutOfDate: the file was written by another version of melee; it is rebuilt then.
    """

    class OutOfDate(Exception):
        """The file's tables are not the ones this version reads."""

    def __init__(self, path: Path) -> None:
        self._connection = Connection(path)
        self._wake_changed = True
        self._next_wake_at: float | None = None
        version = self._connection.own("PRAGMA user_version")[0]["user_version"]
        self.is_new = version == 0
        """Whether it has yet to be filled from the files."""
        if self.is_new:
            self._connection.control(f"BEGIN; {_SCHEMA} COMMIT")
        elif version != _VERSION:
            self._connection.close()
            raise self.OutOfDate(f"{path} has version {version}, this is {_VERSION}")

    def mark_filled(self) -> None:
        """It names every object that has a file, from now on."""
        self._connection.set_durable(True)
        self._connection.control(f"PRAGMA user_version = {_VERSION}")
        self.is_new = False

    def expect(self, expected: Iterable[Due]) -> None:
        """On disk when it returns: these objects may exist, and be due no earlier than said."""
        self._write(
            True,
            "INSERT INTO objects (class, id, due_no_later_than, wake_at) VALUES (?1, ?2, ?3, ?3) "
            "ON CONFLICT DO UPDATE SET settled = 0, "
            "due_no_later_than = ifnull(min(due_no_later_than, ?3), ifnull(?3, due_no_later_than)), "
            "wake_at = ifnull(min(wake_at, ?3), ifnull(?3, wake_at))",
            expected,
        )

    def settle(self, settled: Iterable[Due]) -> None:
        """What the objects' files say now. May be lost with the machine: the row is early then."""
        self._write(
            False,
            "INSERT INTO objects (class, id, due_no_later_than, wake_at, settled) VALUES (?1, ?2, ?3, ?3, 1) "
            "ON CONFLICT DO UPDATE SET settled = 1, tries = 0, due_no_later_than = ?3, wake_at = ?3",
            settled,
        )

    def forget(self, ref: ObjectRef) -> None:
        """The file of this object is gone."""
        self._wake_changed = True
        self._connection.own("DELETE FROM objects WHERE class = ? AND id = ?", *ref)

    def try_at(self, ref: ObjectRef, now: float) -> None:
        """Notes that the object's timer is tried now. Should the try end the process, the next one comes at once, and
        further ones wait 2, 4, 8 … up to 600 s, so that one object cannot keep all others from their turn."""
        self._wake_changed = True
        self._connection.set_durable(False)
        self._connection.own(
            "UPDATE objects SET tries = tries + 1, "
            f"wake_at = ?3 + iif(tries = 0, 0, min(1 << min(tries, 20), {RETRY_SECONDS_AT_MOST})) "
            "WHERE class = ?1 AND id = ?2",
            *ref,
            now,
        )

    def put_off(self, ref: ObjectRef, until: float) -> None:
        """Notes that the object's timer is not to be tried before that, unless its row is settled earlier."""
        self._wake_changed = True
        self._connection.set_durable(False)
        self._connection.own("UPDATE objects SET wake_at = ?3 WHERE class = ?1 AND id = ?2", *ref, until)

    def due(self, now: float, at_most: int) -> list[ObjectRef]:
        """The objects to ask now, those that never failed first, then the longest overdue."""
        rows = self._connection.own(
            "SELECT class, id FROM objects WHERE wake_at <= ? ORDER BY tries, wake_at LIMIT ?", now, at_most
        )
        return [ObjectRef(row["class"], row["id"]) for row in rows]

    def next_wake_at(self) -> float | None:
        """When there is something to ask, in epoch seconds; None when no timer is set."""
        # The worker asks this before every wait, and it changes seldom.
        if self._wake_changed:
            self._wake_changed = False
            rows = self._connection.own("SELECT min(wake_at) AS wake_at FROM objects WHERE wake_at IS NOT NULL")
            self._next_wake_at = rows[0]["wake_at"]
        return self._next_wake_at

    def due_no_later_than(self, ref: ObjectRef) -> float | None:
        rows = self._connection.own("SELECT due_no_later_than AS due FROM objects WHERE class = ? AND id = ?", *ref)
        return rows[0]["due"] if rows else None

    def asks_at(self, ref: ObjectRef) -> float | None:
        """When `due` will name the object: no later than its timer, but for a try that ended the process."""
        rows = self._connection.own("SELECT wake_at FROM objects WHERE class = ? AND id = ?", *ref)
        return rows[0]["wake_at"] if rows else None

    def unsettled(self) -> list[ObjectRef]:
        rows = self._connection.own("SELECT class, id FROM objects WHERE NOT settled")
        return [ObjectRef(row["class"], row["id"]) for row in rows]

    def ids(self, class_name: str) -> list[str]:
        rows = self._connection.own("SELECT id FROM objects WHERE class = ? ORDER BY id", class_name)
        return [row["id"] for row in rows]

    def count(self, class_name: str) -> int:
        count: int = self._connection.own("SELECT count(*) AS n FROM objects WHERE class = ?", class_name)[0]["n"]
        return count

    def close(self) -> None:
        self._connection.close()

    def _write(self, durable: bool, sql: str, rows: Iterable[Due]) -> None:
        self._wake_changed = True
        self._connection.set_durable(durable)
        self._connection.begin()
        try:
            for ref, due_at in rows:
                self._connection.own(sql, *ref, due_at)
            self._connection.commit()
        finally:
            if self._connection.in_transaction:
                self._connection.rollback()
