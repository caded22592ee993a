"""Jobs under `melee dev`: in the same process, one at a time."""

import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.melee.cli.small_app import PATIENCE_SECONDS, DevServer
from tests.melee.gate import Gate
from tests.melee.server.jobs_app import noted, write_jobs_app
from tests.melee.server.served import pid_of
from tests.melee.server.served_app import edit

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_jobs_app(tmp_path / "app")


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with Gate(tmp_path / "gate") as gate:
        yield gate


def until(happens: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not happens():
        assert time.monotonic() < deadline


def jobs_in(folder: Path) -> list[tuple[str, str, int]]:
    with closing(sqlite3.connect(folder / "data" / "app.sqlite3")) as database:
        return database.execute("SELECT name, status, attempts FROM melee_jobs ORDER BY id").fetchall()


def test_a_job_runs_soon_after_it_was_enqueued_and_calls_objects(folder: Path) -> None:
    with DevServer(folder) as server:
        assert server.get("note/a") == (200, "True")
        assert "ms=" in server.wait_for("job note/1 -> done")
        assert noted(folder) == ["a 1"]
        assert server.get("count") == (200, "1")
        server.get("note/b?in=1.5")
        server.wait_for("job note/2 -> done")
        assert jobs_in(folder) == []


def test_it_runs_in_the_process_of_the_app_and_no_other_runs_meanwhile(folder: Path, gate: Gate) -> None:
    with DevServer(folder) as server:
        server.get(f"wait?gate={gate.path}")
        with gate.reached() as caller:
            assert pid_of(caller) == server.process.pid
            server.get("note/a")
            assert server.get("stats") == (200, "1 1 0")
            assert server.get() == (200, "version 1")
        until(lambda: noted(folder) == ["waited 1", "a 1"])


def test_a_job_that_raises_is_shown_with_its_traceback(folder: Path) -> None:
    with DevServer(folder) as server:
        server.get("fail")
        server.wait_for("warning: job fail raised")
        server.wait_for("ValueError: no route")
        server.wait_for("job fail failed for good")
        until(lambda: server.get("stats") == (200, "0 0 1"))
        server.get("note/a")
        server.wait_for("-> done")


def test_the_time_of_a_cron_job_that_passed_is_made_up_for(tmp_path: Path) -> None:
    folder = write_jobs_app(tmp_path / "app", more='app.jobs.cron("0 0 1 1 *", Note(words="new year"))\n')
    database = folder / "data" / "app.sqlite3"

    def is_planned() -> bool:
        with closing(sqlite3.connect(database)) as opened:
            found = opened.execute("SELECT name FROM sqlite_master WHERE name = 'melee_cron'").fetchone()
            return bool(found and opened.execute("SELECT 1 FROM melee_cron").fetchone())

    with DevServer(folder) as server:
        until(is_planned)
        assert server.stop() == 0
    assert noted(folder) == []
    with closing(sqlite3.connect(database)) as opened, opened:
        opened.execute("UPDATE melee_cron SET next_at = 1")
    with DevServer(folder) as server:
        server.wait_for("-> done")
        assert noted(folder) == ["new year 1"]


def test_a_job_under_way_at_an_edit_runs_again_in_the_new_version_with_all_its_attempts(
    folder: Path, gate: Gate
) -> None:
    with DevServer(folder) as server:
        server.get(f"wait?gate={gate.path}")
        with gate.reached():
            edit(folder / "app.py", "VERSION = 1", "VERSION = 2")
            server.wait_for("job wait is still running; it is cut off, and queued again")
            gate.reached().close()
        until(lambda: noted(folder) == ["waited 2"])


def test_ctrl_c_cuts_off_a_job_and_queues_it_again(folder: Path, gate: Gate) -> None:
    with DevServer(folder) as server:
        server.get(f"wait?gate={gate.path}")
        with gate.reached():
            assert server.stop(signal.SIGINT) == 0
            assert server.printed[-1] == "stopped\n"
        assert jobs_in(folder) == [("wait", "queued", 0)]


def test_with_no_workers_in_melee_toml_no_job_runs(tmp_path: Path) -> None:
    folder = write_jobs_app(tmp_path / "app", "[jobs]\nworkers = 0")
    with DevServer(folder) as server:
        server.get("note/a")
        server.get("note/b")
        assert server.stop() == 0
        assert [status for _name, status, _attempts in jobs_in(folder)] == ["queued", "queued"]
        assert noted(folder) == []


def test_a_database_that_cannot_be_reached_is_tried_again(
    folder: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://somebody:secret@127.0.0.1:9/none")
    with DevServer(folder) as server:
        server.wait_for("melee: looking for due jobs failed: ")
        assert server.get()[1] == "version 1"
        assert server.stop() == 0
        assert "secret" not in "".join(server.printed)
    monkeypatch.setenv("DATABASE_URL", postgres_url)
    with DevServer(folder) as server:
        server.get("note/a")
        server.wait_for("job note/1 -> done")
