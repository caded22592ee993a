"""Each row of *What it costs* on the page about background work, reached."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from melee.testing import AppUnderTest, WorkerUnderTest
from tests.conftest import write_app
from tests.melee.gate import WAIT_AT, Gate
from tests.melee.server.served import ServerUnderTest

APP = (
    WAIT_AT
    + """
from melee import App, Durable, now

app = App(__name__)


class Work(Durable):
    def slow(self, gate):
        wait_at(gate)

    def quick(self):
        return "done"

    def at(self, seconds, gate=""):
        self.storage.put("gate", gate)
        self.timer(after=seconds)
        return now().timestamp() + seconds

    def every(self, seconds):
        self.storage.put("every", seconds)
        self.timer(after=seconds)

    def on_timer(self):
        self.storage.put("fired", [*self.fired(), now().timestamp()])
        if gate := self.storage.get("gate"):
            wait_at(gate)
        if every := self.storage.get("every"):
            self.timer(after=every)

    def fired(self):
        return self.storage.get("fired", [])


@app.get("/every/<float:seconds>")
def every(seconds):
    Work.get("a").every(seconds)
    return "set"
"""
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_app(tmp_path / "app", APP)


def work(id: str) -> Any:
    return sys.modules["app"].Work.get(id)


def test_a_job_makes_every_other_call_wait(folder: Path, tmp_path: Path) -> None:
    with Gate(tmp_path / "gate") as gate, WorkerUnderTest(folder), ThreadPoolExecutor() as callers:
        job = callers.submit(work("a").slow, gate.path)
        with gate.reached():
            visitor = callers.submit(work("b").quick)
            with pytest.raises(TimeoutError):
                visitor.result(timeout=0.3)
        job.result(timeout=30)
        assert visitor.result(timeout=30) == "done"


def test_a_second_timer_takes_the_place_of_the_first(folder: Path) -> None:
    with AppUnderTest(folder) as app:
        work("a").at(10)
        work("a").at(20)
        app.clock.move(10)
        assert app.fire_due() == []
        app.clock.move(10)
        assert app.fire_due() == ["Work/a"]


def test_a_timer_that_is_not_set_again_does_not_come_back(folder: Path) -> None:
    with AppUnderTest(folder) as app:
        work("a").at(10)
        app.clock.move(10)
        assert app.fire_due() == ["Work/a"]
        app.clock.move(86_400)
        assert app.fire_due() == []


def test_two_timers_that_are_due_at_once_run_one_after_the_other(folder: Path, tmp_path: Path) -> None:
    with Gate(tmp_path / "gate") as gate, WorkerUnderTest(folder), ThreadPoolExecutor() as waiting:
        for id in ("a", "b"):
            work(id).at(0.1, gate.path)
        with gate.reached():
            second = waiting.submit(gate.reached)
            with pytest.raises(TimeoutError):
                second.result(timeout=0.5)
        second.result(timeout=30).close()


def test_a_call_that_runs_makes_a_timer_late(folder: Path, tmp_path: Path) -> None:
    with Gate(tmp_path / "gate") as gate, WorkerUnderTest(folder), ThreadPoolExecutor() as callers:
        due_at = work("b").at(0.1)
        job = callers.submit(work("a").slow, gate.path)
        with gate.reached():
            visitor = callers.submit(work("b").quick)
            with pytest.raises(TimeoutError):
                visitor.result(timeout=0.5)
        job.result(timeout=30)
        while not (fired := work("b").fired()):
            pass
    assert fired[0] > due_at + 0.3


@pytest.mark.slow
def test_a_short_timer_keeps_the_app_awake(folder: Path) -> None:
    (folder / "melee.toml").write_text("[server]\nsleep_after_seconds = 1\n")
    with ServerUnderTest(folder) as server:
        server.ask("every/0.5")
        for _ in range(6):
            server.wait_for("timer Work/a -> on_timer")
        assert "sleeps" not in "".join(server.printed)
