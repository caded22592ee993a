"""`GET /metrics`: what is counted of jobs in every process of a server, in the format that Prometheus reads."""

import signal
import sqlite3
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from melee.clock import SystemClock
from melee.jobs.opened import open_jobs
from melee.jobs.store import NewJob
from melee.project import Project
from tests.melee.cli.small_app import PATIENCE_SECONDS, melee
from tests.melee.gate import Gate
from tests.melee.server.jobs_app import noted, write_jobs_app
from tests.melee.server.served import ServerUnderTest

pytestmark = pytest.mark.slow

METRICS = "[server]\nmetrics = true\n"
NAMES = {"note", "wait", "fail"}

Series = Mapping[tuple[str, str], float]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_jobs_app(tmp_path / "app", METRICS)


def scraped(server: ServerUnderTest) -> Series:
    """The value of each series by its name and its job, but for the buckets."""
    families = text_string_to_metric_families(server.ask("metrics").body)
    samples = [sample for family in families for sample in family.samples if "le" not in sample.labels]
    return {(sample.name, sample.labels["job"]): sample.value for sample in samples}


def scraped_when(server: ServerUnderTest, is_there: Callable[[Series], bool]) -> Series:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_there(series := scraped(server)):
        assert time.monotonic() < deadline, series
    return series


def test_every_job_that_is_registered_has_its_series_from_the_start(folder: Path) -> None:
    with ServerUnderTest(folder) as server:
        server.ask()
        with server.asked("metrics") as connection:
            response = connection.getresponse()
            assert response.headers["Content-Type"].startswith("text/plain; version=")
            families = list(text_string_to_metric_families(response.read().decode()))
    counters = {f"jobs_{what}" for what in ("enqueued", "started", "succeeded", "failed", "dead")}
    types = {family.name: family.type for family in families}
    assert types == dict.fromkeys(counters, "counter") | {"jobs_run_seconds": "histogram", "jobs_queued": "gauge"}
    for family in families:
        assert family.documentation.endswith(".")
        assert {sample.labels["job"] for sample in family.samples} == NAMES
        assert {sample.value for sample in family.samples} == {0}
    names = {sample.name for family in families for sample in family.samples}
    assert {f"{name}_total" for name in counters} < names


def test_every_job_of_hundreds_of_requests_is_counted_once(folder: Path) -> None:
    with ServerUnderTest(folder) as server:
        with ThreadPoolExecutor(8) as clients:
            for answer in clients.map(lambda number: server.ask(f"note/{number}"), range(300)):
                assert answer.body == "True"
        assert scraped(server)["jobs_enqueued_total", "note"] == 300
        series = scraped_when(server, lambda series: series["jobs_succeeded_total", "note"] >= 300)
        assert series["jobs_succeeded_total", "note"] == series["jobs_started_total", "note"] == 300
        assert series["jobs_run_seconds_count", "note"] == 300
        assert series["jobs_run_seconds_sum", "note"] > 0
        assert series["jobs_failed_total", "note"] == series["jobs_queued", "note"] == 0
        assert len(noted(folder)) == 300


def test_what_was_rolled_back_is_not_counted(folder: Path) -> None:
    with ServerUnderTest(folder) as server:
        assert server.ask("undone").body == "undone"
        server.ask("note/a")
        assert scraped(server)["jobs_enqueued_total", "note"] == 1


def test_a_job_that_fails_for_good_is_dead(folder: Path) -> None:
    with ServerUnderTest(folder) as server:
        server.ask("fail")
        series = scraped_when(server, lambda series: series["jobs_dead_total", "fail"] > 0)
        counted = [series[f"jobs_{what}_total", "fail"] for what in ("started", "succeeded", "failed", "dead")]
        assert counted == [1, 0, 1, 1]
        assert series["jobs_run_seconds_count", "fail"] == 1


def test_a_job_that_runs_has_started_and_one_for_later_is_queued(folder: Path, gate: Gate) -> None:
    with ServerUnderTest(folder) as server:
        server.ask(f"wait?gate={gate.path}")
        server.ask("note/later?in=1000")
        with gate.reached():
            series = scraped_when(server, lambda series: series["jobs_started_total", "wait"] > 0)
            assert series["jobs_succeeded_total", "wait"] == series["jobs_queued", "wait"] == 0
            assert series["jobs_queued", "note"] == 1
        scraped_when(server, lambda series: series["jobs_succeeded_total", "wait"] == 1)


