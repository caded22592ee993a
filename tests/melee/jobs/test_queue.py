"""Tests for `melee.jobs.queue`: what an app says of its jobs, and does with them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from melee.clock import ManualClock
from melee.errors import DefinitionError, ShapeError, TimerError
from melee.jobs.job import Job
from melee.jobs.queue import Jobs
from melee.jobs.sqlite_store import SqliteStore
from melee.jobs.store import Failure, Stats, Wanted
from melee.store.connection import Connection
from melee.store.database import Database


class Mail(Job):
    NAME = "mail"
    PRIORITY = 3
    MAX_ATTEMPTS = 7
    QUEUE = "post"
    to: int

    def unique_key(self) -> str | None:
        return str(self.to) if self.to else None

    def run(self, resources: object) -> None: ...


class Digest(Job):
    NAME = "digest"
    period: str

    def run(self, resources: object) -> None: ...


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    connection = Connection(tmp_path / "app.sqlite3")
    yield Database(connection)
    connection.close()


@pytest.fixture
def jobs(database: Database, clock: ManualClock) -> Jobs:
    store = SqliteStore(database, clock)
    store.create()
    jobs = Jobs(lambda: store)
    jobs.register(Mail)
    return jobs


def test_a_job_is_stored_as_its_class_says(jobs: Jobs, clock: ManualClock) -> None:
    assert jobs.enqueue(Mail(1))
    (job,) = jobs.waiting()
    assert (job.name, job.queue, job.priority, job.max_attempts) == ("mail", "post", 3, 7)
    assert (job.payload, job.unique_key, job.due_at) == ('{"to":1}', "1", clock.now())
    assert jobs.get(job.id) == job
    assert jobs.waiting(Mail, 1) == [job]


def test_a_duplicate_is_not_stored(jobs: Jobs) -> None:
    assert [jobs.enqueue(Mail(1)), jobs.enqueue(Mail(1)), jobs.enqueue(Mail(2))] == [True, False, True]
    assert jobs.enqueue_many([Mail(2), Mail(3), Mail(0), Mail(0)]) == [False, True, True, True]
    assert jobs.enqueue_many([]) == []
    assert jobs.stats() == Stats(queued=5, running=0, failed=0)


def test_a_job_for_later(jobs: Jobs, clock: ManualClock) -> None:
    assert jobs.enqueue_in(Mail(1), 90)
    assert jobs.enqueue_at(Mail(2), datetime(2030, 1, 2, 1, tzinfo=UTC))
    assert [job.due_at - clock.now() for job in jobs.waiting()] == [90, 25 * 3600]


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), 1_893_456_000_000])
def test_seconds_that_are_no_pause_are_refused(jobs: Jobs, seconds: float) -> None:
    with pytest.raises(TimerError, match="pass a number of seconds from now"):
        jobs.enqueue_in(Mail(1), seconds)


def test_a_moment_without_a_zone_is_refused(jobs: Jobs) -> None:
    naive = datetime(2030, 1, 1, tzinfo=UTC).replace(tzinfo=None)
    for when in (naive, timedelta(1), 1_893_456_000):
        with pytest.raises(TimerError, match="pass a datetime with a time zone"):
            jobs.enqueue_at(Mail(1), when)  # type: ignore[arg-type]


def test_a_class_that_is_not_registered_is_named(jobs: Jobs) -> None:
    with pytest.raises(DefinitionError, match=r"app\.jobs\.register\(Digest\)"):
        jobs.enqueue(Digest("daily"))
    with pytest.raises(ShapeError, match="is no job"):
        jobs.enqueue("digest")  # type: ignore[arg-type]


def test_fields_that_are_not_what_the_class_says_are_refused(jobs: Jobs) -> None:
    with pytest.raises(ShapeError, match="Mail"):
        jobs.enqueue(Mail("one"))  # type: ignore[arg-type]
    assert jobs.stats() == Stats(0, 0, 0)


def test_two_classes_of_one_name_are_refused(jobs: Jobs) -> None:
    class Other(Job):
        NAME = "mail"

        def run(self, resources: object) -> None: ...

    assert jobs.register(Mail) is Mail
    with pytest.raises(DefinitionError, match="is called 'mail', too"):
        jobs.register(Other)


def test_a_cron_job_registers_its_class_and_keeps_its_payload(jobs: Jobs) -> None:
    digest = Digest("daily")
    jobs.cron("0 8 * * MON-FRI", digest)
    digest.period = "changed"
    jobs.cron("CRON_TZ=+01:00 0 8 * * MON", Digest("weekly"))
    assert [cron.job.payload for cron in jobs.cron_jobs] == ['{"period":"daily"}', '{"period":"weekly"}']
    assert jobs.queues() == ["default", "post"]


def test_one_class_twice_on_one_expression_is_refused(jobs: Jobs) -> None:
    jobs.cron("0 8 * * *", Digest("daily"))
    with pytest.raises(DefinitionError, match="Digest is on this schedule already"):
        jobs.cron("0 8 * * *", Digest("weekly"))
    jobs.cron("0 8 * * *", Mail(1))


def test_failures_are_shown_and_done_away_with(jobs: Jobs) -> None:
    jobs.enqueue_many([Mail(1), Mail(2)])
    store = jobs._store()
    first, second = store.claim(Wanted(["post"], ["mail"]), 2, 30, "host/1")
    store.fail([Failure(first, "no route", None), Failure(second, "no route", None)])
    assert [job.last_error for job in jobs.failed()] == ["no route", "no route"]
    assert len(jobs.failed(1)) == 1
    assert jobs.retry(first.id)
    assert not jobs.retry(first.id)
    assert jobs.discard(first.id)
    assert not jobs.discard(first.id)
    assert jobs.get(first.id) is None
    retried = jobs.retry_failed()
    assert (retried.queued, retried.left) == (1, 0)
