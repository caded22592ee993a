"""A process that cannot be started, and what the attempt leaves in the server: nothing."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from melee.project import Project
from melee.server.call_sockets import CallSockets, call_sockets
from melee.server.object_worker import ObjectWorker
from melee.server.request_parent import RequestParent
from melee.web.target import AppFolder
from tests.melee.server.conftest import WriteApp

DESCRIPTORS = Path("/proc/self/fd")


@pytest.mark.parametrize(
    "made",
    [lambda project, sockets: ObjectWorker(project, sockets), lambda project, _: RequestParent(AppFolder(project))],
    ids=["object worker", "request parent"],
)
def test_one_that_cannot_be_started_leaves_no_descriptor(
    app: WriteApp, tmp_path: Path, made: Callable[[Project, CallSockets], ObjectWorker | RequestParent]
) -> None:
    (tmp_path / "data").mkdir()
    project = Project.at(app(), tmp_path / "data")
    _ = project.config
    # Where it would have to run.
    shutil.rmtree(project.folder)

    async def start() -> None:
        with call_sockets(project) as (sockets,):
            kept = made(project, sockets)
            before = len([*DESCRIPTORS.iterdir()])
            with pytest.raises(FileNotFoundError) as failed:
                await kept.start()
            # Looked at while the error holds on to all that was there, so that nothing is closed by chance.
            assert len([*DESCRIPTORS.iterdir()]) == before
            assert failed.value.filename == project.folder

    asyncio.run(start())
