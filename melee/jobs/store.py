"""What a store of jobs can do, whichever database it is in. Moments are in epoch seconds."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

import msgspec


class NewJob(msgspec.Struct, frozen=True):
    """A job to be stored: due `in_seconds` from now, or `at` a moment."""

    name: str
    payload: str
    queue: str = "default"
    priority: int = 0
    unique_key: str | None = None
    max_attempts: int = 5
    in_seconds: float = 0
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which jobs a worker takes: those with these names, from these queues.

    Attributes:
        released_names: the kinds whose key is free for another one as soon as they begin.
    """

    queues: Sequence[str]
    names: Sequence[str]
    released_names: Sequence[str] = ()


class Claim(msgspec.Struct, frozen=True):
    """A job that a worker has taken: what it is to run, and the proof that it is the one who may.

    Attributes:
        number: how often the job was ever claimed; together with `id` it names this claim and no other.
        attempt: which try this is, from 1; `retry_failed` begins anew.
    """

    id: int
    number: int
    name: str
    payload: str
    attempt: int
    max_attempts: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A try that came to nothing: the next one comes in `again_in_seconds`, or never for None."""

    claim: Claim
    error: str
    again_in_seconds: float | None


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job as it is stored.

    Attributes:
        status: `queued`, `running` or `failed`.
        attempts: how many tries have begun.
        last_error: of the last try that failed; None while none has.
        due_at: when it may run, in epoch seconds.
        worker: who runs it, as host and process; None while nobody does.
    """

    id: int
    name: str
    queue: str
    priority: int
    status: str
    attempts: int
    max_attempts: int
    payload: str
    unique_key: str | None
    last_error: str | None
    due_at: float
    enqueued_at: float
    worker: str | None


@dataclass(frozen=True, slots=True)
class Stats:
    """How many jobs there are; those that are due later are `queued`, too."""

    queued: int
    running: int
    failed: int


@dataclass(frozen=True, slots=True)
class Retried:
    """What became of the failed jobs: `queued` again, or `left` since a newer job holds their unique key."""

    queued: int
    left: int


Stored = Callable[[Sequence[str]], None]
"""Hears the names of jobs that were stored."""


class Store(Protocol):
    """A store on one connection. Each method is a transaction, or a part of the one that is open on it."""

    def create(self) -> None:
        """Makes the tables, or brings those of an older version up to date."""

    def insert(self, jobs: Sequence[NewJob]) -> list[bool]:
        """Stores jobs; False for each whose unique key is held. All of them, or, when this raises, none."""

    def claim(self, wanted: Wanted, at_most: int, lease_seconds: float, worker: str) -> list[Claim]:
        """Takes due jobs: the highest priority first, then the oldest. Nobody else gets them before the lease ends."""

    def renew(self, claims: Sequence[Claim], lease_seconds: float) -> set[int]:
        """Lets the leases begin anew; returns the ids of the jobs whose claims still stand. Another one was discarded,
        or its lease had run out and somebody else has it."""

    def succeed(self, claims: Sequence[Claim]) -> int:
        """Deletes jobs that are done; returns how many of the claims still stood."""

    def fail(self, failures: Sequence[Failure]) -> int:
        """Queues jobs again, or keeps them as failed; returns how many of the claims still stood."""

    def release(self, claims: Sequence[Claim]) -> int:
        """Queues jobs again that were not tried, or not to the end through no fault of their own: it costs them no
        attempt. Returns how many of the claims still stood."""

    def reap(self) -> list[StoredJob]:
        """Queues what was left by workers that are gone, as its leases say; after the last attempt it is failed.
        Returns these jobs as they are now."""

    def next_due_at(self) -> float | None:
        """When the next job that is queued for later becomes due; None when there is none."""

    def next_lease_end_at(self) -> float | None:
        """When the first lease ends, unless it is renewed; None when no job runs."""

    def tick(self, name: str, expression: str, after: Callable[[float], float], job: NewJob) -> float:
        """Stores the job if this is the first to notice that its time has come, and notes when it comes next.

        Args:
            after: the first moment after another one at which the expression matches.

        Returns when that is.
        """

    def per_name(self) -> dict[str, Stats]:
        """How many jobs of each kind there are. That takes long when they are many: it reads them all."""

    def first_names(self) -> set[str]:
        """The names of the first jobs that are due; those that nobody claims are among them sooner or later."""

    def get(self, id: int) -> StoredJob | None: ...

    def failed(self, at_most: int) -> list[StoredJob]:
        """The failed jobs, the newest failure first."""

    def waiting(self, name: str | None, at_most: int) -> list[StoredJob]:
        """The jobs that run or wait, of one kind or of all, those that run first, then the next first."""

    def discard(self, id: int) -> bool:
        """Deletes a job, whatever its status; a worker that runs it ends it. False when there is none."""

    def retry(self, id: int) -> bool:
        """Queues a failed job again, with all its attempts; False when it is not failed, or its key is held."""

    def retry_failed(self) -> Retried:
        """Queues all failed jobs again."""

    def now(self) -> float:
        """The time by which jobs are due and leases end."""


def storable(error: str) -> str:
    """An error as every database takes it: without NUL, and without halves of letters, as names of files have them."""
    return error.replace("\0", "\\0").encode(errors="backslashreplace").decode()


def stored_job(row: Mapping[str, Any]) -> StoredJob:
    """The job in a row of the table, whatever columns an owner has added to it."""
    return StoredJob(**{field.name: row[field.name] for field in fields(StoredJob)})


def stats_per_name(rows: Iterable[Mapping[str, Any]]) -> dict[str, Stats]:
    """Of rows with a name, a status and how many jobs have both."""
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        counts.setdefault(row["name"], {"queued": 0, "running": 0, "failed": 0})[row["status"]] = row["jobs"]
    return {name: Stats(**count) for name, count in counts.items()}