def test_a_job_that_was_lost_with_its_worker_is_counted_by_the_next(folder: Path, gate: Gate) -> None:
    with ServerUnderTest(folder) as server:
        server.ask(f"wait?gate={gate.path}")
        with gate.reached():
            scraped_when(server, lambda series: series["jobs_started_total", "wait"] == 1)
            server.kill("melee.jobs")
            with closing(sqlite3.connect(folder / "data" / "app.sqlite3")) as database, database:
                database.execute("UPDATE melee_jobs SET leased_until = 0, max_attempts = 1")
            series = scraped_when(server, lambda series: series["jobs_failed_total", "wait"] == 1)
        assert series["jobs_dead_total", "wait"] == 1


def test_names_that_nobody_registered_have_no_series(folder: Path) -> None:
    with ServerUnderTest(folder) as server:
        server.ask("note/a")
        opened = open_jobs(Project.at(folder), SystemClock())
        opened.store.insert([NewJob(f"junk-{number}", "{}") for number in range(100)])
        opened.close()
        assert {job for _name, job in scraped(server)} == NAMES


def test_counters_go_on_after_a_reload_and_asking_does_not_keep_the_app_awake(tmp_path: Path) -> None:
    folder = write_jobs_app(tmp_path / "app", f"{METRICS}sleep_after_seconds = 0.5")
    with ServerUnderTest(folder) as server:
        server.ask("note/a")
        scraped_when(server, lambda series: series["jobs_succeeded_total", "note"] == 1)
        assert melee("reload", folder).returncode == 0
        assert server.ask("note/b?in=1000").status == 200
        server.wait_for("app sleeps; next timer or job: 20")
        for _ in range(3):
            series = scraped(server)
            assert series["jobs_enqueued_total", "note"] == 2
            assert series["jobs_queued", "note"] == 1
        assert server.children() == set()


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP"])
def test_a_request_that_came_through_a_proxy_is_for_the_app(folder: Path, header: str) -> None:
    with ServerUnderTest(folder) as server:
        with server.asked("metrics", **{header: "192.0.2.1"}) as connection:
            response = connection.getresponse()
            assert response.status == 404
            assert b"jobs_" not in response.read()
        assert server.ask("metrics").status == 200


def test_without_the_setting_nothing_is_recorded(tmp_path: Path) -> None:
    folder = write_jobs_app(tmp_path / "app")
    with ServerUnderTest(folder) as server:
        server.ask("note/a")
        assert server.ask("metrics").status == 404
        assert not Project.at(folder).counts.exists()


def test_the_setting_holds_from_a_start_on(folder: Path) -> None:
    with ServerUnderTest(folder) as server:
        server.ask()
        (folder / "melee.toml").write_text("")
        refused = melee("reload", folder)
        assert "[server] metrics was True and is False: stop the server and start it again" in refused.stderr
        assert server.stop(signal.SIGTERM) == 0
    assert not Project.at(folder).counts.exists()


def test_a_server_that_is_killed_leaves_nothing_that_keeps_jobs_from_being_stored(folder: Path) -> None:
    with ServerUnderTest(folder) as server:
        server.ask("note/a")
    assert Project.at(folder).counts.exists()
    opened = open_jobs(Project.at(folder), SystemClock())
    assert opened.store.insert([NewJob("note", '{"words":"b"}')]) == [True]
    opened.close()
    with ServerUnderTest(folder) as server:
        server.ask("note/c")
        assert scraped(server)["jobs_enqueued_total", "note"] == 1


def test_without_its_database_the_page_is_there_but_for_what_is_in_it(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", postgres_url)
    folder = write_jobs_app(tmp_path / "app", METRICS)
    with ServerUnderTest(folder) as server:
        server.ask("note/a?in=1000")
        series = scraped(server)
        assert (series["jobs_enqueued_total", "note"], series["jobs_queued", "note"]) == (1, 1)
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:9/none")
    with ServerUnderTest(folder) as server:
        server.ask()
        series = scraped(server)
        assert series["jobs_enqueued_total", "note"] == 0
        assert ("jobs_queued", "note") not in series
        server.wait_for("the queued jobs cannot be counted")
