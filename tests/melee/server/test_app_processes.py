"""The processes of an app while one change of them meets another."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from melee.server.app_processes import AppProcesses
from melee.web.children import ParentLost
from melee.web.target import PlainCallable
from tests.melee.gate import WAIT_AT, Gate

pytestmark = pytest.mark.slow

GATED = f"""
{WAIT_AT}
wait_at("{{gate}}")

def app(environ, start_response): ...
"""


Happening = Callable[[AppProcesses], Awaitable[None]]
Have = Callable[[Happening], None]


@pytest.fixture
def processes(tmp_path: Path, gate: Gate) -> Have:
    """Call it with what happens to the processes of an app that waits at the gate each time that it is loaded."""
    (tmp_path / "gated.py").write_text(GATED.format(gate=gate.path))

    def have(happening: Happening) -> None:
        async def happen() -> None:
            processes = AppProcesses(PlainCallable("gated:app", tmp_path), [])
            try:
                async with asyncio.timeout(60):
                    await happening(processes)
            finally:
                await processes.stop(grace_seconds=10)

        asyncio.run(happen())

    return have


async def load(gate: Gate) -> None:
    (await asyncio.to_thread(gate.reached)).close()


def test_an_app_that_is_needed_again_by_the_time_it_could_sleep_stays_awake(processes: Have, gate: Gate) -> None:
    async def happening(processes: AppProcesses) -> None:
        await asyncio.gather(processes.start(), load(gate))
        reloading = asyncio.create_task(processes.reload())
        reached = await asyncio.to_thread(gate.reached)
        is_needed = False
        sleeping = asyncio.create_task(processes.sleep_if(lambda: not is_needed))
        # It comes as far as to wait for the reload.
        await asyncio.sleep(0)
        is_needed = True
        reached.close()
        await asyncio.gather(reloading, sleeping)
        assert not processes.is_asleep
        is_needed = False
        await processes.sleep_if(lambda: not is_needed)
        assert processes.is_asleep

    processes(happening)


def test_a_request_that_waits_for_the_old_version_is_served_by_the_new_one(processes: Have, gate: Gate) -> None:
    async def happening(processes: AppProcesses) -> None:
        # It wakes the app, and the first version is never there.
        waiting = asyncio.create_task(processes.children())
        first = await asyncio.to_thread(gate.reached)
        await asyncio.gather(processes.reload(), load(gate))
        children = await waiting
        assert children is await processes.children()
        first.close()

    processes(happening)


def test_nothing_is_started_once_the_end_has_begun(processes: Have, gate: Gate) -> None:
    async def happening(processes: AppProcesses) -> None:
        starting = asyncio.create_task(processes.start())
        with await asyncio.to_thread(gate.reached):
            await processes.stop(grace_seconds=10)
        for begin in (starting, processes.reload(), processes.children()):
            with pytest.raises(ParentLost, match="the server stops"):
                await begin
        await processes.wake_for_timer()
        assert processes.is_asleep

    processes(happening)
