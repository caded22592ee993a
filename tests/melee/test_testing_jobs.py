"""Durable jobs in the test kit: nothing runs by itself, and what is due runs when the test says so."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from melee.errors import DatabaseLocked, DefinitionError
from melee.jobs.job import Job
from melee.jobs.resources import Resources
from melee.jobs.store import Stats
from melee.testing import AppUnderTest
from tests.conftest import write_app

APP = """
import asyncio
import os
import signal
from flask import request
from melee import App, Durable, Job

app = App(__name__)


class Stats(Durable):
    def hit(self):
        self.storage.put("hits", self.storage.get("hits", 0) + 1)
        return self.storage.get("hits")


class Ran:
    def __init__(self):
        self.texts = []


ran = app.provide(Ran())


@app.jobs.register
class SendWelcome(Job):
    NAME = "send_welcome"
    user_id: int

    def run(self, resources):
        resources.require(Ran).texts.append(f"welcome {self.user_id}")


@app.jobs.register
class Later(Job):
    NAME = "later"
    PRIORITY = 10
    text: str

    async def run(self, resources):
        await asyncio.sleep(0)
        ran.texts.append(self.text)


@app.jobs.register
class Two(Job):
    NAME = "two"

    def run(self, resources):
        resources.jobs.enqueue_many([SendWelcome(user_id=1), Later(text="first")])


@app.jobs.register
class Fragile(Job):
    NAME = "fragile"
    MAX_ATTEMPTS = 2

    def run(self, resources):
        raise RuntimeError("no route")


@app.jobs.register
class Reindex(Job):
    NAME = "reindex"
    UNIQUE_WHILE = "queued"

    def unique_key(self):
        return "all"

    def run(self, resources):
        ran.texts.append(resources.jobs.enqueue(Reindex()) if len(ran.texts) < 2 else "last")


@app.jobs.register
class Endless(Job):
    NAME = "endless"

    def run(self, resources):
        resources.jobs.enqueue(Endless())


@app.jobs.register
class Writes(Job):
    NAME = "writes"

    def run(self, resources):
        resources.db.run("INSERT INTO notes (text) VALUES (?)", "written")


@app.jobs.register
class Counts(Job):
    NAME = "counts"

    def run(self, resources):
        ran.texts.append(Stats.get("jobs").hit())


@app.jobs.register
class Looks(Job):
    NAME = "looks"

    def run(self, resources):
        ran.texts.append(resources.db.first("SELECT status, leased_until FROM melee_jobs"))


@app.jobs.register
class Interrupted(Job):
    NAME = "interrupted"

    def run(self, resources):
        os.kill(os.getpid(), signal.SIGINT)


class Digest(Job):
    NAME = "digest"
    period: str

    def run(self, resources):
        ran.texts.append(self.period)


class Unregistered(Job):
    NAME = "unregistered"

    def run(self, resources):
        pass


app.jobs.cron("0 8 * * *", Digest(period="daily"))
app.jobs.cron("CRON_TZ=Europe/Paris 0 8 * * MON", Digest(period="weekly"))


@app.post("/signup")
def signup():
    app.jobs.enqueue(SendWelcome(user_id=int(request.args.get("id", "1"))))
    return "", 201


@app.post("/run")
def run():
    return [app.jobs.run_pending()]


@app.post("/run_in_transaction")
def run_in_transaction():
    with app.db.transaction():
        app.jobs.enqueue(SendWelcome(user_id=1))
        return [app.jobs.run_pending()]
