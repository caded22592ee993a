"""What an object's database says about the object itself, in one row: who it is, when its timer is due, how it went."""

from typing import NamedTuple

from melee.clock import Clock
from melee.objects.request import ObjectRef
from melee.store.connection import Connection


class State(NamedTuple):
    """The row. `times_set` grows with every change of the timer, so that the timer that fired can be told from one
    that was set meanwhile, even at the same moment. Moments are epoch seconds."""

    ref: ObjectRef
    due_at: float | None
    times_set: int
    timer_error: str
    timer_error_at: float | None
    destroyed: bool


def read_state(connection: Connection) -> State | None:
    """The state in an object's file; None when the object was never created."""
    if not connection.own("SELECT 1 FROM sqlite_master WHERE name = '_melee_object'"):
        return None
    rows = connection.own("SELECT * FROM _melee_object")
    if not rows:
        return None
    row = rows[0]
    return State(
        ObjectRef(row["class"], row["id"]),
        row["due_at"],
        row["times_set"],
        row["timer_error"],
        row["timer_error_at"],
        bool(row["destroyed"]),
    )


class Record:
    """The row of one loaded object. `changed` is True when it may differ from what the registry knows."""

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self.clock = clock
        self.changed = False
        self._connection = connection

    def create(self, ref: ObjectRef) -> None:
        """Makes melee's tables and the row; the object exists when this is committed."""
        self._connection.own("CREATE TABLE _melee_values (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
        self._connection.own(
            "CREATE TABLE _melee_object (class TEXT NOT NULL, id TEXT NOT NULL, due_at REAL, "
            "times_set INTEGER NOT NULL DEFAULT 0, timer_error TEXT NOT NULL DEFAULT '', timer_error_at REAL, "
            "destroyed INTEGER NOT NULL DEFAULT 0)"
        )
        self._connection.own("INSERT INTO _melee_object (class, id) VALUES (?, ?)", *ref)
        self.changed = True

    def read(self) -> State:
        state = read_state(self._connection)
        if state is None:
            raise LookupError("this object has no row; it was read before it was created")
        return state

    def set_timer(self, due_at: float | None) -> None:
        self.changed = True
        self._connection.own("UPDATE _melee_object SET due_at = ?, times_set = times_set + 1", due_at)

    def end_timer(self, fired: State, error: str) -> None:
        """Clears the timer that fired, unless `on_timer` set another, and keeps how it went."""
        self.changed = True
        self._connection.own("UPDATE _melee_object SET due_at = NULL WHERE times_set = ?", fired.times_set)
        if error or fired.timer_error:
            failed_at = self.clock.now() if error else None
            self._connection.own("UPDATE _melee_object SET timer_error = ?, timer_error_at = ?", error, failed_at)

    def mark_destroyed(self) -> None:
        """From the commit of this on, the object does not exist; its file is deleted then, or at the next start."""
        self.changed = True
        self._connection.own("UPDATE _melee_object SET destroyed = 1, due_at = NULL")
