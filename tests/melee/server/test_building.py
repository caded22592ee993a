"""The build step of a reload is a process of its own, and none is left when nobody waits for it any longer."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from melee.errors import BadInput
from melee.project import Project
from melee.server import building
from melee.server.building import check_build
from tests.melee.server.conftest import WriteApp


@pytest.fixture
def project(app: WriteApp) -> Project:
    return Project.at(app())


def assert_no_process_is_left() -> None:
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_an_app_without_mistakes_has_its_handles_and_nothing_is_said(project: Project) -> None:
    asyncio.run(check_build(project))
    assert project.handles_file.is_file()


def test_one_whose_handles_cannot_be_written_is_told_why(project: Project) -> None:
    project.handles_file.parent.touch()
    with pytest.raises(BadInput, match=r"\.melee: File exists$"):
        asyncio.run(check_build(project))


def test_one_that_is_no_app_any_longer_is_told_so(project: Project) -> None:
    (project.folder / "app.py").unlink()
    with pytest.raises(BadInput, match=r"is not an app: it has no app\.py"):
        asyncio.run(check_build(project))


def test_one_that_breaks_down_is_no_success(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "python", lambda *_arguments: [sys.executable, "-c", "raise SystemExit(3)"])
    with pytest.raises(BadInput, match="the build step failed; the log says why"):
        asyncio.run(check_build(project))


def test_one_that_takes_too_long_is_ended(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "_SECONDS_AT_MOST", 0)
    with pytest.raises(BadInput, match="was not done within 0 s; try `melee build`"):
        asyncio.run(check_build(project))
    assert_no_process_is_left()


def test_one_that_nobody_waits_for_any_longer_is_ended(project: Project) -> None:
    async def begin_and_stop() -> None:
        task = asyncio.create_task(check_build(project))
        while not list(Path(f"/proc/{os.getpid()}/task/{os.getpid()}").joinpath("children").read_text().split()):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(begin_and_stop())
    assert_no_process_is_left()
