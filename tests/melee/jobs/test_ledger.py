"""Tests for `melee.jobs.ledger`, on a real store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from melee.clock import ManualClock
from melee.errors import DatabaseError
from melee.jobs.job import Job
from melee.jobs.ledger import Ledger
from melee.jobs.sqlite_store import SqliteStore
from melee.jobs.store import Claim, NewJob, Stats, Wanted
from melee.store.connection import Connection
from melee.store.database import Database


class Mail(Job):
    NAME = "mail"
    JITTER = 0.5

    def run(self, resources: object) -> None: ...


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    connection = Connection(tmp_path / "app.sqlite3")
    yield connection
    connection.close()


@pytest.fixture
def store(connection: Connection, clock: ManualClock) -> SqliteStore:
    store = SqliteStore(Database(connection), clock)
    store.create()
    return store


@pytest.fixture
def ledger() -> Ledger:
    return Ledger({"mail": Mail})


def taken(ledger: Ledger, store: SqliteStore, jobs: int = 1, max_attempts: int = 5) -> list[Claim]:
    store.insert([NewJob("mail", "{}", max_attempts=max_attempts)] * jobs)
    return claimed(ledger, store)


def claimed(ledger: Ledger, store: SqliteStore) -> list[Claim]:
    claims = store.claim(Wanted(["default"], ["mail"]), 10, 30, "host/1")
    ledger.take(claims)
    return claims


def test_what_became_of_claims_is_written_down_at_once(ledger: Ledger, store: SqliteStore, clock: ManualClock) -> None:
    done, failed, hopeless, back = taken(ledger, store, 4)
    ledger.done([done])
    ledger.failed(failed, "no route")
    ledger.failed(hopeless, "no fit", is_final=True)
    ledger.give_back([back])
    assert (ledger.unwritten, ledger.given_back, ledger.has_failures, len(ledger.held)) == (4, 1, True, 4)
    ledger.write(store)
    assert (ledger.unwritten, ledger.given_back, ledger.has_failures, ledger.held) == (0, 0, False, [])
    jobs = {job.id: job for job in [*store.waiting(None, 10), *store.failed(10)]}
    assert done.id not in jobs
    assert (jobs[back.id].status, jobs[back.id].attempts) == ("queued", 0)
    assert (jobs[hopeless.id].status, jobs[hopeless.id].last_error) == ("failed", "no fit")
    assert (jobs[failed.id].status, jobs[failed.id].attempts) == ("queued", 1)
    assert 5 <= jobs[failed.id].due_at - clock.now() <= 7.5


def test_a_failure_of_the_last_attempt_is_final(ledger: Ledger, store: SqliteStore) -> None:
    (claim,) = taken(ledger, store, max_attempts=1)
    ledger.failed(claim, "no route")
    ledger.write(store)
    assert store.per_name() == {"mail": Stats(0, 0, 1)}


def test_nothing_is_forgotten_when_it_cannot_be_written(
    ledger: Ledger, store: SqliteStore, connection: Connection
) -> None:
    done, failed = taken(ledger, store, 2)
    ledger.done([done])
    ledger.failed(failed, "no route")
    connection.execute("ALTER TABLE melee_jobs RENAME TO gone", ())
    with pytest.raises(DatabaseError):
        ledger.write(store)
    assert (ledger.unwritten, len(ledger.held)) == (2, 2)
    connection.execute("ALTER TABLE gone RENAME TO melee_jobs", ())
    ledger.write(store)
    assert (ledger.unwritten, ledger.held) == (0, [])
    assert store.per_name() == {"mail": Stats(1, 0, 0)}


def test_a_job_that_was_lost_and_is_claimed_anew_is_held_twice_until_that_is_known(
    ledger: Ledger, store: SqliteStore, clock: ManualClock
) -> None:
    (old,) = taken(ledger, store)
    clock.move(31)
    store.reap()
    (new,) = claimed(ledger, store)
    assert ledger.held == [old, new]
    ledger.done([old])
    ledger.write(store)
    # The old run changes nothing, and the new one's lease is renewed all the same.
    assert ledger.held == [new]
    assert store.per_name() == {"mail": Stats(0, 1, 0)}


def test_what_becomes_of_a_claim_that_stands_no_more_is_of_no_interest(ledger: Ledger, store: SqliteStore) -> None:
    claims = taken(ledger, store, 3)
    ledger.drop(claims)
    ledger.done(claims[:1])
    ledger.failed(claims[1], "no route")
    ledger.give_back(claims[2:])
    assert (ledger.unwritten, ledger.held) == (0, [])
