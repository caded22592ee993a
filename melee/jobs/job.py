"""`Job`, the class that users derive from, and how a job becomes a row and a row a job."""

import inspect
from typing import Any, ClassVar, cast

import msgspec

from melee.errors import DefinitionError, ShapeError

_LETTERS_AT_MOST = 200
_NOT_JSON = object()


class Job(msgspec.Struct, forbid_unknown_fields=True):
    """Work that no crash may lose. Its fields are what is stored, as JSON: keep them few, ids rather than records.

    A job runs at least once: when its worker dies, it runs again. So its `run` may come a second time, and has to see
    to it that this does no harm.

    Attributes:
        NAME: what the kind of job is called in the database; keep it when the class gets another name.
        QUEUE: where it waits; each queue can have workers of its own.
        PRIORITY: a higher one runs first; among equals, the one that was enqueued first.
        MAX_ATTEMPTS: how often it is tried before it is failed for good.
        TIMEOUT: how many seconds one try may take; None for any number.
        JITTER: how much longer than planned the pause before a try may be, as a share of it: with 0.1, a pause of 20 s
            takes 20 to 22 s. It keeps those that failed together from coming back together.
        UNIQUE_WHILE: until when a job holds its `unique_key`: `"unfinished"`, until it is done or has failed for good;
            `"queued"`, until it begins, so that a change made while it runs is not lost.
    """

    NAME: ClassVar[str]
    QUEUE: ClassVar[str] = "default"
    PRIORITY: ClassVar[int] = 0
    MAX_ATTEMPTS: ClassVar[int] = 5
    TIMEOUT: ClassVar[float | None] = None
    JITTER: ClassVar[float] = 0
    UNIQUE_WHILE: ClassVar[str] = "unfinished"

    def run(self, resources: Any) -> object:
        """The work; may be `async def`. It is tried again when it raises, and is done when it returns.

        Args:
            resources: what it can use, a `Resources`.
        """
        raise NotImplementedError

    def unique_key(self) -> str | None:
        """Of jobs of this class with one key, at most one is held; None for any number. Default: None."""
        return None


def check_class(cls: type[Job]) -> None:
    """Refuses a class that cannot be registered, with a `DefinitionError`."""
    where = f"{cls.__module__}.{cls.__qualname__}"
    if set(cls.__struct_fields__) & {"NAME", "QUEUE", "PRIORITY", "MAX_ATTEMPTS", "TIMEOUT", "JITTER", "UNIQUE_WHILE"}:
        raise DefinitionError(where, "its settings are written without an annotation, such as NAME = 'send_welcome'")
    name = getattr(cls, "NAME", None)
    _check_name(where, "NAME", name)
    _check_name(where, "QUEUE", cls.QUEUE)
    if cls.run is Job.run:
        raise DefinitionError(where, "it has no run; write def run(self, resources)")
    if inspect.isgeneratorfunction(cls.run) or inspect.isasyncgenfunction(cls.run):
        raise DefinitionError(where, "its run has a yield, so that a call of it does nothing; leave that out")
    for setting, is_right, wanted in (
        ("PRIORITY", _is_int(cls.PRIORITY) and abs(cls.PRIORITY) < 2**31, "a whole number, such as 10 or -1"),
        ("MAX_ATTEMPTS", _is_int(cls.MAX_ATTEMPTS) and 1 <= cls.MAX_ATTEMPTS < 2**31, "a whole number above 0"),
        ("TIMEOUT", cls.TIMEOUT is None or (_is_number(cls.TIMEOUT) and cls.TIMEOUT > 0), "seconds above 0, or None"),
        ("JITTER", _is_number(cls.JITTER) and 0 <= cls.JITTER <= 1, "a number from 0 to 1"),
        ("UNIQUE_WHILE", cls.UNIQUE_WHILE in ("unfinished", "queued"), "'unfinished' or 'queued'"),
    ):
        if not is_right:
            raise DefinitionError(where, f"{setting} is {getattr(cls, setting)!r}; it has to be {wanted}")


def payload_of(job: Job) -> str:
    """The fields of a job as JSON; a `ShapeError` when they would not come back as they are."""
    cls = type(job)
    try:
        payload = msgspec.json.encode(job)
        msgspec.json.decode(payload, type=cls)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ShapeError(cls.__name__, f"its fields cannot be stored: {error}") from error
    return payload.decode()


def job_of(cls: type[Job], payload: str) -> Job:
    """The job that was stored; a `ShapeError` when what was stored no longer fits its class."""
    try:
        return msgspec.json.decode(payload, type=cls)
    except Exception as error:
        # A class may check its fields itself, and raise what it likes.
        problem = f"its payload does not fit {cls.__module__}.{cls.__qualname__}: {error}"
        raise ShapeError(cls.NAME, problem) from error


def key_of(job: Job) -> str | None:
    """The unique key of a job; a `ShapeError` when it is no text."""
    key = cast("Any", job.unique_key())
    if key is not None and (type(key) is not str or not key or "\0" in key):
        raise ShapeError(f"{type(job).__name__}.unique_key", f"{key!r} is no text; return str(…), or None for no key")
    return key


def _check_name(where: str, setting: str, name: Any) -> None:
    if type(name) is not str or not name or len(name) > _LETTERS_AT_MOST or not name.isprintable():
        example = "send_welcome" if setting == "NAME" else "default"
        shown = "missing" if name is None else repr(name)
        problem = f"{setting} is {shown}; write {setting} = {example!r}, up to {_LETTERS_AT_MOST} letters"
        raise DefinitionError(where, problem)


def _is_int(value: object) -> bool:
    return type(value) is int


def _is_number(value: object) -> bool:
    return type(value) in (int, float)
