"""An app with nothing to do sleeps; a request or a timer wakes it."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from melee.testing import WorkerUnderTest
from tests.melee.gate import Gate
from tests.melee.server.conftest import WriteApp
from tests.melee.server.served import Answer, ServerUnderTest
from tests.melee.server.served_app import edit

pytestmark = pytest.mark.slow

SLEEPY = "[app]\ntimezone = 'Europe/Paris'\n[server]\nsleep_after_seconds = 0.5"


def test_an_idle_app_sleeps_and_a_request_wakes_it(app: WriteApp) -> None:
    with ServerUnderTest(app(SLEEPY)) as server:
        server.wait_for("app sleeps; next timer or job: none")
        assert server.children() == set()
        assert server.ask() == Answer(200, "version 1", None)
        server.wait_for("app wakes: a request came")
        server.wait_for("app sleeps; next timer or job: none")
        assert server.children() == set()


def test_a_client_that_leaves_while_the_app_wakes_does_not_spoil_it_for_the_others(app: WriteApp, gate: Gate) -> None:
    folder = app(SLEEPY)
    with ServerUnderTest(folder) as server:
        server.wait_for("app sleeps")
        edit(folder / "app.py", "app = App(__name__)", f"wait_at({gate.path!r})\napp = App(__name__)")
        with server.asked("hit/a"):
            # By the object worker and the request parent.
            loading = [gate.reached(), gate.reached()]
        server.wait_for('"status": 499')
        other = server.begin_get("hit/b")
        for process in loading:
            process.close()
        assert other.result() == Answer(200, "1", None)


def test_a_timer_wakes_the_app_in_time_and_lets_it_sleep_again(app: WriteApp) -> None:
    with ServerUnderTest(app(SLEEPY)) as server:
        # Far enough away to sleep before, whatever else the machine does.
        due_at = float(server.ask("arm/a/8.0").body)
        due = time.strftime("%H:%M:%S", time.gmtime(due_at))[2:]
        assert f"{due}+0" in server.wait_for("app sleeps; next timer or job: 20")
        assert server.children() == set()
        assert f"{due}+0" in server.wait_for("app wakes: a timer or job is due at 20")
        server.wait_for("timer Counter/a -> on_timer")
        server.wait_for("app sleeps; next timer or job: none")
        assert server.children() == set()
        assert "a request came" not in "".join(server.printed)
        assert server.ask("ask/a/fired").body == "1"
        late_seconds = float(server.ask("ask/a/late_seconds").body)
        assert 0 <= late_seconds < max(1, 2 * server.start_seconds)


def test_a_request_under_way_keeps_the_app_awake(app: WriteApp) -> None:
    with ServerUnderTest(app(SLEEPY)) as server:
        assert server.ask("sleep/3.0") == Answer(200, "slept", None)
        assert "sleeps" not in "".join(server.printed)
        server.wait_for("app sleeps")


def test_four_nights_leave_nothing_behind(app: WriteApp) -> None:
    with ServerUnderTest(app("[server]\nsleep_after_seconds = 0.001")) as server:
        server.wait_for("app sleeps")
        descriptors = server.descriptors()
        for night in range(4):
            assert server.ask("hit/a").body == str(night + 1)
            server.wait_for("app sleeps")
            assert server.children() == set()
            assert server.descriptors() == descriptors


def test_timers_that_came_due_while_the_server_was_down_fire_at_its_start(app: WriteApp, tmp_path: Path) -> None:
    folder = app()
    an_hour_ago = time.time() - 3600
    with WorkerUnderTest(folder, data=folder / "data", now=an_hour_ago) as worker:
        worker.classes["Counter"].get("a").arm(1)  # type: ignore[attr-defined]
    with ServerUnderTest(folder) as server:
        listens_at = time.monotonic()
        server.wait_for("timer Counter/a -> on_timer")
        assert time.monotonic() - listens_at < max(1, 2 * server.start_seconds)
        assert server.ask("ask/a/fired").body == "1"


def test_hundreds_of_overdue_timers_fire_while_requests_are_served(app: WriteApp) -> None:
    folder = app()
    with WorkerUnderTest(folder, data=folder / "data", now=time.time() - 3600) as worker:
        counter: Any = worker.classes["Counter"]
        with ThreadPoolExecutor(16) as callers:
            list(callers.map(lambda id: counter.get(str(id)).arm(1), range(300)))
    with ServerUnderTest(folder) as server:
        assert server.ask("hit/visitor").body == "1"
        fired_before = sum("on_timer" in line for line in server.printed)
        for _ in range(300):
            server.wait_for("on_timer")
        assert fired_before < 300
        assert {server.ask(f"ask/{id}/fired").body for id in (0, 150, 299)} == {"1"}
