"""An app with one of each mistake is told one line a mistake; one without builds in silence, and its handles are those
that an import would make."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from melee.builder import guide
from melee.builder.build import build
from melee.objects.handles import render
from melee.objects.hosting import classes_below
from melee.project import Project
from tests.melee.builder.an_app import place_of
from tests.melee.cli import small_app

REPOSITORY = Path(__file__).parents[3]
APPS = sorted(
    file.parent for folder in ("melee_examples", "snippets") for file in (REPOSITORY / folder).glob("**/app.py")
)

MISTAKES = {
    "app.py": """
import threading
import asyncio
import queue
import os
import schedule
from celery import Celery
from melee import App

app = App(__name__)


@app.get("/")
def index():
    threading.Thread(target=print).start()
    jobs = queue.Queue()
    if os.fork() == 0:
        asyncio.create_task(jobs)
    return app.db.query("SELECT txt FROM notes")
""",
    "lib/stats.py": """
import datetime
from app import app
from melee import Durable


class Stats(Durable):
    def hit(self, *, day):
        app.db.run("DELETE FROM notes")

    async def wait(self):
        ...

    def since(self, when: datetime.datetime):
        return self.storage.first("SELECT * FROM weeks")

    def log(self):
        ...

    def on_timer(self, late):
        ...

    def total(self, days=(1, 2)):
        ...
""",
    "lib/mail.py": """
from app import app
from melee import Job


class Mail(Job):
    def run(self, resources):
        app.jobs.enqueue(Mail())


app.jobs.cron("8 o'clock", Mail())
""",
    "db/001_notes.sql": "CREATE TABLE notes (text TEXT);\n",
    "db/objects/stats/001_days.sql": "CREATE TABLE days (views INTEGER);\n",
    "db/objects/statz/001_days.sql": "CREATE TABLE days (views INTEGER);\n",
    "templates/index.html": "<p>\n{% if notes %}\n",
    "melee.toml": "[web]\nslot = 1\n",
}
WITH_JOBS = {
    "app.py": """
from melee import App, now

from jobs.mails import Digest, Mail
from lib.mailer import Mailer

app = App(__name__)
app.provide(Mailer("https://mail.example"))
app.jobs.register(Mail)
app.jobs.cron("CRON_TZ=Europe/Paris 0 8 * * MON-FRI", Digest(period="daily"))


@app.post("/signup")
def signup():
    with app.db.transaction():
        app.db.run("INSERT INTO users (joined_at) VALUES (?)", now().isoformat())
        app.jobs.enqueue(Mail(user_id=1))
    return app.db.query("SELECT name, count(*) AS jobs FROM melee_jobs GROUP BY name")
""",
    "jobs/__init__.py": "",
    "jobs/mails.py": """
import asyncio
from typing import ClassVar

from melee import Job, Resources

from lib.mailer import Mailer, send_all


class Base(Job):
    QUEUE = "mails"
    MAX_ATTEMPTS: ClassVar[int] = 3


class Mail(Base):
    NAME = "mail"
    user_id: int

    def unique_key(self) -> str | None:
        return str(self.user_id)

    def run(self, resources: Resources) -> None:
        user = resources.db.first("SELECT joined_at FROM users WHERE id = ?", self.user_id)
        resources.require(Mailer).send(user)


class Digest(Base):
    NAME = "digest"
    period: str

    async def run(self, resources: Resources) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(send_all())
        await asyncio.to_thread(resources.jobs.enqueue, Mail(user_id=1))
""",
    "lib/mailer.py": """
import asyncio


class Mailer:
    def __init__(self, url: str) -> None:
        self.url = url

    def send(self, user: object) -> None: ...


async def send_all() -> None:
    await asyncio.gather(asyncio.create_task(asyncio.sleep(0)))