"""

NOTES = "CREATE TABLE notes (text text);"


class SendWelcome(Job):
    """What a test has that imported the class before the app was loaded."""

    NAME = "send_welcome"
    user_id: int

    def run(self, resources: Resources) -> None: ...


SendWelcome.__module__, SendWelcome.__qualname__ = "app", "SendWelcome"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = write_app(tmp_path / "app", APP)
    (folder / "db").mkdir()
    (folder / "db" / "001_notes.sql").write_text(NOTES)
    return folder


@pytest.fixture(params=["sqlite", "postgres"])
def app(request: pytest.FixtureRequest, folder: Path) -> Iterator[AppUnderTest]:
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    with AppUnderTest(folder, database_url=url) as app:
        yield app


@pytest.fixture
def on_sqlite(folder: Path) -> Iterator[AppUnderTest]:
    with AppUnderTest(folder) as app:
        yield app


def job(app: AppUnderTest, name: str, **fields: Any) -> Any:
    cls: Any = app.jobs.classes[name]
    return cls(**fields)


def texts(app: AppUnderTest) -> list[Any]:
    """What the jobs have said that ran."""
    flask: Any = app.flask
    found: list[Any] = flask.services[0].texts
    return found


def test_what_a_request_enqueues_waits_until_the_test_has_it_run(app: AppUnderTest) -> None:
    assert app.client.post("/signup").status_code == 201
    assert texts(app) == []
    assert app.jobs.enqueued(SendWelcome) == [SendWelcome(user_id=1)]
    assert app.jobs.run_pending() == 1
    assert texts(app) == ["welcome 1"]
    assert app.jobs.enqueued(SendWelcome) == []
    assert app.jobs.run_pending() == 0


def test_only_the_jobs_of_the_class_are_listed_in_the_order_of_their_turn(app: AppUnderTest) -> None:
    app.client.post("/signup?id=2")
    app.client.post("/signup?id=1")
    app.jobs.enqueue_in(SendWelcome(user_id=3), 60)
    app.jobs.enqueue(job(app, "two"))
    assert [waiting.user_id for waiting in app.jobs.enqueued(SendWelcome)] == [2, 1, 3]


def test_jobs_that_jobs_enqueue_run_too_the_highest_priority_first(app: AppUnderTest) -> None:
    app.jobs.enqueue(job(app, "two"))
    assert app.jobs.run_pending() == 3
    assert texts(app) == ["first", "welcome 1"]


def test_a_job_is_due_by_the_clock_of_the_test(app: AppUnderTest) -> None:
    app.jobs.enqueue_in(SendWelcome(user_id=1), 60)
    app.jobs.enqueue_at(SendWelcome(user_id=2), datetime(2030, 1, 1, 0, 2, tzinfo=UTC))
    app.clock.move(59.5)
    assert app.jobs.run_pending() == 0
    app.clock.move(0.5)
    assert app.jobs.run_pending() == 1
    app.clock.move(60)
    assert app.jobs.run_pending() == 1
    assert texts(app) == ["welcome 1", "welcome 2"]


def test_a_job_that_raises_is_in_the_log_and_stored_with_its_pause_and_does_not_raise(app: AppUnderTest) -> None:
    app.jobs.enqueue(job(app, "fragile"))
    with capture_logs() as lines:
        assert app.jobs.run_pending() == 1
    assert [str(line["exc_info"]) for line in lines] == ["no route"]
    assert app.jobs.run_pending() == 0
    stored = app.jobs.get(1)
    assert stored
    assert (stored.status, stored.attempts, stored.due_at) == ("queued", 1, app.clock.now() + 5)
    app.clock.move(5)
    assert app.jobs.run_pending() == 1
    (failed,) = app.jobs.failed()
    assert failed.last_error
    assert failed.last_error.startswith("RuntimeError: no route\n")
    assert app.jobs.stats() == Stats(0, 0, 1)


def test_a_payload_that_does_not_fit_fails_and_does_not_count_as_run(app: AppUnderTest) -> None:
    app.client.post("/signup")
    with app.flask.app_context():
        flask: Any = app.flask
        flask.db.run("UPDATE melee_jobs SET payload = ?", '{"user": 1}')
    assert app.jobs.run_pending() == 0
    assert [failed.name for failed in app.jobs.failed()] == ["send_welcome"]


def test_a_key_that_is_held_while_queued_is_free_when_its_job_begins(app: AppUnderTest) -> None:
    assert app.jobs.enqueue(job(app, "reindex"))
    assert not app.jobs.enqueue(job(app, "reindex"))
    assert app.jobs.run_pending() == 3
    assert texts(app) == [True, True, "last"]


def test_a_job_writes_to_the_database_of_the_app(app: AppUnderTest) -> None:
    app.jobs.enqueue(job(app, "writes"))
    assert app.jobs.run_pending() == 1
    with app.flask.app_context():
        flask: Any = app.flask
        assert flask.db.query("SELECT text FROM notes") == [{"text": "written"}]


def test_a_job_calls_the_objects_of_the_app(app: AppUnderTest) -> None:
    app.jobs.enqueue_many([job(app, "counts"), job(app, "counts")])
    assert app.jobs.run_pending() == 2
    assert texts(app) == [1, 2]


def test_a_job_that_runs_is_held_for_an_hour(on_sqlite: AppUnderTest) -> None:
    on_sqlite.jobs.enqueue(job(on_sqlite, "looks"))
    assert on_sqlite.jobs.run_pending() == 1
    assert texts(on_sqlite) == [{"status": "running", "leased_until": on_sqlite.clock.now() + 3600}]


def test_a_cron_job_runs_when_the_clock_has_passed_its_time(app: AppUnderTest) -> None:
    app.clock.move_to(datetime(2030, 1, 1, 7, 59, 59, tzinfo=UTC))
    assert app.jobs.run_pending() == 0
    app.clock.move(1)
    assert app.jobs.run_pending() == 1
    assert app.jobs.run_pending() == 0
    assert texts(app) == ["daily"]


def test_times_that_passed_while_nobody_looked_are_made_up_for_by_one_job(app: AppUnderTest) -> None:
    # Of the Monday that has come meanwhile there is one, too.
    app.clock.move(timedelta(days=10).total_seconds())
    assert app.jobs.run_pending() == 2
    assert sorted(texts(app)) == ["daily", "weekly"]


def test_jobs_run_in_a_request_that_asks_for_it(app: AppUnderTest) -> None:
    app.client.post("/signup")
    assert app.client.post("/run").json == [1]
    assert texts(app) == ["welcome 1"]


@pytest.mark.slow
def test_what_a_transaction_has_not_stored_yet_does_not_run_in_it(
    folder: Path, postgres_url: str, on_sqlite: AppUnderTest
) -> None:
    with pytest.raises(DatabaseLocked):
        on_sqlite.client.post("/run_in_transaction")
    assert on_sqlite.jobs.enqueued(SendWelcome) == []
    with AppUnderTest(folder, database_url=postgres_url) as app:
        assert app.client.post("/run_in_transaction").json == [0]
        assert app.jobs.run_pending() == 1


def test_a_job_that_was_being_run_when_its_process_was_killed_runs_again_after_an_hour(on_sqlite: AppUnderTest) -> None:
    on_sqlite.jobs.enqueue(job(on_sqlite, "interrupted"))
    with (
        closing(sqlite3.connect(on_sqlite.project.database)) as database,
        database,
    ):
        # As SIGKILL leaves it.
        database.execute(
            "UPDATE melee_jobs SET name = 'send_welcome', payload = '{\"user_id\":7}', status = 'running',"
            " attempts = 1, claims = 1, leased_until = ?",
            (on_sqlite.clock.now() + 3600,),
        )
    on_sqlite.clock.move(3600)
    assert on_sqlite.jobs.run_pending() == 0
    assert on_sqlite.jobs.enqueued(SendWelcome) == []
    on_sqlite.clock.move(1)
    assert on_sqlite.jobs.run_pending() == 1
    assert texts(on_sqlite) == ["welcome 7"]


def test_ctrl_c_ends_the_test_and_costs_the_job_no_attempt(on_sqlite: AppUnderTest) -> None:
    on_sqlite.jobs.enqueue(job(on_sqlite, "interrupted"))
    with pytest.raises(KeyboardInterrupt):
        on_sqlite.jobs.run_pending()
    stored = on_sqlite.jobs.get(1)
    assert stored
    assert (stored.status, stored.attempts) == ("queued", 0)


def test_a_job_that_enqueues_itself_for_ever_is_named(on_sqlite: AppUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("melee.jobs.pending._MORE_AT_MOST", 100)
    on_sqlite.jobs.enqueue(job(on_sqlite, "endless"))
    with pytest.raises(RuntimeError, match=r"^endless is due again as soon as it has run; enqueue it for later"):
        on_sqlite.jobs.run_pending()


def test_a_class_that_is_not_registered_is_refused_as_in_the_app(on_sqlite: AppUnderTest) -> None:
    from app import Unregistered  # type: ignore[import-not-found]

    with pytest.raises(DefinitionError, match=r"write app\.jobs\.register\(Unregistered\)"):
        on_sqlite.jobs.enqueue(Unregistered())


def test_another_class_of_the_same_name_is_not_taken_for_the_registered_one(on_sqlite: AppUnderTest) -> None:
    class Other(Job):
        NAME = "send_welcome"
        user_id: int

        def run(self, resources: Resources) -> None: ...

    with pytest.raises(DefinitionError, match="it is not registered"):
        on_sqlite.jobs.enqueue(Other(user_id=1))


def test_the_database_that_the_environment_names_is_left_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, postgres_url: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", postgres_url)
    with AppUnderTest(folder) as app:
        app.client.post("/signup")
        assert app.project.database.is_file()
        assert app.jobs.run_pending() == 1
        assert app.project.database_url == ""
    with AppUnderTest(folder, database_url=postgres_url) as app:
        assert app.jobs.stats() == Stats(0, 0, 0)


def test_an_app_without_jobs_has_no_database_before_it_asks_for_it(tmp_path: Path) -> None:
    source = "from melee import App\n\napp = App(__name__)\n"
    with AppUnderTest(write_app(tmp_path / "app", source)) as app:
        assert not app.project.database.exists()
        assert app.jobs.stats() == Stats(0, 0, 0)
        assert app.jobs.run_pending() == 0


def test_nothing_is_left_open_when_the_test_has_ended(folder: Path) -> None:
    threads = threading.active_count()
    with AppUnderTest(folder, data=folder / "data") as app:
        app.client.post("/signup")
        app.jobs.run_pending()
    assert [file.name for file in (folder / "data").glob("app.*")] == ["app.sqlite3"]
    assert threading.active_count() == threads
