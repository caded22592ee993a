"""Jobs in a Postgres database, for any number of servers."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from melee.clock import Clock, SystemClock
from melee.errors import ConstraintError
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
    stored_job,
)
from melee.store.database import Database, Row

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
_TRIES_AT_MOST = 10


class PostgresStore:
    """See `Store`. Rows that another worker is just taking are skipped.

    Args:
        database: on a connection of this process.
        clock: decides what is due if it is a test's. Otherwise the time of Postgres does, which is one for all servers,
            whatever their own clocks say.
        stored: hears the names of the jobs that were inserted, in the transaction that is open then.
    """

    def __init__(self, database: Database, clock: Clock, stored: Stored = lambda _names: None) -> None:
        self._database, self._clock, self._stored = database, clock, stored

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
        # Two that store the same keys in one order never wait for each other in a circle.
        order = sorted(range(len(jobs)), key=lambda index: (jobs[index].name, jobs[index].unique_key or ""))
        rows = [jobs[index] for index in order]
        columns = {name: [getattr(job, name) for job in rows] for name in NewJob.__dataclass_fields__}
        held = {(row["name"], row["unique_key"]) for row in self._query("insert", now=self._moved_now(), **columns)}
        stored = [True] * len(jobs)
        for index in order:
            key = (jobs[index].name, jobs[index].unique_key)
            if jobs[index].unique_key is not None:
                stored[index] = key in held
                held.discard(key)
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
        return self._run(
            "fail",
            now=self._moved_now(),
            errors=[failure.error.replace("\0", "\\0") for failure in failures],
            again_in_seconds=[failure.again_in_seconds for failure in failures],
            **_fence(failure.claim for failure in failures),
        )

    def release(self, claims: Sequence[Claim]) -> int:
        with self._database.transaction():
            self._query("notify")
            return self._run("release", **_fence(claims))

    def reap(self) -> list[StoredJob]:
        rows = self._query("reap", now=self._moved_now())
        return [_stored(row) for row in rows]

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

    def get(self, id: int) -> StoredJob | None:
        rows = self._query("get", id=id)
        return _stored(rows[0]) if rows else None

    def failed(self, at_most: int) -> list[StoredJob]:
        return [_stored(row) for row in self._query("failed", at_most=at_most)]

    def waiting(self, name: str | None, at_most: int) -> list[StoredJob]:
        return [_stored(row) for row in self._query("waiting", name=name, at_most=at_most)]

    def discard(self, id: int) -> bool:
        with self._database.transaction():
            self._query("notify")
            return self._run("discard", id=id) > 0

    def retry(self, id: int) -> bool:
        return self._retry([id]) > 0

    def retry_failed(self) -> Retried:
        queued = self._retry([row["id"] for row in self._query("retryable_ids")])
        return Retried(queued, sum(stats.failed for stats in self.per_name().values()))

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
                    self._query("notify")
                    return self._run("retry", ids=ids, now=self._moved_now())
            except ConstraintError:
                # Somebody stored a job with one of their keys at this very moment; it is seen when this is tried again.
                continue
        return 0

    def _moved_now(self) -> float | None:
        return None if isinstance(self._clock, SystemClock) else self._clock.now()

    def _query(self, statement: str, **parameters: Any) -> list[Row]:
        return self._database.query(_SQL[statement], parameters)

    def _run(self, statement: str, **parameters: Any) -> int:
        return self._database.run(_SQL[statement], parameters)

    def _columns(self) -> set[str]:
        return {row["name"] for row in self._query("columns")}


def _fence(claims: Iterable[Claim]) -> dict[str, list[int]]:
    """Only the claims that still stand change their jobs. In one order, so that two never wait for each other."""
    pairs = sorted((claim.id, claim.number) for claim in claims)
    return {"ids": [id for id, _number in pairs], "numbers": [number for _id, number in pairs]}


def _stored(row: Row) -> StoredJob:
    moments = {name: value.timestamp() for name, value in row.items() if isinstance(value, datetime)}
    return stored_job(row | moments)
