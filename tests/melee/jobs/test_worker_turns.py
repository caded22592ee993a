"""Who waits for whom: slow jobs and quick ones, queues, priorities, workers."""

import pytest

from melee.jobs.store import NewJob, Stats
from tests.melee.gate import Gate
from tests.melee.jobs.working import Ear, Place, Working, is_done, until

TWO_QUEUES = """
[jobs.queues]
default = 1
other = 1
"""

SOMETIMES = """
@app.jobs.register
class Sometimes(Job):
    "Quick, but for one."
    NAME = "sometimes"
    number: int
    gate: str = ""

    def run(self, resources):
        if self.gate:
            tell("slow", self.number)
            wait_at(self.gate)


@app.jobs.register
class Reindex(Job):
    NAME = "reindex"
    UNIQUE_WHILE = "queued"
    gate: str

    def unique_key(self):
        return "product"

    def run(self, resources):
        wait_at(self.gate)


@app.jobs.register
class Follows(Job):
    NAME = "follows"
    more: int

    def run(self, resources):
        tell("follows", self.more)
        if self.more:
            with resources.db.transaction():
                resources.jobs.enqueue(Follows(self.more - 1))
"""


def test_ten_thousand_quick_jobs_do_not_wait_for_a_slow_one_of_their_kind(place: Place, ear: Ear, gate: Gate) -> None:
    place.write_app(SOMETIMES, "[jobs]\nworkers = 2\n")
    quick = [NewJob("sometimes", f'{{"number": {number}}}') for number in range(10_000)]
    slow = NewJob("sometimes", f'{{"number": -1, "gate": "{gate.path}"}}')
    with place.opened() as store:
        store.insert([*quick[:5000], slow, *quick[5000:]])
    with Working(place):
        with gate.reached():
            until(lambda: place.stats() == Stats(queued=0, running=1, failed=0))
            assert '"number": -1' in place.job("sometimes").payload
        until(lambda: is_done(place))
    assert ear.next() == "slow -1"
    assert not ear.has_heard()


def test_what_waits_while_all_executors_are_busy_is_left_to_another_worker(place: Place, ear: Ear, gate: Gate) -> None:
    place.write_app(settings="[jobs]\nworkers = 1\n")
    place.enqueue("wait", gate=gate.path)
    place.enqueue("note", text="quick", copies=20)
    with Working(place) as busy, gate.reached():
        ear.next()
        until(lambda: place.stats() == Stats(queued=20, running=1, failed=0))
        with Working(place):
            assert ear.several(20) == ["quick"] * 20
            until(lambda: place.stats() == Stats(queued=0, running=1, failed=0))
        assert not busy.logged("was cut off")


def test_a_queue_with_its_own_executors_does_not_wait_for_another(place: Place, ear: Ear, gate: Gate) -> None:
    place.write_app(settings=TWO_QUEUES)
    place.enqueue("wait", gate=gate.path, copies=3)
    with Working(place), gate.reached():
        ear.next()
        place.enqueue("note", text="from the other", _queue="other")
        assert ear.next() == "from the other"
        place.enqueue("note", text="from a third", _queue="third")
        place.enqueue("note", text="again", _queue="other")
        assert ear.next() == "again"
        until(lambda: [job.queue for job in place.jobs() if job.name == "note"] == ["third"])


def test_a_flood_of_high_priority_keeps_the_low_waiting_until_it_ends(place: Place, ear: Ear, gate: Gate) -> None:
    place.write_app(settings="[jobs]\nworkers = 1\n")
    place.enqueue("note", text="low", _priority=-1)
    place.enqueue("wait", gate=gate.path, copies=3, _priority=5)
    with Working(place):
        for _job in range(3):
            with gate.reached():
                assert ear.next_words()[0] == "began"
                assert not ear.has_heard()
            assert ear.next_words()[0] == "ended"
        assert ear.next() == "low"


def test_a_change_while_a_job_runs_is_not_lost_when_its_key_is_held_while_queued(place: Place, gate: Gate) -> None:
    place.write_app(SOMETIMES)
    place.enqueue("reindex", gate=gate.path, _unique_key="product")
    with Working(place):
        with gate.reached(), place.opened() as store:
            again = NewJob("reindex", f'{{"gate": "{gate.path}"}}', unique_key="product")
            assert store.insert([again, again]) == [True, False]
            second = gate.reached()
        second.close()
        until(lambda: is_done(place))


def test_jobs_enqueue_jobs_that_follow_them(place: Place, ear: Ear) -> None:
    place.write_app(SOMETIMES)
    place.enqueue("follows", more=5)
    with Working(place):
        assert ear.several(6) == [f"follows {more}" for more in (5, 4, 3, 2, 1, 0)]
        until(lambda: is_done(place))


def test_a_job_for_later_runs_when_it_is_due(place: Place, ear: Ear) -> None:
    place.write_app()
    with Working(place) as worker:
        until(lambda: worker.logged("job worker works"))
        place.enqueue("note", text="later", _in_seconds=1.0)
        place.enqueue("note", text="sooner", _in_seconds=0.3)
        assert ear.several(2) == ["sooner", "later"]


def test_a_cron_job_is_enqueued_when_its_time_has_come(place: Place, ear: Ear) -> None:
    place.write_app('app.jobs.cron("* * * * *", Note(text="tick"))\napp.jobs.cron("0 0 1 1 *", Note(text="never"))')
    with Working(place):
        until(lambda: len(place.run_sql("SELECT 1 FROM melee_cron")) == 2)
    long_ago = "to_timestamp(0)" if place.url else "0"
    place.run_sql(f"UPDATE melee_cron SET next_at = {long_ago} WHERE expression = '* * * * *'")
    with Working(place):
        assert ear.next() == "tick"
    # The next one is in the future again.
    now = "now()" if place.url else "unixepoch()"
    assert len(place.run_sql(f"SELECT 1 FROM melee_cron WHERE next_at > {now}")) == 2


@pytest.mark.slow
def test_eight_who_write_and_a_worker_share_one_sqlite_file_for_half_a_minute(sqlite_place: Place) -> None:
    sqlite_place.write_app(WRITES, "[jobs]\nworkers = 8\n")
    sqlite_place.enqueue("writes", seconds=30.0, copies=8, _max_attempts=1)
    with Working(sqlite_place) as worker:
        until(lambda: sqlite_place.stats().failed or is_done(sqlite_place), seconds=120)
        assert is_done(sqlite_place)
        assert not worker.logged("cannot use the database")
    (row,) = sqlite_place.run_sql("SELECT count(*) AS rows, count(DISTINCT writer) AS writers FROM rows")
    assert row["writers"] == 8
    assert row["rows"] > 1000


WRITES = """
@app.jobs.register
class Writes(Job):
    "Writes rows and enqueues jobs without a pause."
    NAME = "writes"
    seconds: float

    def run(self, resources):
        resources.db.run("CREATE TABLE IF NOT EXISTS rows (writer)")
        ends_at = time.monotonic() + self.seconds
        while time.monotonic() < ends_at:
            with resources.db.transaction():
                resources.db.run("INSERT INTO rows (writer) VALUES (?)", os.getpid())
                resources.jobs.enqueue(Quick())
"""
