"""Jobs in the app's SQLite database."""

import heapq
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from melee.clock import Clock
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

_SQL = read_statements("sqlite.sql")
# A table of an older version gets what it lacks; SQLite adds columns only with a default that never changes.
_COLUMNS = {
    "queue": "TEXT NOT NULL DEFAULT 'default'",
    "priority": "INTEGER NOT NULL DEFAULT 0",
    "unique_key": "TEXT",
    "max_attempts": "INTEGER NOT NULL DEFAULT 5",
    "is_due": "INTEGER NOT NULL DEFAULT false",
    "claims": "INTEGER NOT NULL DEFAULT 0",
    "worker": "TEXT",
    "leased_until": "REAL",
    "failed_at": "REAL",
}


class SqliteStore:
    """See `Store`. SQLite lets one connection write at a time, so no job can be claimed twice.

    Args:
        database: of the app, on a connection of this process.
        clock: decides what is due. The processes of one machine share theirs.
        stored: hears the names of the jobs that were inserted, in the transaction that is open then.
    """

    def __init__(self, database: Database, clock: Clock, stored: Stored = lambda _names: None) -> None:
        self._database, self._clock, self._stored = database, clock, stored

    def create(self) -> None:
        if _COLUMNS.keys() <= self._columns():
            return
        with self._database.transaction():
            self._run("jobs_table")
            self._run("cron_table")
            present = self._columns()
            for name, definition in _COLUMNS.items():
                if name not in present:
                    self._database.run(f"ALTER TABLE melee_jobs ADD COLUMN {name} {definition}")
            for index in ("claim_index", "due_index", "lease_index", "failed_index", "key_index"):
                self._run(index)

    def insert(self, jobs: Sequence[NewJob]) -> list[bool]:
        now = self.now()
        with self._database.transaction():
            stored = [bool(self._query("insert", _parameters(job, now))) for job in jobs]
        self._stored([job.name for job, is_stored in zip(jobs, stored, strict=True) if is_stored])
        return stored

    def claim(self, wanted: Wanted, at_most: int, lease_seconds: float, worker: str) -> list[Claim]:
        now, names = self.now(), json.dumps(wanted.names)
        with self._database.transaction():
            self._run("let_due", now=now)
            candidates = [
                (-row["priority"], row["id"])
                for queue in wanted.queues
                for row in self._query("candidates", {"queue": queue, "names": names, "at_most": at_most})
            ]
            if not candidates:
                return []
            ids = [id for _priority, id in heapq.nsmallest(at_most, candidates)]
            rows = self._query(
                "claim",
                {
                    "ids": json.dumps(ids),
                    "now": now,
                    "lease_seconds": lease_seconds,
                    "worker": worker,
                    "released_names": json.dumps(wanted.released_names),
                },
            )
        rows.sort(key=lambda row: (-row.pop("priority"), row["id"]))
        return [Claim(**row) for row in rows]

    def renew(self, claims: Sequence[Claim], lease_seconds: float) -> set[int]:
        now = self.now()
        with self._database.transaction():
            return {
                claim.id
                for claim in claims
                if self._run("renew", now=now, lease_seconds=lease_seconds, **_fence(claim))
            }

    def succeed(self, claims: Sequence[Claim]) -> int:
        ids: defaultdict[int, list[int]] = defaultdict(list)
        for claim in claims:
            ids[claim.number].append(claim.id)
        # Nearly all are claimed for the first time, so this is one statement.
        return self._each("succeed", ({"number": number, "ids": json.dumps(of_it)} for number, of_it in ids.items()))

    def fail(self, failures: Sequence[Failure]) -> int:
        now = self.now()
        return self._each(
            "fail",
            (
                {"now": now, "error": storable(failure.error), "again_in_seconds": failure.again_in_seconds}
                | _fence(failure.claim)
                for failure in failures
            ),
        )

    def release(self, claims: Sequence[Claim]) -> int:
        return self._each("release", map(_fence, claims))

    def reap(self) -> list[StoredJob]:
        with self._database.transaction():
            rows = self._query("reap", {"now": self.now()})
            return [stored_job(row) for left in rows for row in self._query("get", left)]

    def next_due_at(self) -> float | None:
        moment: float | None = self._query("next_due_at", {})[0]["next_due_at"]
        return moment

    def next_lease_end_at(self) -> float | None:
        moment: float | None = self._query("next_lease_end_at", {})[0]["next_lease_end_at"]
        return moment

    def tick(self, name: str, expression: str, after: Callable[[float], float], job: NewJob) -> float:
        now = self.now()
        row = {"job": name, "expression": expression, "next_at": after(now)}
        with self._database.transaction():
            self._run("plan_tick", **row)
            if self._query("take_tick", row | {"now": now}):
                self.insert([job])
            next_at: float = self._query("next_tick", {"job": name, "expression": expression})[0]["next_at"]
        return next_at

    def per_name(self) -> dict[str, Stats]:
        return stats_per_name(self._query("per_name", {}))

    def first_names(self) -> set[str]:
        return {row["name"] for row in self._query("first_names", {})}

    def get(self, id: int) -> StoredJob | None:
        rows = self._query("get", {"id": id})
        return stored_job(rows[0]) if rows else None

    def failed(self, at_most: int) -> list[StoredJob]:
        return [stored_job(row) for row in self._query("failed", {"at_most": at_most})]

    def waiting(self, name: str | None, at_most: int) -> list[StoredJob]:
        return [stored_job(row) for row in self._query("waiting", {"name": name, "at_most": at_most})]

    def discard(self, id: int) -> bool:
        return self._run("discard", id=id) > 0

    def retry(self, id: int) -> bool:
        return self._run("retry", id=id, now=self.now()) > 0

    def retry_failed(self) -> Retried:
        with self._database.transaction():
            queued = self._run("retry_failed", now=self.now())
            return Retried(queued, self._query("failed_count", {})[0]["jobs"])

    def now(self) -> float:
        return self._clock.now()

    def _each(self, statement: str, rows: Iterable[Mapping[str, Any]]) -> int:
        with self._database.transaction():
            return sum(self._run(statement, **row) for row in rows)

    def _query(self, statement: str, parameters: Mapping[str, Any]) -> list[Row]:
        return self._database.query(_SQL[statement], dict(parameters))

    def _run(self, statement: str, **parameters: Any) -> int:
        return self._database.run(_SQL[statement], parameters)

    def _columns(self) -> set[str]:
        return {row["name"] for row in self._query("columns", {})}


def _fence(claim: Claim) -> dict[str, int]:
    """Only the claim that still stands changes its job."""
    return {"id": claim.id, "number": claim.number}


def _parameters(job: NewJob, now: float) -> dict[str, Any]:
    return {
        "name": job.name,
        "payload": job.payload,
        "queue": job.queue,
        "priority": job.priority,
        "unique_key": job.unique_key,
        "max_attempts": job.max_attempts,
        "now": now,
        "due_at": now + job.in_seconds if job.at is None else job.at,
    }
