"""Tests for `melee.jobs.upkeep`, on a real store; time is the test's."""

from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
import structlog

from melee import log
from melee.clock import ManualClock
from melee.jobs.cron import CronJob, Schedule
from melee.jobs.sqlite_store import SqliteStore
from melee.jobs.store import NewJob, Stats, Wanted
from melee.jobs.upkeep import Upkeep
from melee.store.connection import Connection
from melee.store.database import Database

MAIL = Wanted(["default"], ["mail"])


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store(tmp_path: Path, clock: ManualClock) -> Iterator[SqliteStore]:
    connection = Connection(tmp_path / "app.sqlite3")
    store = SqliteStore(Database(connection), clock)
    store.create()
    yield store
    connection.close()


@pytest.fixture
def logged() -> Iterator[StringIO]:
    before, stream = structlog.get_config(), StringIO()
    log.to_lines(stream)
    yield stream
    structlog.configure(**before)


@pytest.fixture
def upkeep(clock: ManualClock) -> Upkeep:
    return Upkeep(["mail"], [], clock, 30)


def test_leases_are_renewed_six_times_in_a_lease(upkeep: Upkeep, store: SqliteStore, clock: ManualClock) -> None:
    store.insert([NewJob("mail", "{}")])
    held = store.claim(MAIL, 1, 30, "host/1")
    for _renewal in range(20):
        clock.move(4.9)
        assert upkeep.renew(store, held) == set()
        clock.move(0.2)
        assert upkeep.next_at <= clock.elapsed()
        assert upkeep.renew(store, held) == set()
        assert store.reap() == []


def test_claims_that_do_not_stand_are_told_apart_from_newer_ones(
    upkeep: Upkeep, store: SqliteStore, clock: ManualClock
) -> None:
    store.insert([NewJob("mail", "{}"), NewJob("mail", "{}")])
    lost, gone = store.claim(MAIL, 2, 30, "host/1")
    clock.move(31)
    store.reap()
    store.discard(gone.id)
    (new,) = store.claim(MAIL, 2, 30, "host/1")
    assert upkeep.renew(store, [lost, gone, new]) == {lost, gone}


def test_leases_are_in_doubt_when_they_were_not_renewed_in_time(
    upkeep: Upkeep, store: SqliteStore, clock: ManualClock
) -> None:
    sure = []
    for seconds in (29.9, 0.2):
        clock.move(seconds)
        sure.append(upkeep.are_leases_sure)
    upkeep.renew(store, [])
    assert [*sure, upkeep.are_leases_sure] == [True, False, True]


def test_what_others_left_is_picked_up_from_time_to_time(
    upkeep: Upkeep, store: SqliteStore, clock: ManualClock
) -> None:
    store.insert([NewJob("mail", "{}")])
    store.claim(MAIL, 1, 3, "host/1")
    assert not upkeep.reap(store)
    clock.move(4)
    assert not upkeep.reap(store)
    clock.move(1)
    assert upkeep.reap(store)
    assert not upkeep.reap(store)


def test_it_looks_when_the_next_job_is_due(upkeep: Upkeep, store: SqliteStore, clock: ManualClock) -> None:
    upkeep.look_ahead(store)
    assert not upkeep.take_due()
    store.insert([NewJob("mail", "{}", in_seconds=20)])
    upkeep.look_ahead(store)
    clock.move(19.9)
    assert not upkeep.take_due()
    clock.move(0.1)
    assert upkeep.take_due()
    assert not upkeep.take_due()


def test_it_looks_once_a_minute_at_least(upkeep: Upkeep, store: SqliteStore, clock: ManualClock) -> None:
    store.insert([NewJob("mail", "{}", in_seconds=3600)])
    upkeep.look_ahead(store)
    # Somebody sets the clock forward, and no time passes.
    clock.step_to(clock.now() + 4000)
    assert not upkeep.take_due()
    clock.move(60)
    assert upkeep.take_due()


def test_cron_jobs_are_enqueued_at_their_times(store: SqliteStore, clock: ManualClock) -> None:
    crons = [
        CronJob(Schedule("*/10 * * * *"), NewJob("mail", "ten")),
        CronJob(Schedule("0 * * * *"), NewJob("mail", "hour")),
    ]
    upkeep = Upkeep(["mail"], crons, clock, 30)
    for _second in range(3600):
        upkeep.tick(store)
        clock.move(1)
    upkeep.tick(store)
    assert [job.payload for job in store.waiting(None, 10)] == ["ten"] * 6 + ["hour"]
    # Down from 08:01 for three days.
    clock.move(3 * 86_400)
    upkeep.tick(store)
    assert store.per_name() == {"mail": Stats(9, 0, 0)}


def test_each_unknown_name_is_spoken_of_once(
    upkeep: Upkeep, store: SqliteStore, clock: ManualClock, logged: StringIO
) -> None:
    store.insert([NewJob("mail", "{}"), NewJob("old", "{}"), NewJob("older", "{}")])
    for _minute in range(3):
        upkeep.speak_of_unknown(store)
        clock.move(60)
    store.insert([NewJob("oldest", "{}")])
    upkeep.speak_of_unknown(store)
    assert logged.getvalue().splitlines() == [
        "warning: jobs are queued that no registered class runs names=old older",
        "warning: jobs are queued that no registered class runs names=oldest",
    ]
