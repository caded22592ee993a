"""What every store of jobs has to do. `test_sqlite_store` and `test_postgres_store` run it on theirs."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial

import pytest

from melee.clock import ManualClock
from melee.errors import DatabaseError
from melee.jobs.store import Claim, Failure, NewJob, Stats, Store, Wanted
from melee.store.database import Database

LEASE_SECONDS = 30
EVERY = Wanted(["default"], ["mail"])


@dataclass
class Opened:
    """A store on a connection of its own."""

    store: Store
    database: Database

    def claim(self, at_most: int = 10, wanted: Wanted = EVERY) -> list[Claim]:
        return self.store.claim(wanted, at_most, LEASE_SECONDS, "host/1")

    def payloads(self, at_most: int = 10, wanted: Wanted = EVERY) -> list[str]:
        return [claim.payload for claim in self.claim(at_most, wanted)]

    def fail(self, claim: Claim, again_in_seconds: float | None = None, error: str = "no route") -> int:
        return self.store.fail([Failure(claim, error, again_in_seconds)])

    def stats(self) -> Stats:
        every = self.store.per_name().values()
        return Stats(sum(s.queued for s in every), sum(s.running for s in every), sum(s.failed for s in every))


class Interrupted(Exception):
    pass


Opening = Callable[[], AbstractContextManager[Opened]]


def mail(payload: str = "{}", key: str | None = None, priority: int = 0, **fields: object) -> NewJob:
    return NewJob("mail", payload, unique_key=key, priority=priority, **fields)  # type: ignore[arg-type]


class StoreSuite:
    """Its fixtures: `opening`, which opens a store on the same database as often as it is called; `opened`, one that
    is open; `clock`, by which the store goes."""

    # What is claimed, and in which order.

    def test_a_job_is_claimed_once(self, opened: Opened) -> None:
        assert opened.store.insert([mail('{"to":1}')]) == [True]
        (claim,) = opened.claim()
        assert (claim.name, claim.payload, claim.attempt, claim.max_attempts) == ("mail", '{"to":1}', 1, 5)
        assert opened.claim() == []

    def test_the_highest_priority_comes_first_and_then_the_oldest(self, opened: Opened) -> None:
        opened.store.insert(
            [mail("1", priority=-5), mail("2"), mail("3", priority=10), mail("4"), mail("5", priority=10)]
        )
        assert opened.payloads(2) == ["3", "5"]
        assert opened.payloads() == ["2", "4", "1"]

    def test_of_many_stored_at_once_the_first_is_the_oldest_whatever_their_keys(self, opened: Opened) -> None:
        opened.store.insert([mail("1", key="b"), NewJob("a", "2"), mail("3", key="a"), mail("4", key="b"), mail("5")])
        assert opened.payloads(wanted=Wanted(["default"], ["mail", "a"])) == ["1", "2", "3", "5"]

    def test_payloads_come_out_as_they_went_in(self, opened: Opened) -> None:
        payloads = ['{"a":"\\\\\\""}', "{,}", "NULL", "", "\\", '"', "é\n\t'$1 ?:a", "\U0001f600"]
        opened.store.insert([mail(payload) for payload in payloads])
        assert opened.payloads() == payloads

    def test_a_flood_of_high_priority_holds_up_the_low_one(self, opened: Opened) -> None:
        opened.store.insert([mail("low")])
        for _wave in range(3):
            opened.store.insert([mail("high", priority=1) for _ in range(10)])
            assert opened.payloads(10) == ["high"] * 10
        assert opened.payloads(10) == ["low"]

    def test_priority_counts_across_queues(self, opened: Opened) -> None:
        opened.store.insert([mail("1", queue="a"), mail("2", queue="b", priority=1), mail("3", queue="c", priority=9)])
        assert opened.payloads(2, Wanted(["a", "b"], ["mail"])) == ["2", "1"]

    def test_another_name_or_queue_is_left_and_holds_up_nothing(self, opened: Opened) -> None:
        opened.store.insert([NewJob("unknown", "1", priority=9), mail("2", queue="search"), mail("3")])
        assert opened.payloads(1) == ["3"]
        assert opened.claim() == []
        assert opened.store.per_name()["unknown"] == Stats(queued=1, running=0, failed=0)
        assert opened.store.first_names() == {"unknown", "mail"}

    def test_what_was_written_by_sql_is_claimed_too(self, opened: Opened, clock: ManualClock) -> None:
        opened.database.run("INSERT INTO melee_jobs (name, payload) VALUES ('mail', '7')")
        clock.step_to(opened.store.waiting("mail", 1)[0].due_at + 1)
        assert opened.payloads() == ["7"]

    def test_no_job_is_claimed_by_two(self, opened: Opened, opening: Opening) -> None:
        opened.store.insert([mail(str(number)) for number in range(300)])
        claimed: list[int] = []

        def work() -> None:
            with opening() as own:
                while claims := own.claim(7):
                    claimed.extend(claim.id for claim in claims)

        in_threads(work, work, work, work)
        assert len(claimed) == len(set(claimed)) == 300

    # Later.

    def test_a_job_for_later_is_claimed_when_it_is_due(self, opened: Opened, clock: ManualClock) -> None:
        now = clock.now()
        opened.store.insert([mail("1", in_seconds=60), mail("2", at=now + 90), mail("3", at=now - 10)])
        assert opened.payloads() == ["3"]
        assert opened.store.next_due_at() == now + 60
        clock.move(59.9)
        assert opened.claim() == []
        clock.move(0.1)
        assert opened.payloads() == ["1"]
        assert opened.store.next_due_at() == now + 90
        clock.move(30)
        assert opened.payloads() == ["2"]
        assert opened.store.next_due_at() is None

    # Leases.

    def test_a_lost_worker_costs_an_attempt_when_its_lease_ends(self, opened: Opened, clock: ManualClock) -> None:
        opened.store.insert([mail()])
        opened.claim()
        clock.move(LEASE_SECONDS)
        assert opened.store.reap() == []
        clock.move(0.1)
        (left,) = opened.store.reap()
        assert (left.status, left.attempts, left.worker) == ("queued", 1, None)
        assert "its worker was lost during attempt 1" in (left.last_error or "")
        (claim,) = opened.claim()
        assert claim.attempt == 2

    def test_it_is_known_when_the_first_lease_ends(self, opened: Opened, clock: ManualClock) -> None:
        opened.store.insert([mail("1"), mail("2")])
        assert opened.store.next_lease_end_at() is None
        now = clock.now()
        (first,) = opened.claim(1)
        clock.move(5)
        (second,) = opened.claim(1)
        assert opened.store.next_lease_end_at() == pytest.approx(now + LEASE_SECONDS)
        opened.store.succeed([first])
        assert opened.store.next_lease_end_at() == pytest.approx(now + 5 + LEASE_SECONDS)
        opened.store.succeed([second])
        assert opened.store.next_lease_end_at() is None

    def test_a_lease_that_is_renewed_does_not_end(self, opened: Opened, clock: ManualClock) -> None:
        opened.store.insert([mail()])
        (claim,) = opened.claim()
        for _minute in range(3):
            clock.move(20)
            assert opened.store.renew([claim], LEASE_SECONDS) == {claim.id}
            assert opened.store.reap() == []

    def test_a_lease_that_ends_on_the_last_attempt_is_a_failure(self, opened: Opened, clock: ManualClock) -> None:
        opened.store.insert([mail(max_attempts=1)])
        opened.claim()
        clock.move(LEASE_SECONDS + 1)
        (left,) = opened.store.reap()
        assert left.status == "failed"
        assert [job.id for job in opened.store.failed(10)] == [left.id]

    def test_the_worker_that_just_finished_wins_over_the_reaper(self, opened: Opened, clock: ManualClock) -> None:
        opened.store.insert([mail()])
        claims = opened.claim()
        clock.move(LEASE_SECONDS + 1)
        assert opened.store.succeed(claims) == 1
        assert opened.store.reap() == []
        assert opened.stats() == Stats(0, 0, 0)

    # Acknowledgements.

    def test_a_claim_that_no_longer_stands_changes_nothing(self, opened: Opened, clock: ManualClock) -> None:
        opened.store.insert([mail()])
        (old,) = opened.claim()
        clock.move(LEASE_SECONDS + 1)
        opened.store.reap()
        (new,) = opened.claim()
        assert opened.store.succeed([old]) == 0
        assert opened.fail(old) == 0
        assert opened.store.release([old]) == 0
        assert opened.store.renew([old, new], LEASE_SECONDS) == {new.id}
        assert opened.stats() == Stats(queued=0, running=1, failed=0)
        assert opened.store.succeed([new]) == 1

    def test_a_claim_of_an_earlier_life_changes_nothing(self, opened: Opened, clock: ManualClock) -> None:
        # Both lives have a first attempt.
        opened.store.insert([mail(max_attempts=1)])
        (old,) = opened.claim()
        clock.move(LEASE_SECONDS + 1)
        opened.store.reap()
        assert opened.store.retry(old.id)
        (new,) = opened.claim()
        assert (old.attempt, new.attempt) == (1, 1)
        assert opened.store.succeed([old]) == 0
        assert opened.store.succeed([new]) == 1

    def test_a_job_that_failed_is_queued_again_for_later(self, opened: Opened, clock: ManualClock) -> None:
        opened.store.insert([mail()])
        (claim,) = opened.claim()
        assert opened.fail(claim, again_in_seconds=20) == 1
        clock.move(19)
        assert opened.claim() == []
        clock.move(1)
        (again,) = opened.claim()
        assert (again.id, again.attempt) == (claim.id, 2)

    def test_failures_are_kept_with_their_errors_the_newest_first(self, opened: Opened, clock: ManualClock) -> None:
        opened.store.insert([mail("1"), mail("2"), mail("3")])
        first, second, third = opened.claim()
        for claim, error in ((second, "b"), (third, "c\0\udcff"), (first, "a")):
            opened.fail(claim, error=error)
            clock.move(1)
        assert [(job.payload, (job.last_error or "")[0]) for job in opened.store.failed(2)] == [("1", "a"), ("3", "c")]
        assert opened.stats() == Stats(0, 0, 3)

    def test_many_failures_keep_each_its_own_error(self, opened: Opened) -> None:
        opened.store.insert([mail("1"), mail("2"), mail("3")])
        claims = opened.claim()
        opened.store.fail([Failure(claim, f"of {claim.payload}", None) for claim in reversed(claims)])
        assert {job.payload: job.last_error for job in opened.store.failed(3)} == {
            "1": "of 1",
            "2": "of 2",
            "3": "of 3",
        }

    def test_a_job_that_is_given_back_has_lost_no_attempt(self, opened: Opened) -> None:
        opened.store.insert([mail()])
        assert opened.store.release(opened.claim()) == 1
        (claim,) = opened.claim()
        assert claim.attempt == 1

    def test_a_job_that_is_done_is_gone(self, opened: Opened) -> None:
        opened.store.insert([mail()])
        (claim,) = opened.claim()
        assert opened.store.succeed([claim]) == 1
        assert opened.store.get(claim.id) is None

    # Unique keys.

    def test_a_key_is_held_until_its_job_is_done(self, opened: Opened) -> None:
        assert opened.store.insert([mail(key="a"), mail(key="b"), mail(key="a")]) == [True, True, False]
        assert opened.store.insert([mail(key="a"), NewJob("other", "", unique_key="a")]) == [False, True]
        claims = opened.claim()
        assert opened.store.insert([mail(key="a")]) == [False]
        opened.store.succeed(claims)
        assert opened.store.insert([mail(key="a")]) == [True]

    def test_a_key_is_held_between_two_attempts_and_free_after_the_last(self, opened: Opened) -> None:
        opened.store.insert([mail(key="a")])
        (claim,) = opened.claim()
        opened.fail(claim, again_in_seconds=0)
        assert opened.store.insert([mail(key="a")]) == [False]
        (claim,) = opened.claim()
        opened.fail(claim)
        assert opened.store.insert([mail(key="a")]) == [True]

    def test_a_key_for_the_queue_alone_is_free_when_its_job_begins(self, opened: Opened) -> None:
        opened.store.insert([mail("1", key="a")])
        assert opened.payloads(wanted=Wanted(["default"], ["mail"], released_names=["mail"])) == ["1"]
        assert opened.store.insert([mail("2", key="a"), mail("3", key="a")]) == [True, False]
        assert opened.payloads() == ["2"]

    def test_failed_jobs_are_queued_again_but_for_those_whose_key_is_held(self, opened: Opened) -> None:
        opened.store.insert([mail("1", key="a"), mail("2"), mail("3", key="b")])
        for claim in opened.claim():
            opened.fail(claim)
        opened.store.insert([mail("4", key="a")])
        retried = opened.store.retry_failed()
        assert (retried.queued, retried.left) == (2, 1)
        assert sorted(opened.payloads()) == ["2", "3", "4"]
        (left,) = opened.store.failed(10)
        assert not opened.store.retry(left.id)

    def test_of_two_failed_jobs_with_one_key_the_newer_is_queued_again(self, opened: Opened) -> None:
        for payload in ("1", "2"):
            opened.store.insert([mail(payload, key="a")])
            (claim,) = opened.claim()
            opened.fail(claim)
        retried = opened.store.retry_failed()
        assert (retried.queued, retried.left) == (1, 1)
        assert opened.payloads() == ["2"]

    def test_one_that_is_retried_has_all_its_attempts_again(self, opened: Opened) -> None:
        opened.store.insert([mail(max_attempts=2)])
        for _attempt in range(2):
            (claim,) = opened.claim()
            opened.fail(claim, again_in_seconds=None if claim.attempt == 2 else 0)
        assert opened.store.retry(claim.id)
        assert not opened.store.retry(claim.id)
        (claim,) = opened.claim()
        assert claim.attempt == 1

    def test_many_with_the_same_keys_are_stored_from_two_sides_without_a_deadlock(
        self, opened: Opened, opening: Opening
    ) -> None:
        keys = [str(number) for number in range(200)]
        stored: list[bool] = []
        begun = threading.Barrier(2)

        def store(order: list[str]) -> None:
            with opening() as own:
                begun.wait(30)
                stored.extend(own.store.insert([mail(key=key) for key in order]))

        for _round in range(5):
            in_threads(lambda: store(keys), lambda: store(keys[::-1]))
        assert opened.stats() == Stats(200, 0, 0)
        assert (len(stored), stored.count(True)) == (2000, 200)

    # All at once.

    def test_eight_writers_and_a_worker_are_never_locked_out(self, opened: Opened, opening: Opening) -> None:
        writing = threading.Semaphore(0)
        done: list[int] = []

        def write() -> None:
            with opening() as own:
                for number in range(50):
                    own.store.insert([mail(str(number))])
            writing.release()

        def work() -> None:
            with opening() as own:
                while len(done) < 400:
                    claims = own.claim(20)
                    assert own.store.succeed(claims) == len(claims)
                    done.extend(claim.id for claim in claims)

        in_threads(*[write] * 8, work)
        assert len(done) == len(set(done)) == 400

    def test_whatever_workers_do_at_once_each_job_is_done_once_and_nothing_waits_in_a_circle(
        self, opened: Opened, opening: Opening, clock: ManualClock
    ) -> None:
        opened.store.insert([mail(key=str(number), max_attempts=10_000) for number in range(120)])
        done: list[int] = []

        def work(seed: int) -> None:
            choice = random.Random(seed)
            with opening() as own:
                while len(done) < 120:
                    claims = own.claim(10)
                    choice.shuffle(claims)
                    own.store.renew(claims[:6], LEASE_SECONDS)
                    done.extend([1] * own.store.succeed(claims[:3]))
                    own.store.fail([Failure(claim, "no route", 0) for claim in claims[3:5]])
                    own.store.release(claims[5:8])
                    # The rest is left behind. Whoever comes next finds it, and a late word changes nothing.
                    clock.move(LEASE_SECONDS + 1)
                    own.store.reap()
                    assert own.store.succeed(claims[:8]) == 0

        in_threads(*[partial(work, seed) for seed in range(4)])
        assert len(done) == 120
        assert opened.stats() == Stats(0, 0, 0)

    # Transactions.

    def test_a_job_shares_the_fate_of_the_transaction_around_it(self, opened: Opened) -> None:
        with suppress(Interrupted), opened.database.transaction():
            opened.store.insert([mail()])
            raise Interrupted
        assert opened.stats() == Stats(0, 0, 0)
        with opened.database.transaction():
            opened.store.insert([mail()])
        assert opened.stats() == Stats(1, 0, 0)

    def test_of_many_all_are_stored_or_none(self, opened: Opened) -> None:
        with pytest.raises(DatabaseError):
            opened.store.insert([mail("1"), mail("2", priority=2**70)])
        assert opened.stats() == Stats(0, 0, 0)

    # Cron.

    def test_a_tick_stores_a_job_for_the_first_who_notices(self, opened: Opened, opening: Opening) -> None:
        assert opened.store.tick("mail", "* * * * *", minutely, mail("1")) == 1893456060
        assert opened.stats() == Stats(0, 0, 0)

    @pytest.mark.parametrize("ticks", [200, pytest.param(1000, marks=pytest.mark.slow)])
    def test_of_four_schedulers_one_stores_the_job_of_a_tick(
        self, opened: Opened, opening: Opening, clock: ManualClock, ticks: int
    ) -> None:
        opened.store.tick("mail", "* * * * *", minutely, mail())
        met = threading.Barrier(4, action=lambda: clock.move(60))

        def schedule() -> None:
            with opening() as own:
                for _tick in range(ticks):
                    met.wait(30)
                    own.store.tick("mail", "* * * * *", minutely, mail())
                    met_again.wait(30)

        met_again = threading.Barrier(4)
        in_threads(schedule, schedule, schedule, schedule)
        assert opened.stats() == Stats(ticks, 0, 0)

    def test_ticks_that_nobody_noticed_are_one_job(self, opened: Opened, clock: ManualClock) -> None:
        opened.store.tick("mail", "* * * * *", minutely, mail())
        clock.move(3 * 86_400)
        assert opened.store.tick("mail", "* * * * *", minutely, mail()) == clock.now() + 60
        opened.store.tick("mail", "* * * * *", minutely, mail())
        assert opened.stats() == Stats(1, 0, 0)

    def test_a_tick_whose_key_is_held_stores_nothing(self, opened: Opened, clock: ManualClock) -> None:
        opened.store.tick("mail", "* * * * *", minutely, mail(key="a"))
        for _minute in range(3):
            clock.move(60)
            opened.store.tick("mail", "* * * * *", minutely, mail(key="a"))
        assert opened.stats() == Stats(1, 0, 0)

    def test_another_expression_is_another_schedule(self, opened: Opened, clock: ManualClock) -> None:
        opened.store.tick("mail", "* * * * *", minutely, mail())
        clock.move(60)
        opened.store.tick("mail", "*/2 * * * *", minutely, mail())
        assert opened.stats() == Stats(0, 0, 0)

    # Looking, and doing away with.

    def test_a_job_is_shown_as_it_is(self, opened: Opened, clock: ManualClock) -> None:
        opened.store.insert([mail('{"a":1}', key="k", priority=3, in_seconds=5)])
        (job,) = opened.store.waiting(None, 10)
        assert opened.store.get(job.id) == job
        assert (job.status, job.payload, job.unique_key, job.priority) == ("queued", '{"a":1}', "k", 3)
        assert (job.enqueued_at, job.due_at) == (clock.now(), clock.now() + 5)
        clock.move(5)
        opened.claim()
        shown = opened.store.get(job.id)
        assert shown
        assert (shown.status, shown.attempts, shown.worker) == ("running", 1, "host/1")

    def test_what_waits_is_shown_in_the_order_of_its_turn(self, opened: Opened) -> None:
        opened.store.insert([mail("1")])
        opened.claim()
        opened.store.insert([mail("2"), NewJob("other", "3", priority=9), mail("4")])
        assert [job.payload for job in opened.store.waiting(None, 3)] == ["1", "3", "2"]
        assert [job.payload for job in opened.store.waiting("other", 10)] == ["3"]

    def test_a_job_that_is_discarded_is_gone_and_its_claim_stands_no_more(self, opened: Opened) -> None:
        opened.store.insert([mail()])
        (claim,) = opened.claim()
        assert opened.store.discard(claim.id)
        assert not opened.store.discard(claim.id)
        assert opened.store.renew([claim], LEASE_SECONDS) == set()
        assert opened.store.succeed([claim]) == 0

    # The table.

    def test_tables_are_made_by_several_at_once(self, opening: Opening, opened: Opened) -> None:
        opened.database.run("DROP TABLE melee_jobs")
        begun = threading.Barrier(4)

        def create() -> None:
            with opening() as own:
                begun.wait(30)
                own.store.create()

        in_threads(create, create, create, create)
        assert opened.store.insert([mail()]) == [True]

    def test_a_table_of_an_older_version_gets_what_it_lacks(self, opened: Opened) -> None:
        opened.store.insert([mail("old")])
        for index in ("to_claim", "unique"):
            opened.database.run(f"DROP INDEX melee_jobs_{index}")
        for column in ("queue", "priority", "unique_key"):
            opened.database.run(f"ALTER TABLE melee_jobs DROP COLUMN {column}")
        opened.store.create()
        (job,) = opened.store.waiting(None, 10)
        assert (job.payload, job.queue, job.priority, job.unique_key) == ("old", "default", 0, None)
        assert opened.store.insert([mail("new", key="a"), mail(key="a")]) == [True, False]
        assert opened.payloads() == ["old", "new"]


def each_use(store: Store) -> Iterator[str]:
    """What a worker does all the time, on a store with many jobs; gives the name of what was done last."""
    wanted = Wanted(["default", "search"], ["mail", "other"])
    claims = store.claim(wanted, 5, LEASE_SECONDS, "host/1")
    assert len(claims) == 5
    yield "claim"
    store.renew(claims, LEASE_SECONDS)
    yield "renew"
    assert store.succeed(claims[:1]) == 1
    yield "succeed"
    store.fail([Failure(claims[1], "no route", None), Failure(claims[2], "no route", 60)])
    yield "fail"
    store.release(claims[3:])
    yield "release"
    store.reap()
    yield "reap"
    store.next_due_at()
    yield "next_due_at"
    store.failed(20)
    yield "failed"
    store.get(claims[1].id)
    yield "get"
    store.retry(claims[1].id)
    yield "retry"
    store.discard(claims[1].id)
    yield "discard"


def minutely(moment: float) -> float:
    """The next full minute."""
    return moment // 60 * 60 + 60


def in_threads(*works: Callable[[], None]) -> None:
    """Runs all at once to their end; the error of one is the test's."""
    problems: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - shown by the test
            problems.append(error)

    threads = [threading.Thread(target=run, args=[work]) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
