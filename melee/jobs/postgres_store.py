"""Jobs in a Postgres database, for any number of servers."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from melee.clock import Clock, SystemClock
from melee.errors import ConstraintError
from melee.jobs.bell import CHANNEL
from melee.jobs.statements import read_statements
from melee.jobs.store import (
    Claim,
    Failure,
    NewJob,
    Retried,
    Stats,
    Stored,
    StoredJob,
    Wanted,
    stats_per_name,
    storable,
    stored_job,
)
from melee.store.database import Database, Row
from melee.store.postgres import PostgresConnection, postgres_array

_SQL = read_statements("postgres.sql")
# A table of an older version gets what it lacks.
_COLUMNS = {
    "queue": "text NOT NULL DEFAULT 'default'",
    "priority": "integer NOT NULL DEFAULT 0",
    "unique_key": "text",
    "max_attempts": "integer NOT NULL DEFAULT 5",
    "is_due": "boolean NOT NULL DEFAULT false",
    "claims": "integer NOT NULL DEFAULT 0",
    "worker": "text",
    "leased_until": "timestamptz",
    "failed_at": "timestamptz",
}
_NEW = ("name", "payload", "queue", "priority", "max_attempts", "at", "in_seconds")
_TRIES_AT_MOST = 10


class PostgresStore:
    """See `Store`. Rows that another worker is just taking are skipped.

    Args:
        connection: of this process; what is written is a part of the transaction that is open on it.
        clock: decides what is due if it is a test's. Otherwise the time of Postgres does, which is one for all servers,
            whatever their own clocks say.
        database: on this connection; default: one of its own.
        stored: hears the names of the jobs that were inserted, in the transaction that is open then.
    """

    def __init__(
        self,
        connection: PostgresConnection,
        clock: Clock,
        database: Database | None = None,
        stored: Stored = lambda _names: None,
    ) -> None:
        self._connection, self._clock, self._stored = connection, clock, stored
        self._database = database or Database(connection)

    def create(self) -> None:
        if _COLUMNS.keys() <= self._columns():
            return
        with self._database.transaction():
            # Two that make one table at a time get in each other's way.
            self._query("lock")
            self._query("jobs_table")
            self._query("cron_table")
            for name, definition in _COLUMNS.items():
                self._database.run(f"ALTER TABLE melee_jobs ADD COLUMN IF NOT EXISTS {name} {definition}")
            for statement in ("settings", "claim_index", "due_index", "lease_index", "failed_index", "key_index"):
                self._query(statement)

    def insert(self, jobs: Sequence[NewJob]) -> list[bool]:
        now = self._moved_now()
        if any(job.unique_key is not None for job in jobs):
            keys = postgres_array([job.unique_key for job in jobs])
            rows = self._query("insert_unique", now=now, unique_key=keys, **_columns(jobs))
            places = {row["place"] for row in rows}
            stored = [place in places for place in range(1, len(jobs) + 1)]
        else:
            # Most are stored one by one, and to plan this takes half as long.
            if len(jobs) == 1:
                self._run("insert_one", now=now, **{name: getattr(jobs[0], name) for name in _NEW})
            else:
                self._run("insert", now=now, **_columns(jobs))
            stored = [True] * len(jobs)
        self._tell(any(stored))
        self._stored([job.name for job, is_stored in zip(jobs, stored, strict=True) if is_stored])
        return stored

    def claim(self, wanted: Wanted, at_most: int, lease_seconds: float, worker: str) -> list[Claim]:
        now = self._moved_now()
        self._query("let_due", now=now)
        rows = self._query(
            "claim",
            queues=list(wanted.queues),
            names=list(wanted.names),
            released_names=list(wanted.released_names),
            at_most=at_most,
            worker=worker,
            now=now,
            lease_seconds=lease_seconds,
        )
        rows.sort(key=lambda row: (-row.pop("priority"), row["id"]))
        return [Claim(**row) for row in rows]

    def renew(self, claims: Sequence[Claim], lease_seconds: float) -> set[int]:
        rows = self._query("renew", now=self._moved_now(), lease_seconds=lease_seconds, **_fence(claims))
        return {row["id"] for row in rows}

    def succeed(self, claims: Sequence[Claim]) -> int:
        return self._run("succeed", **_fence(claims))

    def fail(self, failures: Sequence[Failure]) -> int:
        failures = sorted(failures, key=lambda failure: failure.claim.id)
        stood = self._run(
            "fail",
            now=self._moved_now(),
            errors=postgres_array([storable(failure.error) for failure in failures]),
            again_in_seconds=postgres_array([failure.again_in_seconds for failure in failures]),
            **_fence(failure.claim for failure in failures),
        )
        # Who waits has to learn when they are due again, in case this worker does not live to see it.
        self._tell(any(failure.again_in_seconds is not None for failure in failures))
        return stood

    def release(self, claims: Sequence[Claim]) -> int:
        stood = self._run("release", **_fence(claims))
        self._tell(stood > 0)
        return stood

    def reap(self) -> list[StoredJob]:
        left = [_stored(row) for row in self._query("reap", now=self._moved_now())]
        self._tell(any(job.status == "queued" for job in left))
        return left

    def next_due_at(self) -> float | None:
        moment: datetime | None = self._query("next_due_at")[0]["next_due_at"]
        return None if moment is None else moment.timestamp()

    def next_lease_end_at(self) -> float | None:
        moment: datetime | None = self._query("next_lease_end_at")[0]["next_lease_end_at"]
        return None if moment is None else moment.timestamp()

    def tick(self, name: str, expression: str, after: Callable[[float], float], job: NewJob) -> float:
        now = self.now()
        next_at = after(now)
        with self._database.transaction():
            self._query("plan_tick", job=name, expression=expression, next_at=next_at)
            if self._query("take_tick", job=name, expression=expression, next_at=next_at, now=now):
                self.insert([job])
            moment: datetime = self._query("next_tick", job=name, expression=expression)[0]["next_at"]
        return moment.timestamp()

    def per_name(self) -> dict[str, Stats]:
        return stats_per_name(self._query("per_name"))

    def first_names(self) -> set[str]:
        return {row["name"] for row in self._query("first_names")}

    def get(self, id: int) -> StoredJob | None:
        rows = self._query("get", id=id)
        return _stored(rows[0]) if rows else None

    def failed(self, at_most: int) -> list[StoredJob]:
        return [_stored(row) for row in self._query("failed", at_most=at_most)]

    def waiting(self, name: str | None, at_most: int) -> list[StoredJob]:
        return [_stored(row) for row in self._query("waiting", name=name, at_most=at_most)]

    def discard(self, id: int) -> bool:
        was_there = self._run("discard", id=id) > 0
        # Its key is free.
        self._tell(was_there)
        return was_there

    def retry(self, id: int) -> bool:
        return self._retry([id]) > 0

    def retry_failed(self) -> Retried:
        queued = self._retry([row["id"] for row in self._query("retryable_ids")])
        return Retried(queued, self._query("failed_count")[0]["jobs"])

    def now(self) -> float:
        moved = self._moved_now()
        if moved is not None:
            return moved
        now: datetime = self._query("now")[0]["now"]
        return now.timestamp()

    def _retry(self, ids: list[int]) -> int:
        for _try in range(_TRIES_AT_MOST):
            try:
                with self._database.transaction():
                    queued = self._run("retry", ids=postgres_array(ids), now=self._moved_now())
                    self._tell(queued > 0)
                    return queued
            except ConstraintError:
                # Somebody stored a job with one of their keys at this very moment; it is seen when this is tried again.
                continue
        return 0

    def _tell(self, is_news: bool) -> None:
        if is_news:
            self._connection.notify(CHANNEL)

    def _moved_now(self) -> float | None:
        return None if isinstance(self._clock, SystemClock) else self._clock.now()

    def _query(self, statement: str, **parameters: Any) -> list[Row]:
        return self._database.query(_SQL[statement], parameters)

    def _run(self, statement: str, **parameters: Any) -> int:
        return self._database.run(_SQL[statement], parameters)

    def _columns(self) -> set[str]:
        return {row["name"] for row in self._query("columns")}


def _columns(jobs: Sequence[NewJob]) -> dict[str, str]:
    return {name: postgres_array([getattr(job, name) for job in jobs]) for name in _NEW}


def _fence(claims: Iterable[Claim]) -> dict[str, str]:
    """Only the claims that still stand change their jobs. In one order, so that two never wait for each other."""
    pairs = sorted((claim.id, claim.number) for claim in claims)
    ids, numbers = [id for id, _number in pairs], [number for _id, number in pairs]
    return {"ids": postgres_array(ids), "numbers": postgres_array(numbers)}


def _stored(row: Row) -> StoredJob:
    moments = {name: value.timestamp() for name, value in row.items() if isinstance(value, datetime)}
    return stored_job(row | moments)
