"""Each limit that the page about background work names, under *What it costs* and before, reached."""

import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from melee.clock import ManualClock
from melee.project import ServerConfig
from melee.server.wakeups import Wakeups
from melee.testing import AppUnderTest, WorkerUnderTest
from melee_examples.feed.lib.refresher import EVERY_SECONDS
from melee_examples.signup.lib.outbox import IDLE_SECONDS
from tests.conftest import write_app
from tests.melee.gate import WAIT_AT, Gate
from tests.melee.server.served import ServerUnderTest
from tests.melee.upstream import answering, upstream

FEED = Path(__file__).parents[2] / "melee_examples" / "feed"

APP = (
    WAIT_AT
    + """
import os

from flask import Response, after_this_request
from melee import App, Durable

app = App(__name__)


class Work(Durable):
    def slow(self, gate):
        wait_at(gate)

    def quick(self):
        return "done"

    def at(self, seconds, gate=""):
        self.storage.put("gate", gate)
        self.timer(after=seconds)

    def every(self, seconds):
        self.storage.put("every", seconds)
        self.timer(after=seconds)

    def on_timer(self):
        if gate := self.storage.get("gate"):
            wait_at(gate)
        if every := self.storage.get("every"):
            self.timer(after=every)


@app.get("/every/<float:seconds>")
def every(seconds):
    Work.get("a").every(seconds)
    return "set"


@app.get("/slow")
def slow():
    wait_at(os.environ["GATE"])
    return "slow"


@app.get("/quick")
def quick():
    return "quick"


@app.get("/after_request")
def after_request():
    @after_this_request
    def wait(response):
        wait_at(os.environ["GATE"])
        return response

    return "done"


@app.get("/call_on_close")
def call_on_close():
    response = Response("done")
    response.call_on_close(lambda: wait_at(os.environ["GATE"]))
    return response
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
    with ExitStack() as stack:
        job_gate, timer_gate = (stack.enter_context(Gate(tmp_path / name)) for name in ("job", "timer"))
        stack.enter_context(WorkerUnderTest(folder))
        waiting = stack.enter_context(ThreadPoolExecutor())
        work("b").at(0.5, timer_gate.path)
        job = waiting.submit(work("a").slow, job_gate.path)
        with job_gate.reached():
            timer = waiting.submit(timer_gate.reached)
            with pytest.raises(TimeoutError):
                timer.result(timeout=1)
        timer.result(timeout=30).close()
        job.result(timeout=30)


def test_a_timer_that_came_due_while_nothing_ran_fires_after_the_start(folder: Path) -> None:
    with AppUnderTest(folder) as app:
        work("a").at(10)
        app.clock.move(9)
        assert app.fire_due() == []
        app.clock.move(1000)
        app.restart()
        assert app.fire_due() == ["Work/a"]
        assert app.fire_due() == []


def test_a_visitor_who_comes_during_a_fetch_waits_for_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, may_answer = threading.Event(), threading.Event()
    answer = answering(b'{"title": "News", "items": []}')

    def hesitate(client: socket.socket) -> None:
        asked.set()
        may_answer.wait(timeout=30)
        answer(client)

    with upstream(hesitate) as feed, ThreadPoolExecutor() as visitors:
        monkeypatch.setenv("FEED_URL", feed.url)
        with WorkerUnderTest(FEED, data=tmp_path) as worker:
            refresher: Any = worker.classes["Refresher"].get("main")
            assert refresher.latest() is None
            assert asked.wait(timeout=30)
            visitor = visitors.submit(refresher.latest)
            with pytest.raises(TimeoutError):
                visitor.result(timeout=0.5)
            may_answer.set()
            assert visitor.result(timeout=30)["feed"]["title"] == "News"


def test_the_schedule_lets_the_app_sleep_in_between_and_the_look_of_the_queue_does_not() -> None:
    clock, config = ManualClock(), ServerConfig()
    wakeups = Wakeups(clock, config.sleep_after_seconds)
    seconds = {"seconds": 5, "the queue": IDLE_SECONDS, "five minutes": 300, "the schedule": EVERY_SECONDS}
    sleeps = {name: wakeups.may_sleep(86_400, clock.now() + after) for name, after in seconds.items()}
    assert sleeps == {"seconds": False, "the queue": False, "five minutes": False, "the schedule": True}


@pytest.mark.slow
def test_four_visitors_who_wait_for_something_slow_make_everybody_else_wait(folder: Path, tmp_path: Path) -> None:
    with Gate(tmp_path / "gate") as gate:
        server = ServerUnderTest(folder)
        server.environment["GATE"] = gate.path
        with server:
            slow = [server.begin_get("slow") for _ in range(4)]
            inside = [gate.reached() for _ in slow]
            other = server.begin_get("quick")
            with pytest.raises(TimeoutError):
                other.result(timeout=1)
            for child in inside:
                child.close()
            assert other.result(timeout=30).body == "quick"
            assert [visitor.result(timeout=30).body for visitor in slow] == ["slow"] * 4


@pytest.mark.slow
@pytest.mark.parametrize("hook", ["after_request", "call_on_close"])
def test_what_flask_runs_after_a_request_holds_its_slot(folder: Path, tmp_path: Path, hook: str) -> None:
    (folder / "melee.toml").write_text("[web]\nslots = 1\n")
    with Gate(tmp_path / "gate") as gate:
        server = ServerUnderTest(folder)
        server.environment["GATE"] = gate.path
        with server:
            first = server.begin_get(hook)
            with gate.reached():
                other = server.begin_get("quick")
                with pytest.raises(TimeoutError):
                    other.result(timeout=1)
            assert other.result(timeout=30).body == "quick"
            assert first.result(timeout=30).body == "done"


@pytest.mark.slow
def test_what_flask_runs_after_a_request_is_part_of_its_budget(folder: Path, tmp_path: Path) -> None:
    (folder / "melee.toml").write_text("[web]\nbudget_seconds = 1\n")
    with Gate(tmp_path / "gate") as gate:
        server = ServerUnderTest(folder)
        server.environment["GATE"] = gate.path
        with server:
            first = server.begin_get("after_request")
            with gate.reached():
                assert first.result(timeout=30).status == 504


@pytest.mark.slow
def test_a_short_timer_keeps_the_app_awake(folder: Path) -> None:
    (folder / "melee.toml").write_text("[server]\nsleep_after_seconds = 1\n")
    with ServerUnderTest(folder) as server:
        server.ask("every/0.5")
        for _ in range(6):
            server.wait_for("timer Work/a -> on_timer")
        assert "sleeps" not in "".join(server.printed)
