"""How a worker ends: at a signal, at a second one, with those it depends on."""

import json
import os
import signal
from pathlib import Path

import pytest

from melee.jobs.store import Stats
from tests.melee.gate import Gate
from tests.melee.jobs.working import Ear, Place, Working, is_alive, is_done, pids_below, until

TWO_QUEUES = """
[jobs.queues]
default = 1
other = 1
"""


def test_a_job_that_runs_may_end_and_nothing_more_is_claimed(place: Place, ear: Ear, gate: Gate) -> None:
    place.write_app(settings="[jobs]\nworkers = 1\n")
    place.enqueue("wait", gate=gate.path)
    with Working(place) as worker:
        with gate.reached():
            ear.next()
            worker.stop()
            until(lambda: worker.logged("job worker stops"))
            place.enqueue("note", text="late")
        assert ear.next_words()[0] == "ended"
        assert worker.exit_code() == 0
    assert not ear.has_heard()
    assert place.stats() == Stats(queued=1, running=0, failed=0)
    assert place.job("note").attempts == 0


def test_what_has_not_begun_is_queued_again_while_the_rest_ends(place: Place, ear: Ear, gate: Gate) -> None:
    place.write_app(settings="[jobs]\nworkers = 1\n")
    place.enqueue("wait", gate=gate.path)
    place.enqueue("note", text="waits", copies=20)
    with Working(place, lease=30) as worker:
        with gate.reached():
            worker.stop()
            # It holds some of them, and its executor has a few that it has not begun.
            until(lambda: place.stats() == Stats(queued=20, running=1, failed=0))
        assert worker.exit_code() == 0
    assert {(job.name, job.status, job.attempts) for job in place.jobs()} == {("note", "queued", 0)}


def test_what_has_not_ended_in_the_grace_time_is_queued_again_and_has_lost_no_attempt(
    place: Place, ear: Ear, gate: Gate
) -> None:
    place.write_app(settings=TWO_QUEUES)
    place.enqueue("wait", gate=gate.path)
    place.enqueue("wait", gate=gate.path, _queue="other", _max_attempts=1)
    with Working(place, grace=0.3) as worker, gate.reached(), gate.reached():
        worker.stop()
        assert worker.exit_code() == 0
        stopped, given_back = worker.logged("job worker stops"), worker.logged("queued again")
        assert (len(stopped), given_back[0]["jobs"]) == (1, 2)
    assert [(job.status, job.attempts, job.worker) for job in place.jobs()] == [("queued", 0, None)] * 2


def test_leases_are_renewed_while_it_ends(place: Place, ear: Ear, gate: Gate) -> None:
    place.write_app()
    place.enqueue("wait", gate=gate.path)
    with Working(place, lease=0.6) as worker, Working(place, lease=0.6) as other:
        until(lambda: other.logged("job worker works"))
        waiting = gate.reached()
        runner = worker if ran_by(place, worker) else other
        runner.stop()
        ends_at = leased_until(place) + 1.5
        until(lambda: leased_until(place) > ends_at)
        waiting.close()
        assert runner.exit_code() == 0
        assert ear.several(2)[1].startswith("ended")
        assert is_done(place)


def test_a_second_signal_ends_it_at_once(place: Place, gate: Gate) -> None:
    place.write_app()
    place.enqueue("wait", gate=gate.path)
    with Working(place, grace=3600) as worker, gate.reached():
        worker.stop()
        until(lambda: worker.logged("job worker stops"))
        worker.process.send_signal(signal.SIGINT)
        assert worker.exit_code() == 0
    (job,) = place.jobs()
    assert (job.status, job.attempts) == ("queued", 0)


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_of_it_nor_of_what_its_jobs_started(
    sqlite_place: Place, ear: Ear, gate: Gate, by: signal.Signals
) -> None:
    sqlite_place.write_app(STARTS)
    sqlite_place.enqueue("starts", gate=gate.path)
    with Working(sqlite_place, grace=0) as worker, gate.reached():
        started = int(ear.next())
        pids = [*pids_below(worker.process.pid), started]
        assert all(map(is_alive, pids))
        worker.process.send_signal(by)
        worker.exit_code()
        until(lambda: not any(map(is_alive, pids)), "the end of all")


def test_it_ends_when_the_process_that_forks_executors_ends(place: Place, ear: Ear, gate: Gate) -> None:
    place.write_app(settings="[jobs]\nworkers = 1\n")
    place.enqueue("wait", gate=gate.path)
    place.enqueue("note", text="waits")
    with Working(place) as worker, gate.reached():
        (forker,) = children(worker.process.pid)
        os.kill(forker, signal.SIGKILL)
        assert worker.exit_code() == 1
        assert "the process that forks executors is gone" in worker.output.read_text()
    assert (place.job("wait").attempts, place.job("note").attempts) == (1, 0)
    assert place.stats() == Stats(queued=2, running=0, failed=0)


def test_it_says_why_there_is_nothing_to_work_on(sqlite_place: Place) -> None:
    sqlite_place.write_app(settings="[jobs]\nworkers = 0\n")
    with Working(sqlite_place) as worker:
        assert worker.exit_code() == 1
        assert "there is nothing to work on" in worker.output.read_text()


def test_a_job_that_ends_badly_in_the_grace_time_has_lost_its_attempt(place: Place, ear: Ear, gate: Gate) -> None:
    place.write_app(DIES)
    place.enqueue("dies", gate=gate.path)
    with Working(place) as worker:
        with gate.reached():
            worker.stop()
            until(lambda: worker.logged("job worker stops"))
        assert worker.exit_code() == 0
    (job,) = place.jobs()
    assert (job.status, job.attempts) == ("queued", 1)
    assert json.dumps(job.last_error).startswith('"its executor ended with 3')


STARTS = """
@app.jobs.register
class Starts(Job):
    NAME = "starts"
    gate: str

    def run(self, resources):
        tell(subprocess.Popen(["sleep", "3600"]).pid)
        wait_at(self.gate)
"""

DIES = """
@app.jobs.register
class Dies(Job):
    NAME = "dies"
    gate: str

    def run(self, resources):
        wait_at(self.gate)
        os._exit(3)
"""


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def ran_by(place: Place, worker: Working) -> bool:
    return (place.jobs()[0].worker or "").endswith(f"/{worker.process.pid}")


def leased_until(place: Place) -> float:
    moment = "extract(epoch FROM leased_until)" if place.url else "leased_until"
    rows = place.run_sql(f"SELECT {moment} AS moment FROM melee_jobs")
    return float(rows[0]["moment"]) if rows else 0