""",
    "db/001_users.sql": "CREATE TABLE users (id INTEGER PRIMARY KEY, joined_at TEXT NOT NULL);\n",
}
# Where each stands, and the page that says more.
FOUND = [
    ("app.py", "schedule", guide.SCHEDULERS),
    ("app.py", "from celery", guide.JOB_SYSTEMS),
    ("app.py", "threading.Thread", guide.THREADS),
    ("app.py", "queue.Queue", guide.QUEUES),
    ("app.py", "os.fork", guide.PROCESSES),
    ("app.py", "asyncio.create_task", guide.ASYNC_TASKS),
    ("app.py", "txt", guide.MIGRATIONS),
    ("db/objects/statz/001_days.sql", "CREATE", guide.MIGRATIONS),
    ("lib/mail.py", "class Mail", guide.JOBS),
    ("lib/mail.py", '"8 o', guide.CRON),
    ("lib/stats.py", "day)", guide.METHODS),
    ("lib/stats.py", "app.db", guide.STORAGE),
    ("lib/stats.py", "async def", guide.METHODS),
    ("lib/stats.py", "datetime.datetime", guide.JSON_SHAPE),
    ("lib/stats.py", "weeks", guide.MIGRATIONS),
    ("lib/stats.py", "def log", guide.RESERVED_NAMES),
    ("lib/stats.py", "late", guide.METHODS),
    ("lib/stats.py", "days=", guide.METHODS),
    ("melee.toml", "[web]", ""),
    ("templates/index.html", "{% if", guide.TEMPLATES),
]


@pytest.fixture(autouse=True)
def _path_and_modules_as_before() -> Iterator[None]:
    path, modules = list(sys.path), dict(sys.modules)
    yield
    sys.path[:] = path
    sys.modules.clear()
    sys.modules.update(modules)


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.lstrip("\n"), encoding="utf-8")
    return folder


def test_one_of_each_mistake_is_one_line_each_at_its_place(tmp_path: Path) -> None:
    said = small_app.melee("build", write(tmp_path, MISTAKES))
    lines = said.stdout.splitlines()
    assert (said.returncode, said.stderr, len(lines)) == (1, "", len(FOUND))
    for line, (file, mark, page) in zip(lines, FOUND, strict=True):
        name, row, column = place_of(tmp_path, mark, file)
        assert line.startswith(f"{name}:{row}:{column}: ")
        assert page in line
    assert not (tmp_path / ".melee").exists()


def test_a_file_that_is_not_python_is_one_line_and_nothing_follows_from_it(tmp_path: Path) -> None:
    folder = small_app.write_app(tmp_path / "small")
    (folder / "lib" / "stats.py").write_text("def f(:\n")
    [finding] = build(Project.at(folder))
    assert finding[:3] == ("lib/stats.py", 1, 7)


def test_a_mistake_in_the_notation_of_melee_toml_has_its_place(tmp_path: Path) -> None:
    folder = small_app.write_app(tmp_path / "small")
    (folder / "melee.toml").write_text("[web]\nslots = 4 4\n")
    [finding] = build(Project.at(folder))
    assert finding[:3] == ("melee.toml", 2, 11)


def test_every_page_of_the_guide_that_a_line_may_name_is_named_by_one_of_them() -> None:
    pages = {value for name, value in vars(guide).items() if name.isupper() and not name.startswith("_")}
    # Two classes of one name have a test of their own, and so have statements.
    assert pages - {page for _file, _mark, page in FOUND} == {guide.CLASSES, guide.STATEMENTS}


@pytest.mark.parametrize("folder", APPS, ids=lambda folder: str(folder.relative_to(REPOSITORY)))
def test_an_app_of_this_repository_builds_in_silence_and_its_handles_are_those_of_an_import(
    tmp_path: Path, folder: Path
) -> None:
    project = Project.at(
        Path(shutil.copytree(folder, tmp_path / "app", ignore=shutil.ignore_patterns("data", ".melee")))
    )
    assert build(project) == []
    written = project.handles_file.read_text(encoding="utf-8")
    project.load()
    specs = [cls.spec for cls in classes_below(project.folder).values()]
    assert written == render(sorted(specs, key=lambda spec: (spec.module, spec.name)))


def test_an_app_with_jobs_builds_in_silence(tmp_path: Path) -> None:
    assert build(Project.at(write(tmp_path, WITH_JOBS))) == []


def test_there_are_apps_in_this_repository() -> None:
    assert REPOSITORY / "melee_examples" / "board" in APPS


def test_a_class_that_the_app_does_not_import_has_no_handle(tmp_path: Path) -> None:
    folder = small_app.write_app(tmp_path / "small")
    (folder / "lib" / "later.py").write_text("from melee import Durable\nclass Later(Durable):\n    def f(self): ...\n")
    assert build(Project.at(folder)) == []
    assert "class StatsHandle" in Project.at(folder).handles_file.read_text()
    assert "Later" not in Project.at(folder).handles_file.read_text()


def test_handles_stay_as_they_were_while_there_is_a_mistake(tmp_path: Path) -> None:
    folder = small_app.write_app(tmp_path / "small")
    project = Project.at(folder)
    assert build(project) == []
    before = project.handles_file.read_text()
    stats = folder / "lib" / "stats.py"
    stats.write_text(stats.read_text().replace("def hit(self)", "def hit(self, *days)"))
    assert len(build(project)) == 1
    assert project.handles_file.read_text() == before


def test_handles_that_somebody_broke_are_written_anew(tmp_path: Path) -> None:
    project = Project.at(small_app.write_app(tmp_path / "small"))
    project.handles_file.parent.mkdir()
    project.handles_file.write_bytes(b"\xff")
    assert build(project) == []
    assert "class StatsHandle" in project.handles_file.read_text()


def test_nothing_of_the_app_is_run_and_nothing_else_is_written(tmp_path: Path) -> None:
    folder = small_app.write_app(tmp_path / "small")
    with (folder / "app.py").open("a") as app:
        app.write("\nraise SystemExit(7)\n")
    before = set(folder.rglob("*"))
    assert build(Project.at(folder)) == []
    handles = folder / ".melee" / "objects.py"
    assert set(folder.rglob("*")) - before == {handles, handles.parent}
