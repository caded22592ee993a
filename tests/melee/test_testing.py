"""The test kit: what it leaves behind, what it refuses, and what dies by it."""

import tempfile
from pathlib import Path
from typing import Any

import pytest

from melee import now
from melee.errors import NoOwner, ObjectUnavailable
from melee.testing import COMMIT_POINTS, AppUnderTest, ManualClock, WorkerUnderTest
from tests.conftest import write_app

APP = """
from melee import App, Durable

app = App(__name__)


@app.get("/")
def index():
    return "hello"


class Alarm(Durable):
    def __init__(self):
        self.calls = 0

    def call(self):
        self.calls += 1
        self.storage.put("calls", self.storage.get("calls", 0) + 1)
        return [self.calls, self.storage.get("calls")]

    def set(self, seconds, times=1):
        self.storage.put("times", times)
        self.timer(after=seconds)

    def on_timer(self):
        self.storage.put("times", self.storage.get("times") - 1)
        if self.storage.get("times"):
            self.timer(after=0)


class Endless(Durable):
    def on_timer(self):
        self.timer(after=0)

    def start(self):
        self.on_timer()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_app(tmp_path / "app", APP)


def alarm(kit: AppUnderTest | WorkerUnderTest) -> Any:
    cls: Any = kit.classes["Alarm"]
    return cls.get("a")


@pytest.mark.parametrize("kit", [AppUnderTest, WorkerUnderTest])
def test_a_temporary_data_folder_is_removed_and_no_call_has_an_owner_any_more(
    folder: Path, kit: type[AppUnderTest | WorkerUnderTest]
) -> None:
    with kit(folder) as entered:
        handle = alarm(entered)
        assert handle.call() == [1, 1]
        data = entered.project.data
        assert (data.parent, data.is_dir()) == (Path(tempfile.gettempdir()), True)
    assert not data.exists()
    assert not (folder / "data").exists()
    with pytest.raises(NoOwner):
        handle.call()


def test_a_data_folder_that_was_given_is_kept(folder: Path, tmp_path: Path) -> None:
    for calls in (1, 2):
        with AppUnderTest(folder, data=tmp_path / "kept") as app:
            assert alarm(app).call() == [1, calls]


def test_the_client_is_flasks_and_the_clock_and_zone_are_what_the_test_says(folder: Path) -> None:
    with AppUnderTest(folder, clock=ManualClock(0), timezone="Asia/Tokyo") as app:
        assert app.client.get("/").text == "hello"
        app.clock.move(60)
        assert now().isoformat() == "1970-01-01T09:01:00+09:00"


def test_an_object_that_is_evicted_loses_its_attributes_and_not_its_storage(folder: Path) -> None:
    with AppUnderTest(folder) as app:
        assert not app.evict("Alarm", "a")
        assert [alarm(app).call(), alarm(app).call()] == [[1, 1], [2, 2]]
        assert app.evict("Alarm", "a")
        assert alarm(app).call() == [1, 3]


def test_a_restart_keeps_data_and_timers_and_no_object_in_memory(folder: Path) -> None:
    with AppUnderTest(folder) as app:
        alarm(app).call()
        alarm(app).set(60)
        app.restart()
        assert not app.evict("Alarm", "a")
        assert alarm(app).call() == [1, 2]
        app.clock.move(60)
        assert app.fire_due() == ["Alarm/a"]


def test_a_timer_fires_when_it_is_due_with_those_that_become_due_by_it(folder: Path) -> None:
    with AppUnderTest(folder) as app:
        alarm(app).set(60, 3)
        app.clock.move(59)
        assert app.fire_due() == []
        app.clock.move(1)
        assert app.fire_due() == ["Alarm/a"] * 3
        assert app.fire_due() == []


@pytest.mark.slow
def test_a_timer_that_sets_itself_to_now_for_ever_is_named(folder: Path) -> None:
    with AppUnderTest(folder) as app:
        endless: Any = app.classes["Endless"]
        endless.get("a").start()
        with pytest.raises(RuntimeError, match=r"^Endless/a is due again as soon as it has fired; set its timer later"):
            app.fire_due()


def test_a_moment_to_die_at_that_is_none_is_refused_with_those_that_are(folder: Path) -> None:
    with pytest.raises(ValueError, match=rf"^dies_at='commited' is none of {', '.join(COMMIT_POINTS)}$"):
        WorkerUnderTest(folder, dies_at="commited")


def test_a_worker_that_ends_before_it_listens_is_an_error_at_once(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with (
        AppUnderTest(folder, data=folder / "data"),
        pytest.raises(RuntimeError, match="ended with 1 before it listened; see what it printed"),
        WorkerUnderTest(folder, data=folder / "data"),
    ):
        pass
    assert "is in use by process" in capfd.readouterr().err


def test_a_worker_that_is_killed_is_gone_and_what_it_confirmed_is_not(folder: Path) -> None:
    with WorkerUnderTest(folder, data=folder / "data") as worker:
        assert alarm(worker).call() == [1, 1]
        worker.kill()
        assert worker.has_died()
        with pytest.raises(ObjectUnavailable):
            alarm(worker).call()
    with WorkerUnderTest(folder, data=folder / "data") as worker:
        assert alarm(worker).call() == [1, 2]


def test_a_worker_that_ended_by_itself_has_not_died(folder: Path) -> None:
    with WorkerUnderTest(folder) as worker:
        worker.process.terminate()
        assert not worker.has_died()
