"""What the page about durable jobs says of a worker that runs them, seen at a real one."""

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request

import pytest

from melee.clock import SystemClock
from melee.jobs.opened import open_jobs
from melee.jobs.store import NewJob
from melee.project import Project
from melee_examples.welcome.tests.mail_service import mail_service
from tests.conftest import write_app
from tests.examples.copied import ROOT, copy_of, melee_dev, page
from tests.melee.gate import WAIT_AT, Gate

pytestmark = pytest.mark.slow

APP = (
    WAIT_AT
    + """
from melee import App, Job

app = App(__name__)
left_behind = []


@app.jobs.register
class Wait(Job):
    NAME = "wait"
    gate: str

    def run(self, resources):
        wait_at(self.gate)


@app.jobs.register
class Leave(Job):
    NAME = "leave"
    gate: str

    def run(self, resources):
        left_behind.append(1)
        if len(left_behind) == 2:
            wait_at(self.gate)
"""
)


@contextmanager
def working(folder: Path, **environment: str) -> Iterator[None]:
    """Inside, a worker works on the app's jobs."""
    command = [sys.executable, "-m", "melee.jobs", str(folder)]
    given = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=given | environment) as process:
        try:
            assert process.stdout
            assert "job worker works" in process.stdout.readline()
            yield
        finally:
            process.terminate()
            process.communicate(timeout=30)
    assert process.returncode == 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_app(tmp_path / "app", APP)


def enqueue(folder: Path, name: str, gate: Gate, count: int) -> Any:
    opened = open_jobs(Project.at(folder), SystemClock())
    opened.store.insert([NewJob(name, f'{{"gate": "{gate.path}"}}')] * count)
    return opened


def test_jobs_run_side_by_side_and_the_one_that_began_later_may_end_first(folder: Path, tmp_path: Path) -> None:
    with Gate(tmp_path / "gate") as gate:
        opened = enqueue(folder, "wait", gate, 5)
        with working(folder):
            inside = [gate.reached() for _executor in range(4)]
            later = inside.pop()
            later.close()
            # The fifth begins when one of the four has ended, whichever it is.
            fifth = gate.reached()
            assert all(not select.select([one], [], [], 0)[0] for one in inside)
            for one in [*inside, fifth]:
                one.close()
        opened.close()


def test_what_a_job_leaves_in_memory_the_next_one_in_its_executor_may_find(folder: Path, tmp_path: Path) -> None:
    (folder / "melee.toml").write_text("[jobs]\nworkers = 1\n")
    with Gate(tmp_path / "gate") as gate:
        opened = enqueue(folder, "leave", gate, 2)
        with working(folder):
            gate.reached().close()
        opened.close()


def test_melee_dev_runs_jobs_in_its_own_process(tmp_path: Path) -> None:
    copied = copy_of(ROOT / "melee_examples" / "welcome", tmp_path)
    with mail_service() as service, melee_dev(copied, MAIL_URL=service.url) as url:
        assert "on its way" in page(Request(f"{url}signup", b"email=ada@example.org"))
        assert service.wait_until(lambda: len(service.mails) == 1)
