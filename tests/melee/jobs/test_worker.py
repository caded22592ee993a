"""Tests for `melee.jobs.worker`: what a worker does with jobs, in a process of its own on a real database."""

from melee.jobs.store import Stats
from tests.melee.gate import Gate
from tests.melee.jobs.working import Ear, Place, Working, is_done, until


def test_a_job_runs_and_is_gone(place: Place, ear: Ear) -> None:
    place.write_app()
    place.enqueue("note", text="hello")
    with Working(place) as worker:
        assert ear.next() == "hello"
        until(lambda: is_done(place))
        worker.stop()
        assert worker.exit_code() == 0


def test_a_job_that_comes_while_the_worker_is_idle_wakes_it(place: Place, ear: Ear) -> None:
    place.write_app()
    with Working(place):
        for text in "abc":
            place.enqueue("note", text=text)
            assert ear.next() == text


def test_a_job_runs_once_when_it_takes_longer_than_its_lease(place: Place, ear: Ear, gate: Gate) -> None:
    place.write_app()
    place.enqueue("wait", gate=gate.path)
    with Working(place, lease=0.5), Working(place, lease=0.5):
        waiting = gate.reached()
        assert ear.next_words()[0] == "began"
        before = leased_until(place)
        # Three leases later it has been renewed at least three times.
        until(lambda: leased_until(place) > before + 1.5)
        waiting.close()
        assert ear.next_words()[0] == "ended"
        until(lambda: is_done(place))
        assert not ear.has_heard()


def test_a_job_whose_worker_was_killed_runs_again_after_the_lease(place: Place, ear: Ear, gate: Gate) -> None:
    place.write_app()
    place.enqueue("wait", gate=gate.path)
    with Working(place, lease=1) as worker, gate.reached():
        worker.kill()
    with Working(place, lease=1) as worker:
        waiting = gate.reached()
        job = place.job("wait")
        assert (job.status, job.attempts) == ("running", 2)
        assert "its worker was lost during attempt 1" in (job.last_error or "")
        waiting.close()
        until(lambda: is_done(place))
        assert len(worker.logged("was left by a worker that is gone")) == 1


def test_a_job_whose_worker_died_on_its_last_attempt_has_failed(place: Place, gate: Gate) -> None:
    place.write_app()
    place.enqueue("wait", gate=gate.path, _max_attempts=1)
    with Working(place, lease=0.5) as worker, gate.reached():
        worker.kill()
    with Working(place, lease=0.5):
        until(lambda: place.stats() == Stats(0, 0, 1))


def test_low_priority_waits_as_long_as_there_is_high(place: Place, ear: Ear) -> None:
    place.write_app(settings="[jobs]\nworkers = 1\n")
    for text in ("low", "high", "higher"):
        place.enqueue("note", text=text, _priority=["low", "high", "higher"].index(text))
    with Working(place):
        assert ear.several(3) == ["higher", "high", "low"]


def leased_until(place: Place) -> float:
    moment = "extract(epoch FROM leased_until)" if place.url else "leased_until"
    rows = place.run_sql(f"SELECT {moment} AS moment FROM melee_jobs")
    return float(rows[0]["moment"]) if rows else 0
