"""Timers of a real object worker: they fire by themselves, again after a kill, and keep nobody from being served."""

from contextlib import closing
from pathlib import Path
from typing import Any

from melee.clock import ManualClock
from melee.objects.durable import Durable
from melee.objects.host import TIMERS_AT_ONCE
from melee.objects.listener import listen
from melee.objects.worker import Worker
from melee.project import ObjectsConfig
from melee.testing import AppUnderTest, WorkerUnderTest
from tests.melee.gate import Gate
from tests.melee.objects.conftest import OpenHost
from tests.melee.objects.worker.calling import answer, connected, counter, frame

START = ManualClock().now()


class Later(Durable):
    def arm(self, seconds: float) -> None:
        self.timer(after=seconds)

    def on_timer(self) -> None:
        pass


def test_a_timer_fires_although_nobody_calls(worker: WorkerUnderTest, gate: Gate) -> None:
    counter(worker).arm(0.05, gate.path)
    gate.reached().close()
    assert counter(worker).value() == 100


def test_a_call_is_answered_between_timers_that_are_overdue(app: Path, tmp_path: Path, gate: Gate) -> None:
    with AppUnderTest(app, data=tmp_path / "data", clock=ManualClock(START)) as before:
        for number in range(10 * TIMERS_AT_ONCE):
            handle: Any = before.classes["Counter"].get(str(number))
            handle.arm(0, gate.path)
    with WorkerUnderTest(app, data=tmp_path / "data", now=START) as worker, connected(worker) as caller:
        with gate.reached():
            caller.sendall(frame("timers_fired"))
        # One turn of the worker accepts the caller, the next one serves it.
        assert answer(caller)[1] <= 2 * TIMERS_AT_ONCE


def test_a_worker_looks_at_the_clock_within_a_minute_because_it_may_be_set_forward(
    open_host: OpenHost, tmp_path: Path, clock: ManualClock
) -> None:
    host = open_host(Later, config=ObjectsConfig(idle_seconds=10_000))
    with closing(Worker(host, listen(tmp_path / "worker.sock"), clock)) as worker:
        handle: Any = Later.get("a")
        handle.arm(3600)
        assert worker._wait_seconds() == 60
        handle.arm(59)
        assert worker._wait_seconds() == 59


def test_a_timer_killed_before_its_commit_fires_again_and_its_first_writes_are_absent(
    app: Path, tmp_path: Path
) -> None:
    with WorkerUnderTest(app, data=tmp_path / "data") as worker:
        handle: Any = worker.classes["DiesInTimer"].get("a")
        handle.arm(str(tmp_path / "gate"))
        assert worker.process.wait(timeout=10) == 3
    with Gate(tmp_path / "gate") as gate, WorkerUnderTest(app, data=tmp_path / "data") as worker:
        handle = worker.classes["DiesInTimer"].get("a")
        gate.reached().close()
        assert handle.tries() == 1


def test_a_timer_killed_after_it_called_another_object_keeps_what_it_wrote_before_that(
    app: Path, tmp_path: Path
) -> None:
    with WorkerUnderTest(app, data=tmp_path / "data") as worker:
        handle: Any = worker.classes["DiesAfterACall"].get("a")
        handle.arm(str(tmp_path / "gate"))
        assert worker.process.wait(timeout=10) == 3
    with Gate(tmp_path / "gate") as gate, WorkerUnderTest(app, data=tmp_path / "data") as worker:
        handle = worker.classes["DiesAfterACall"].get("a")
        gate.reached().close()
        assert (handle.count("before"), counter(worker, "called").value(), handle.count("after")) == (2, 2, 1)


def test_a_timer_that_ends_the_process_again_and_again_does_not_starve_the_others(
    app: Path, tmp_path: Path, gate: Gate
) -> None:
    """The clock stands still, so the third try, two seconds after the second, never comes."""
    with WorkerUnderTest(app, data=tmp_path / "data", now=START) as worker:
        handle: Any = worker.classes["DiesInTimer"].get("a")
        handle.arm(str(tmp_path / "never"))
        assert worker.process.wait(timeout=10) == 3
    with WorkerUnderTest(app, data=tmp_path / "data", now=START) as worker:
        assert worker.process.wait(timeout=10) == 3
    with WorkerUnderTest(app, data=tmp_path / "data", now=START) as worker:
        counter(worker).arm(0, gate.path)
        gate.reached().close()
        assert counter(worker).value() == 100
        assert worker.process.poll() is None
