"""The build step before a new version is loaded, in a process of its own: it opens databases, and takes its time."""

import asyncio
import contextlib
import json
from asyncio.subprocess import DEVNULL, PIPE, Process

from melee.errors import BadInput
from melee.processes.supervisor import python
from melee.project import Project

_SECONDS_AT_MOST = 60


async def check_build(project: Project) -> None:
    """Builds an app that is to be served.

    Raises:
        BadInput: it has mistakes, or could not be built within a minute.
    """
    command = python("melee.builder", str(project.folder))
    process = await asyncio.create_subprocess_exec(
        *command, cwd=project.folder, stdin=DEVNULL, stdout=PIPE, start_new_session=True
    )
    try:
        async with asyncio.timeout(_SECONDS_AT_MOST):
            output, _ = await process.communicate()
    except TimeoutError:
        raise BadInput(f"the build step was not done within {_SECONDS_AT_MOST} s; try `melee build`") from None
    finally:
        await _end(process)
    if process.returncode:
        raise BadInput("the build step failed; the log says why")
    found: list[str] = json.loads(output)
    if found:
        others = f" (and {len(found) - 1} more; `melee build` prints all)" if len(found) > 1 else ""
        raise BadInput(f"{found[0]}{others}")


async def _end(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        if process.returncode is None:
            process.kill()
    await process.wait()
