"""`melee jobs` on a real store, in SQLite and in Postgres, while the app is not running."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from melee.cli.jobs import jobs
from melee.cli.main import main
from melee.clock import ManualClock, SystemClock
from melee.errors import DatabaseUnreachable, NoSuchJob
from melee.jobs.opened import open_jobs
from melee.jobs.store import Claim, Failure, NewJob, Store, Wanted
from melee.project import Project
from tests.conftest import write_app

NOWHERE = "postgresql://127.0.0.1:1/nothing"
APP = """
from melee import App, Job

app = App(__name__)


@app.jobs.register
class Mail(Job):
    NAME = "mail"

    def run(self, resources):
        pass
"""


@pytest.fixture(params=["sqlite", "postgres"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    monkeypatch.setenv("DATABASE_URL", url)
    return small(tmp_path)


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    opened = open_jobs(Project.at(folder), ManualClock())
    yield opened.store
    opened.close()


@pytest.fixture
def on_sqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    return small(tmp_path)


def small(folder: Path) -> Path:
    folder = write_app(folder / "small", APP)
    (folder / "melee.toml").write_text("[app]\ntimezone = 'Europe/Paris'\n")
    return folder


def run(*arguments: str | Path | int, answers: str = "") -> Result:
    return CliRunner().invoke(main, ["jobs", *map(str, arguments)], catch_exceptions=False, input=answers)


def claimed(store: Store, name: str = "mail") -> Claim:
    (claim,) = store.claim(Wanted(["default"], [name]), 1, 30, "host/1")
    return claim


def fail(store: Store, error: str = "RuntimeError: no route\n\nTraceback …\n  line 2", **fields: Any) -> int:
    """Stores a job that has failed for good; its id."""
    store.insert([NewJob("mail", '{"to": 1}', **fields)])
    claim = claimed(store)
    store.fail([Failure(claim, error, None)])
    return claim.id


def rows(shown: Result) -> list[list[str]]:
    assert shown.exit_code == 0, shown.output
    return [line.split() for line in shown.stdout.splitlines()]


def test_each_kind_is_counted_and_those_that_nothing_runs_are_marked(folder: Path, store: Store) -> None:
    store.insert([NewJob("mail", "{}"), NewJob("mail", "{}", in_seconds=60), NewJob("old_mail", "{}")])
    claimed(store)
    fail(store)
    shown = run("--app", folder)
    assert rows(shown)[1:] == [
        ["mail", "1", "1", "1", "app.Mail"],
        ["old_mail", "1", "0", "0", "nothing:", "no", "class", "of", "this", "name", "is", "registered"],
    ]
    assert rows(shown)[0] == ["job", "queued", "running", "failed", "what", "runs", "it"]


def test_a_kind_of_which_there_is_none_is_listed_and_no_database_is_made_for_it(on_sqlite: Path) -> None:
    assert rows(run("--app", on_sqlite))[1:] == [["mail", "0", "0", "0", "app.Mail"]]
    assert not (on_sqlite / "data").exists()


def test_an_app_without_jobs_gets_a_friendly_line(tmp_path: Path) -> None:
    for source in ("from melee import App\napp = App(__name__)\n", "def app(environ, start_response): ...\n"):
        shown = run("--app", write_app(tmp_path / "plain", source))
        assert (shown.exit_code, shown.stdout) == (0, "plain has no durable jobs.\n")


def test_what_is_stored_is_listed_when_the_app_is_broken_and_the_reason_is_a_line(folder: Path, store: Store) -> None:
    store.insert([NewJob("mail", "{}")])
    (folder / "app.py").write_text("this is no Python")
    shown = run("--app", folder)
    assert shown.exit_code == 1
    assert shown.stdout.splitlines()[1].split() == ["mail", "1", "0", "0", "?"]
    assert shown.stderr.startswith(f"melee: {folder} is not an app: app.py does not load: ")
    assert shown.stderr.count("\n") == 1


def test_failed_jobs_are_listed_the_newest_first_with_the_first_line_of_their_error(folder: Path, store: Store) -> None:
    assert run("failed", "--app", folder).stdout == "no job has failed\n"
    ids = [fail(store, error) for error in ("KeyError: 'a'\n\nTraceback", "\x1b[31mred\n\nTraceback")]
    head, newest, oldest = run("failed", "--app", folder).stdout.splitlines()
    assert head.split("  ")[0] == "id"
    assert newest.split() == [str(ids[1]), "mail", "1", r"\x1b[31mred", '{"to":', "1}"]
    assert oldest.split() == [str(ids[0]), "mail", "1", "KeyError:", "'a'", '{"to":', "1}"]
    assert len(run("failed", 1, "--app", folder).stdout.splitlines()) == 2


def test_show_tells_all_about_one_job(folder: Path, store: Store) -> None:
    store.insert([NewJob("mail", '{"to": 1}', unique_key="a\nb", priority=3)])
    claim = claimed(store)
    store.fail([Failure(claim, "RuntimeError: no route\n\nTraceback\n  \x1b[31mred", 5)])
    shown = run("show", claim.id, "--app", folder)
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert lines[:6] == [
        f"job:        mail/{claim.id}",
        "status:     queued",
        "queue:      default",
        "priority:   3",
        "attempts:   1 of 5",
        "enqueued:   2030-01-01 01:00:00 CET",
    ]
    assert lines[6].startswith("due:        2030-01-01 01:00:05 CET (in ")
    assert lines[7:] == [
        "worker:     -",
        r"unique key: a\nb",
        'payload:    {"to": 1}',
        "last error: RuntimeError: no route",
        "",
        "            Traceback",
        r"              \x1b[31mred",
    ]


def test_a_job_that_is_not_there_is_one_line(folder: Path, store: Store) -> None:
    for subcommand in ("show", "retry", "discard"):
        shown = run(subcommand, 42, "--app", folder)
        assert (shown.exit_code, shown.stdout) == (1, "")
        assert shown.stderr == "melee: there is no job 42; `melee jobs` lists those that are\n"
    with pytest.raises(NoSuchJob):
        CliRunner().invoke(jobs, ["show", "42", "--app", str(folder)], catch_exceptions=False)


def test_a_failed_job_is_queued_again(folder: Path, store: Store) -> None:
    id = fail(store)
    assert run("retry", id, "--app", folder).stdout == f"mail/{id} is queued again\n"
    job = store.get(id)
    assert job
    assert (job.status, job.attempts) == ("queued", 0)
    shown = run("retry", id, "--app", folder)
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert shown.stderr == f"melee: job {id} is queued; only one that has failed can be tried again\n"


def test_a_job_whose_key_a_newer_one_holds_is_left(folder: Path, store: Store) -> None:
    id = fail(store, unique_key="a")
    fail(store)
    store.insert([NewJob("mail", "{}", unique_key="a")])
    shown = run("retry", id, "--app", folder)
    assert shown.exit_code == 1
    assert shown.stderr == f"melee: job {id} is left as it is, since another one holds its unique key 'a'\n"
    shown = run("retry", "--all", "--app", folder)
    assert shown.stdout == "1 job queued again; 1 left, whose unique key a newer job holds\n"
    assert run("discard", "--failed", "--app", folder).stdout == "1 job discarded\n"
    assert run("retry", "--all", "--app", folder).stdout == "0 jobs queued again\n"


def test_one_job_is_discarded_whatever_its_status(folder: Path, store: Store) -> None:
    failed = fail(store)
    store.insert([NewJob("mail", "{}"), NewJob("mail", "{}")])
    running = claimed(store).id
    for id in (failed, running, running + 1):
        assert run("discard", id, "--app", folder).stdout == f"mail/{id} is discarded\n"
        assert store.get(id) is None


def test_more_than_one_is_discarded_only_by_who_means_it(folder: Path, store: Store) -> None:
    for _time in range(3):
        fail(store)
    store.insert([NewJob("mail", "{}")])
    shown = run("discard", "--failed", "--app", folder, answers="n\n")
    assert shown.exit_code == 1
    assert "Delete 3 jobs for good? [y/N]: n" in shown.stdout
    assert len(store.failed(9)) == 3
    assert run("discard", "--failed", "--app", folder, answers="y\n").stdout.endswith("3 jobs discarded\n")
    assert len(store.waiting(None, 9)) == 1
    fail(store)
    fail(store)
    assert run("discard", "--failed", "--yes", "--app", folder).stdout == "2 jobs discarded\n"


@pytest.mark.parametrize(
    "arguments", [["retry"], ["retry", "1", "--all"], ["discard"], ["discard", "1", "--failed"], ["show", "0"]]
)
def test_which_job_is_meant_has_to_be_clear(on_sqlite: Path, arguments: list[str]) -> None:
    shown = run(*arguments, "--app", on_sqlite)
    assert shown.exit_code == 2
    assert "Usage: " in shown.stderr


def test_a_database_that_cannot_be_reached_is_one_line_without_its_password(
    on_sqlite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", NOWHERE.replace("//", "//melee:secret@"))
    shown = run("--app", on_sqlite)
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert shown.stderr.startswith(f"melee: {NOWHERE}: ")
    assert shown.stderr.count("\n") == 1
    assert "secret" not in shown.stderr
    with pytest.raises(DatabaseUnreachable):
        open_jobs(Project.at(on_sqlite), SystemClock())


def test_a_url_of_something_else_is_one_line(on_sqlite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "mysql://host/name")
    shown = run("--app", on_sqlite)
    assert shown.exit_code == 1
    assert shown.stderr.startswith("melee: DATABASE_URL: it is no URL of Postgres; ")
