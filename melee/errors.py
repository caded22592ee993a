"""The one tree of errors.

Every error is a dataclass: its fields are the values the message is made of, JSON-shaped, so that an error can cross
from the object worker to its caller and be the same error there.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar


class MeleeError(Exception):
    """Whatever melee raises on purpose. `MESSAGE` is what it says, with the names of its fields."""

    MESSAGE: ClassVar[str] = ""

    def __str__(self) -> str:
        return self.MESSAGE.format_map(vars(self)) if self.MESSAGE else super().__str__()

    def values(self) -> dict[str, Any]:
        """The fields by name; `from_values` makes the same error of them."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]


def from_values(name: str, values: dict[str, Any]) -> MeleeError:
    """The error called `name` with these fields; raises `LookupError` when there is no such error."""
    found = _by_name(MeleeError).get(name)
    if found is None:
        raise LookupError(f"no error of melee is called {name}")
    return found(**values)


def _by_name(root: type[MeleeError]) -> dict[str, type[MeleeError]]:
    below = (found for child in root.__subclasses__() for found in _by_name(child).items())
    return {root.__name__: root, **dict(below)}


# What is wrong with an app, its folder or the command line. A command prints the one line and exits with 1.


class BadInput(MeleeError):
    """Something the developer of the app has to change before it can run."""


@dataclass(eq=False)
class NotAnApp(BadInput):
    """The folder has no `app.py`, or its `app.py` has no `app`."""

    folder: str
    problem: str

    MESSAGE = "{folder} is not an app: {problem}"


@dataclass(eq=False)
class BadConfig(BadInput):
    """`melee.toml` cannot be read: broken TOML, an unknown key, or a value out of its range."""

    file: str
    problem: str

    MESSAGE = "{file}: {problem}"


@dataclass(eq=False)
class AlreadyRunning(BadInput):
    """Another process holds this data folder; two would each hold only half of the calls back."""

    folder: str
    pid: int

    MESSAGE = "{folder} is in use by process {pid}: stop it first, or run this app on another data folder"


@dataclass(eq=False)
class NotRunning(BadInput):
    """A command is for a server, and none runs on this data folder."""

    folder: str

    MESSAGE = "no server runs on {folder}; start one with `melee serve`"


@dataclass(eq=False)
class NoSuchObject(BadInput):
    """A command named an object that does not exist."""

    object: str
    known: list[str]

    def __str__(self) -> str:
        known = ", ".join(self.known[:5]) + (", …" if len(self.known) > 5 else "")
        return f"there is no object {self.object}; there is {known or 'none yet'}"


@dataclass(eq=False)
class NoSuchJob(BadInput):
    """A command named a job that is not there: it is done, was discarded, or never was."""

    id: int

    MESSAGE = "there is no job {id}; `melee jobs` lists those that are"


@dataclass(eq=False)
class DefinitionError(BadInput, TypeError):
    """A class derived from `Durable` asks for what a durable object cannot have."""

    where: str
    problem: str

    MESSAGE = "{where}: {problem}"


@dataclass(eq=False)
class MigrationError(BadInput):
    """A migration fails (`file` is `path:line:column` then) or was changed after it ran; nothing uses its database."""

    file: str
    statement: str
    problem: str

    def __str__(self) -> str:
        return f"{self.file}: {self.problem}" + (f" in: {self.statement}" if self.statement else "")


# What a line of an app's code did wrong, or ran into.


@dataclass(eq=False)
class ShapeError(MeleeError, TypeError):
    """A value cannot cross a process boundary. `where` is the path to it."""

    where: str
    problem: str

    MESSAGE = "{where}: {problem}"


@dataclass(eq=False)
class TimerError(MeleeError, ValueError):
    """A timer was asked for a moment that makes no sense."""

    problem: str

    def __str__(self) -> str:
        return self.problem


