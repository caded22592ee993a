"""`melee worker` as its user types it: beside a server, without one, and what it says when it cannot."""

import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from melee.clock import SystemClock
from melee.jobs.opened import open_jobs
from melee.jobs.store import NewJob
from melee.project import Project
from tests.conftest import write_app
from tests.melee.cli.small_app import PATIENCE_SECONDS, command, melee
from tests.melee.gate import Gate
from tests.melee.server.jobs_app import noted, write_jobs_app
from tests.melee.server.served import ServerUnderTest

pytestmark = pytest.mark.slow


class WorkerUnderTest(ServerUnderTest):
    """`melee worker`, which has no address."""

    def __init__(self, app: Path, *options: str) -> None:
        super().__init__(app)
        self._command = command("worker", app, *options)

    said = r"(.*); Ctrl-C stops it"


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with Gate(tmp_path / "gate") as gate:
        yield gate


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_jobs_app(tmp_path / "app")


def until(happens: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not happens():
        assert time.monotonic() < deadline


def store(folder: Path, *jobs: NewJob) -> None:
    opened = open_jobs(Project.at(folder), SystemClock())
    opened.store.insert(jobs)
    opened.close()


def statuses(folder: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(folder / "data" / "app.sqlite3")) as database:
        return database.execute("SELECT name, status FROM melee_jobs ORDER BY id").fetchall()


def test_it_says_what_it_works_on(folder: Path) -> None:
    with WorkerUnderTest(folder) as worker:
        assert worker.printed[0] == "app works on default and failing (4 at once); Ctrl-C stops it\n"


@pytest.mark.parametrize(
    "options",
    [("--queues", "failing=1,default=2"), ("--queues", "failing=1", "--queues", "default=2")],
)
def test_queues_are_named_together_or_one_by_one(folder: Path, options: tuple[str, ...]) -> None:
    with WorkerUnderTest(folder, *options) as worker:
        assert worker.printed[0] == "app works on failing (1 at once), default (2 at once); Ctrl-C stops it\n"
        # Itself, the process that forks, and the executors.
        until(lambda: len(worker.processes()) == 2 + 3)


def test_it_works_on_its_queues_alone(folder: Path) -> None:
    store(folder, NewJob("note", '{"words":"a"}'), NewJob("fail", "{}", queue="failing", max_attempts=1))
    with WorkerUnderTest(folder, "--queues", "failing=1"):
        until(lambda: statuses(folder) == [("note", "queued"), ("fail", "failed")])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_at_once(folder: Path, number: int) -> None:
    with WorkerUnderTest(folder) as worker:
        began_at = time.monotonic()
        assert worker.stop(number) == 0
        assert time.monotonic() - began_at < 3
        assert worker.printed[-1] == "stopped\n"
        assert "Traceback" not in "".join(worker.printed)


def test_it_works_beside_a_server_on_the_same_data_and_its_jobs_call_the_objects_there(tmp_path: Path) -> None:
    folder = write_jobs_app(tmp_path / "app", "[jobs]\nworkers = 0\n[server]\nmetrics = true")
    with ServerUnderTest(folder) as server, WorkerUnderTest(folder, "--queues", "default=2") as worker:
        server.ask("note/a")
        until(lambda: noted(folder) == ["a 1"])
        assert server.ask("count").body == "1"
        # It is counted with the server's.
        until(lambda: 'jobs_succeeded_total{job="note"} 1.0' in server.ask("metrics").body)
        assert server.stop(signal.SIGTERM) == 0
        assert worker.process.poll() is None


def test_a_job_under_way_ends_before_it_does_and_one_that_takes_too_long_is_queued_again(
    tmp_path: Path, gate: Gate
) -> None:
    folder = write_jobs_app(tmp_path / "app", "[server]\ngrace_seconds = 600")
    store(folder, NewJob("wait", f'{{"gate":"{gate.path}"}}'))
    with WorkerUnderTest(folder) as worker, gate.reached():
        worker.process.send_signal(signal.SIGINT)
        worker.wait_for("job worker stops")
        assert worker.process.poll() is None
        assert worker.stop(signal.SIGINT) == 0
        assert worker.printed[-1] == "stopped\n"
        assert statuses(folder) == [("wait", "queued")]


def test_it_works_on_postgres_beside_another_one_with_data_of_its_own(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", postgres_url)
    folders = [write_jobs_app(tmp_path / name) for name in ("one", "two")]
    for folder in folders:
        # Their objects would be those of a server on each machine.
        source = (folder / "app.py").read_text().replace('        Counter.get("jobs").hit()\n', "")
        (folder / "app.py").write_text(source)
    store(folders[0], *(NewJob("note", f'{{"words":"{number}"}}') for number in range(200)))
    with WorkerUnderTest(folders[0]), WorkerUnderTest(folders[1], "--queues", "default=2"):
        until(lambda: sum(len(noted(folder)) for folder in folders) >= 200)
    ran = [int(line.split()[0]) for folder in folders for line in noted(folder)]
    assert sorted(ran) == list(range(200))


def test_a_postgres_that_cannot_be_reached_is_tried_again_and_keeps_nobody_from_stopping_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://somebody:secret@127.0.0.1:9/none")
    with WorkerUnderTest(folder) as worker:
        for _ in range(3):
            assert "127.0.0.1:9" in worker.wait_for("the job worker cannot use the database")
        assert worker.stop() == 0
        assert worker.printed[-1] == "stopped\n"
        assert "secret" not in "".join(worker.printed)


NO_JOBS = "def app(environ, start_response): ..."


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        (("--queues", "search"), "--queues 'search': say how many of its jobs may run at once, such as --queues sea"),
        (("--queues", "default=many"), "--queues 'default=many': 'many' is no number from 1 to 1000, such as --qu"),
        (("--queues", "default=0"), "--queues 'default=0': '0' is no number from 1 to 1000"),
        (("--queues", "default=1,default=2"), "--queues names 'default' twice; name it once, with the sum"),
        (("--queues", "defualt=1"), "--queues defualt: none of its jobs has QUEUE = 'defualt'; there is default, fai"),
    ],
)
def test_what_it_cannot_do_is_said_in_one_line(folder: Path, options: tuple[str, ...], refusal: str) -> None:
    refused = melee("worker", folder, *options)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith(f"melee: {refusal}")
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("source", "config", "refusal"),
    [
        (NO_JOBS, "", "melee: app has no jobs; register one with app.jobs.register(SendWelcome)\n"),
        ("from melee import App\napp = App(__name__)", "", "melee: app has no jobs; register one with app.jobs.regi"),
        ("import nothing_like_it", "", "app.py does not load: app.py:1: ModuleNotFoundError"),
        (NO_JOBS, "[jobs]\nworker = 1", "`worker`"),
    ],
)
def test_an_app_that_has_nothing_for_it_is_refused_in_one_line(
    tmp_path: Path, source: str, config: str, refusal: str
) -> None:
    folder = write_app(tmp_path / "app", source)
    (folder / "melee.toml").write_text(config)
    refused = melee("worker", folder)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refusal in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_with_no_workers_in_melee_toml_it_has_to_be_told_what_to_work_on(tmp_path: Path) -> None:
    folder = write_jobs_app(tmp_path / "app", "[jobs]\nworkers = 0")
    refused = melee("worker", folder)
    assert refused.stderr == (
        "melee: [jobs] workers is 0 in melee.toml; say what to work on, such as --queues search=8\n"
    )


def test_its_help_shows_how_it_is_used() -> None:
    shown = melee("worker", "--help").stdout
    for words in ("melee worker board --queues search=8", "Postgres", "grace_seconds"):
        assert words in shown
