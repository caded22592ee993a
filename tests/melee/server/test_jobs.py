"""The job worker of a server: it starts, ends, sleeps and is replaced with the app, and no job is lost."""

import os
import re
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from melee.clock import SystemClock
from melee.jobs.opened import open_jobs
from melee.jobs.store import NewJob
from melee.project import Project
from melee.server.orders import order_wake
from tests.melee.cli.small_app import PATIENCE_SECONDS, melee
from tests.melee.gate import Gate
from tests.melee.server.jobs_app import noted, write_jobs_app
from tests.melee.server.served import Answer, ServerUnderTest
from tests.melee.server.served_app import edit

pytestmark = pytest.mark.slow

SLEEPY = "[server]\nsleep_after_seconds = 0.5\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_jobs_app(tmp_path / "app")


def until(happens: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not happens():
        assert time.monotonic() < deadline


def jobs_in(folder: Path) -> list[tuple[str, str, int]]:
    """Name, status and attempts of each job that is stored."""
    with closing(sqlite3.connect(folder / "data" / "app.sqlite3")) as database:
        return database.execute("SELECT name, status, attempts FROM melee_jobs ORDER BY id").fetchall()


def test_a_job_that_a_request_enqueued_runs_and_can_call_objects(folder: Path) -> None:
    with ServerUnderTest(folder) as server:
        assert server.ask("note/a") == Answer(200, "True", None)
        until(lambda: noted(folder) == ["a 1"])
        assert server.ask("count").body == "1"
        until(lambda: jobs_in(folder) == [])


def unregistered(source: str) -> str:
    """The app, with no job registered; the build step does not see that some are enqueued."""
    hidden = re.sub(r"app\.jobs\.(enqueue\w*)\(", r'getattr(app.jobs, "\1")(', source)
    return hidden.replace("@app.jobs.register\n", "")


def test_an_app_without_jobs_has_no_worker_for_them(tmp_path: Path) -> None:
    folder = write_jobs_app(tmp_path / "app")
    (folder / "app.py").write_text(unregistered((folder / "app.py").read_text()))
    with ServerUnderTest(folder) as server:
        assert server.ask().body == "version 1"
        server.wait_for("object worker listens")
        assert server.named("melee.jobs") == set()


def test_a_server_with_no_workers_only_enqueues(tmp_path: Path) -> None:
    folder = write_jobs_app(tmp_path / "app", "[jobs]\nworkers = 0")
    with ServerUnderTest(folder) as server:
        assert server.ask("note/a").status == 200
        assert server.named("melee.jobs") == set()
        assert server.ask("stats").body == "1 0 0"


def test_a_job_under_way_is_finished_before_the_server_ends(folder: Path, gate: Gate) -> None:
    with ServerUnderTest(folder) as server:
        server.ask(f"wait?gate={gate.path}")
        with gate.reached():
            server.ask("note/later")
            server.process.send_signal(signal.SIGTERM)
            server.wait_for("job worker stops")
        assert server.process.wait() == 0
        assert server.children() == set()
        assert "waited 1" in noted(folder)
        assert server.printed[-1] == "stopped\n"
    with ServerUnderTest(folder):
        until(lambda: sorted(noted(folder)) == ["later 1", "waited 1"])


def test_a_job_that_takes_longer_than_the_grace_time_is_queued_again_without_losing_its_attempt(
    tmp_path: Path, gate: Gate
) -> None:
    folder = write_jobs_app(tmp_path / "app", "[server]\ngrace_seconds = 0.5")
    with ServerUnderTest(folder) as server:
        server.ask(f"wait?gate={gate.path}")
        with gate.reached():
            assert server.stop(signal.SIGTERM) == 0
        assert jobs_in(folder) == [("wait", "queued", 0)]


def test_a_second_ctrl_c_ends_a_job_at_once(tmp_path: Path, gate: Gate) -> None:
    folder = write_jobs_app(tmp_path / "app", "[server]\ngrace_seconds = 600")
    with ServerUnderTest(folder) as server:
        server.ask(f"wait?gate={gate.path}")
        with gate.reached():
            for _ in range(2):
                server.process.send_signal(signal.SIGINT)
                server.wait_for("server stops")
            assert server.process.wait(timeout=30) == 0
        assert jobs_in(folder) == [("wait", "queued", 0)]


def test_no_job_worker_outlives_a_server_that_is_killed(tmp_path: Path, gate: Gate) -> None:
    folder = write_jobs_app(tmp_path / "app", "[server]\ngrace_seconds = 1")
    with ServerUnderTest(folder) as server:
        server.ask(f"wait?gate={gate.path}")
        with gate.reached():
            assert len(server.named("melee.jobs")) == 2 + 4
            server.process.kill()
            assert server.left_after(server.processes()) == set()
        assert jobs_in(folder) == [("wait", "queued", 0)]


def test_a_job_worker_that_is_killed_is_started_again(folder: Path) -> None:
    with ServerUnderTest(folder) as server:
        server.wait_for("job worker works")
        server.kill("melee.jobs")
        server.wait_for("the job worker ended")
        server.ask("note/a")
        until(lambda: noted(folder) == ["a 1"])


def test_jobs_run_on_while_versions_follow_each_other(folder: Path) -> None:
    with ServerUnderTest(folder) as server:
        for version in range(1, 4):
            for number in range(20):
                server.ask(f"note/{version}-{number}")
            edit(folder / "app.py", f"VERSION = {version}", f"VERSION = {version + 1}")
            assert melee("reload", folder).returncode == 0
        server.ask("note/last")
        until(lambda: "last 4" in noted(folder))
        until(lambda: jobs_in(folder) == [])
        expected = {f"{version}-{number}" for version in range(1, 4) for number in range(20)} | {"last"}
        assert sorted(line.split()[0] for line in noted(folder)) == sorted(expected)
        # The old ones end after their last job.
        server.wait_for_processes("melee.jobs", 2 + 4)
        assert "raised" not in "".join(server.printed)


def test_a_job_under_way_ends_with_the_version_it_began_with_however_long_it_takes(tmp_path: Path, gate: Gate) -> None:
    folder = write_jobs_app(tmp_path / "app", f"{SLEEPY}grace_seconds = 0.5")
    with ServerUnderTest(folder) as server:
        server.ask(f"wait?gate={gate.path}")
        with gate.reached():
            edit(folder / "app.py", "VERSION = 1", "VERSION = 2")
            assert melee("reload", folder).returncode == 0
            server.ask("note/a")
            until(lambda: noted(folder) == ["a 2"])
            # Longer than the grace time, and than an app stays awake for nothing.
            server.ask("note/b?in=6")
            until(lambda: noted(folder) == ["a 2", "b 2"])
            assert "sleeps" not in "".join(server.printed)
        until(lambda: noted(folder) == ["a 2", "b 2", "waited 1"])
        server.wait_for("app sleeps; next timer or job: none")
        assert server.children() == set()


def test_jobs_of_an_old_version_have_the_grace_time_when_the_server_ends(tmp_path: Path, gate: Gate) -> None:
    folder = write_jobs_app(tmp_path / "app", "[server]\ngrace_seconds = 0.5")
    with ServerUnderTest(folder) as server:
        server.ask(f"wait?gate={gate.path}")
        with gate.reached():
            assert melee("reload", folder).returncode == 0
            assert server.stop(signal.SIGTERM) == 0
            assert server.children() == set()
        assert jobs_in(folder) == [("wait", "queued", 0)]


def test_a_version_that_registers_jobs_for_the_first_time_gets_a_worker(folder: Path) -> None:
    (folder / "app.py").write_text(unregistered((folder / "app.py").read_text()))
    with ServerUnderTest(folder) as server:
        server.ask()
        edit(folder / "app.py", "\nclass Note", "\n@app.jobs.register\nclass Note")
        assert melee("reload", folder).returncode == 0
        server.ask("note/a")
        until(lambda: noted(folder) == ["a 1"])


def test_a_job_that_is_due_later_wakes_the_app(tmp_path: Path) -> None:
    folder = write_jobs_app(tmp_path / "app", SLEEPY)
    with ServerUnderTest(folder) as server:
        server.ask("note/a?in=8")
        server.wait_for("app sleeps; next timer or job: 20")
        assert server.children() == set()
        assert noted(folder) == []
        server.wait_for("app wakes: a timer or job is due at 20")
        until(lambda: noted(folder) == ["a 1"])
        server.wait_for("app sleeps; next timer or job: none")
        assert server.children() == set()


def test_a_job_that_runs_keeps_the_app_awake(tmp_path: Path, gate: Gate) -> None:
    folder = write_jobs_app(tmp_path / "app", SLEEPY)
    with ServerUnderTest(folder) as server:
        server.ask(f"wait?gate={gate.path}")
        with gate.reached():
            server.ask("note/b?in=6")
            until(lambda: noted(folder) == ["b 1"])
            assert "sleeps" not in "".join(server.printed)
        server.wait_for("app sleeps; next timer or job: none")
        assert noted(folder) == ["b 1", "waited 1"]


CRON = """
app.jobs.cron("0 0 1 1 *", Note(words="new year"))
"""


def test_an_app_with_a_cron_job_sleeps_until_the_next_one(tmp_path: Path) -> None:
    folder = write_jobs_app(tmp_path / "app", f"[app]\ntimezone = 'UTC'\n{SLEEPY}", CRON)
    with ServerUnderTest(folder) as server:
        next_year = time.gmtime().tm_year + 1
        server.wait_for(f"app sleeps; next timer or job: {next_year}-01-01 00:00:00")
        with closing(sqlite3.connect(folder / "data" / "app.sqlite3")) as database, database:
            assert database.execute("SELECT count(*) FROM melee_cron").fetchone() == (1,)


def test_a_job_whose_worker_was_killed_wakes_the_app_when_its_lease_ends(tmp_path: Path, gate: Gate) -> None:
    folder = write_jobs_app(tmp_path / "app", SLEEPY)
    with ServerUnderTest(folder) as server:
        server.ask(f"wait?gate={gate.path}")
        with gate.reached(), closing(sqlite3.connect(folder / "data" / "app.sqlite3")) as database, database:
            server.kill("melee.jobs")
            # It would be half a minute.
            database.execute("UPDATE melee_jobs SET leased_until = ?", (time.time() + 8,))
        server.wait_for("app sleeps; next timer or job: 20")
        server.wait_for("app wakes: a timer or job is due")
        gate.reached().close()
        until(lambda: noted(folder) == ["waited 1"])


def test_what_was_stored_while_the_app_slept_runs_when_the_server_is_told_to_look(tmp_path: Path) -> None:
    folder = write_jobs_app(tmp_path / "app", SLEEPY)
    project = Project.at(folder)
    with ServerUnderTest(folder) as server:
        server.wait_for("app sleeps")
        opened = open_jobs(project, SystemClock())
        opened.store.insert([NewJob("note", '{"words":"a"}')])
        opened.close()
        assert order_wake(project.orders)
        server.wait_for("app wakes: it was told to look")
        until(lambda: noted(folder) == ["a 1"])
        server.wait_for("app sleeps")
        assert server.stop(signal.SIGTERM) == 0
    assert not order_wake(project.orders)


def test_an_app_whose_jobs_are_in_postgres_does_not_sleep(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", postgres_url)
    folder = write_jobs_app(tmp_path / "app", SLEEPY)
    project = Project.at(folder)
    with ServerUnderTest(folder) as server:
        server.wait_for("the app does not sleep")
        server.ask("note/a")
        until(lambda: noted(folder) == ["a 1"])
        opened = open_jobs(project, SystemClock())
        opened.store.insert([NewJob("note", '{"words":"b"}', in_seconds=6)])
        opened.close()
        until(lambda: noted(folder) == ["a 1", "b 1"])
        printed = "".join(server.printed)
        assert "sleeps" not in printed
        assert printed.count("does not sleep") == 1
        assert os.environ["DATABASE_URL"] not in printed