@dataclass(eq=False)
class DatabaseError(MeleeError):
    """SQLite refused a statement. `problem` is what it says; `position`, an index in the text, where; 0 if unknown."""

    statement: str
    problem: str
    position: int = 0

    def __str__(self) -> str:
        return f"{self.problem} in: {self.statement}" if self.statement else self.problem


class ConstraintError(DatabaseError):
    """The statement would break a constraint of the schema: a duplicate key, a missing parent, a failed check."""


class DatabaseFull(DatabaseError):
    """The disk is full. Nothing that was confirmed is lost; make space and call again."""


class DatabaseLocked(DatabaseError):
    """Another process held the database for longer than the busy time-out."""


class DatabaseUnreachable(DatabaseError):
    """There is no way to the database, or it broke off. A statement that was under way may have run."""


class StatementRefused(DatabaseError):
    """The statement touches what melee keeps for itself: `_melee_` tables, transactions by hand, settings."""


@dataclass(eq=False)
class WrongProcess(MeleeError):
    """A database connection was carried over a fork, which corrupts databases."""

    path: str
    opened_by: int
    used_by: int

    MESSAGE = (
        "{path} was opened by process {opened_by} and used by {used_by}: "
        "open a database after the fork, in the process that uses it"
    )


@dataclass(eq=False)
class TransactionOpen(MeleeError):
    """A call to another object inside `storage.transaction()`: the writes so far cannot be made durable before it."""

    object: str
    attempt: str

    MESSAGE = (
        "{object} calls {attempt} inside a transaction (setup is one too): "
        "leave the transaction first, or set timer(after=0) and call from on_timer"
    )


@dataclass(eq=False)
class NoOwner(MeleeError):
    """No durable objects are hosted for this process."""

    attempt: str

    MESSAGE = (
        "{attempt} has nowhere to go: this process belongs to no running app. "
        "Start the app with `melee dev`, or use melee.testing.AppUnderTest in a test"
    )


@dataclass(eq=False)
class HttpError(MeleeError):
    """A request got no whole answer, or one of no use; it may have arrived all the same. `status` is the answer's."""

    method: str
    url: str
    problem: str
    status: int | None = None

    MESSAGE = "{method} {url}: {problem}"


# What became of a call. The kind says what the caller may do.


@dataclass(eq=False)
class ObjectError(MeleeError):
    """A call to a durable object did not return a value. `object` is `Class/id`."""

    object: str
    method: str

    MESSAGE = "{object}.{method} failed"


@dataclass(eq=False)
class ObjectCallError(ObjectError):
    """The method raised. What its statements wrote outside a transaction is kept."""

    remote_type: str
    message: str
    remote_traceback: str

    MESSAGE = "{object}.{method} raised {remote_type}: {message}"


@dataclass(eq=False)
class ObjectUnavailable(ObjectError):
    """The call left no trace: it never started, or what it wrote was undone. Calling again is safe."""

    problem: str

    MESSAGE = "{object}.{method} did not run: {problem}; it is safe to call again"


@dataclass(eq=False)
class OutcomeUnknown(ObjectError):
    """The call may have run: the worker was lost before it answered. Ask the object before you repeat it."""

    problem: str

    MESSAGE = "{object}.{method} may have run: {problem}; look before you call again"


@dataclass(eq=False)
class Overloaded(ObjectError):
    """Refused for load, before it started. Call again later, not at once."""

    problem: str

    MESSAGE = "{object}.{method} was refused: {problem}; call again later"


@dataclass(eq=False)
class CallTimeout(ObjectError):
    """No answer in time. The call may have run, or may still run if it had started."""

    waited_seconds: float

    MESSAGE = "{object}.{method} gave no answer within {waited_seconds:g} s; it may have run"


@dataclass(eq=False)
class Deadlock(ObjectError):
    """The call would wait for itself. `chain` names the objects from the first caller to the one called again."""

    chain: list[str]

    def __str__(self) -> str:
        return f"{self.object}.{self.method} would wait for itself: {' → '.join(self.chain)}"
