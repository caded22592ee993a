"""A supervisor starts its process again when it dies, ever later when it dies young, and ends it in order."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from melee.processes.supervisor import PAUSE_SECONDS_AT_MOST, Supervisor, spawn
from tests.melee.processes.forking import children_of, is_running, wait_for_end
from tests.melee.processes.kept import WAIT_SECONDS, MovedLoop, Program, keeping

HANGS = "import os, signal; os.write({there}, b'.'); signal.pause()"
HANGS_ON = "import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.write({there}, b'.'); signal.pause()"
STARTS_ANOTHER = "import os, signal; os.fork() or os.write({there}, b'.'); signal.alarm(120); signal.pause()"
ENDS = "import os; os.write({there}, b'.'); os._exit(3)"


def test_a_program_runs_in_its_folder_and_in_a_session_of_its_own_with_just_what_it_is_given(tmp_path: Path) -> None:
    async def tell() -> bytes:
        here, there = os.pipe()
        os.set_inheritable(here, True)
        source = (
            "import json, os; held = [n for n in range(100) if os.path.exists(f'/proc/self/fd/{n}')]; "
            "told = [os.getcwd(), os.getsid(0) == os.getpid(), held, os.readlink('/proc/self/fd/0')]; "
            f"os.write({there}, json.dumps(told).encode())"
        )
        process = await spawn([sys.executable, "-S", "-c", source], there, folder=tmp_path)
        assert await process.wait() == 0
        told = os.read(here, 10_000)
        os.close(here)
        os.close(there)
        return told + bytes([there])

    told = asyncio.run(tell())
    assert json.loads(told[:-1]) == [str(tmp_path), True, [0, 1, 2, told[-1]], "/dev/null"]


def test_one_that_has_served_is_started_again_at_once() -> None:
    async def test(program: Program, supervisor: Supervisor) -> None:
        supervisor.start()
        for _ in range(3):
            await program.is_there()
            supervisor.serves()
            assert supervisor.pid
            os.kill(supervisor.pid, signal.SIGKILL)
            assert await program.ends.get() == 0

    keeping(HANGS, test)


def test_one_that_ends_before_it_serves_is_started_after_pauses_that_grow_up_to_a_limit() -> None:
    async def test(program: Program, supervisor: Supervisor) -> None:
        program.skips_pauses = True
        supervisor.start()
        for _ in range(10):
            await program.ends.get()
        assert program.pauses == pytest.approx([0.2 * 2**n for n in range(8)] + [PAUSE_SECONDS_AT_MOST] * 2)

    keeping(ENDS, test)


def test_a_pause_is_waited_for() -> None:
    async def test(program: Program, supervisor: Supervisor) -> None:
        loop = asyncio.get_running_loop()
        supervisor.start()
        await program.ends.get()
        ended_at = loop.time()
        program.is_starting.clear()
        await program.is_starting.wait()
        assert loop.time() - ended_at >= 0.19

    keeping(ENDS, test)


def test_one_that_cannot_be_started_is_tried_again() -> None:
    async def test(program: Program, supervisor: Supervisor) -> None:
        program.faults = [OSError(11, "no more processes"), OSError(24, "no more descriptors")]
        supervisor.start()
        await program.is_there()
        assert program.pauses == pytest.approx([0.2, 0.4])

    keeping(HANGS, test)


def test_one_that_is_stopped_ends_by_sigterm_and_is_not_started_again() -> None:
    async def test(program: Program, supervisor: Supervisor) -> None:
        supervisor.start()
        await program.is_there()
        pid = supervisor.pid
        assert pid
        await supervisor.stop(WAIT_SECONDS)
        assert supervisor.pid is None
        assert len(program.pauses) == 1
        assert not Path(f"/proc/{pid}").exists()

    keeping(HANGS, test)


def test_one_that_ignores_sigterm_is_killed_after_the_grace_time() -> None:
    async def test(program: Program, supervisor: Supervisor) -> None:
        supervisor.start()
        await program.is_there()
        pid = supervisor.pid
        assert pid
        stopping = asyncio.create_task(supervisor.stop(20))
        # It has been told, and its time is not over.
        await asyncio.sleep(0)
        assert is_running(pid)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, MovedLoop)
        loop.jumped_seconds += 20
        await stopping
        assert not Path(f"/proc/{pid}").exists()

    keeping(HANGS_ON, test)


def test_one_that_is_stopped_while_it_starts_ends() -> None:
    async def test(program: Program, supervisor: Supervisor) -> None:
        program.may_start.clear()
        supervisor.start()
        await program.is_starting.wait()
        stopping = asyncio.create_task(supervisor.stop(WAIT_SECONDS))
        await asyncio.sleep(0)
        program.may_start.set()
        await stopping
        assert len(program.pauses) == 1

    keeping(HANGS, test)


def test_one_whose_grace_time_ends_while_it_starts_is_killed() -> None:
    async def test(program: Program, supervisor: Supervisor) -> None:
        program.may_start.clear()
        supervisor.start()
        await program.is_starting.wait()
        stopping = asyncio.create_task(supervisor.stop(0))
        # The grace time of none is over when both have had their turn.
        await asyncio.wait([stopping], timeout=0.1)
        was = signal.signal(signal.SIGTERM, signal.SIG_IGN)
        try:
            program.may_start.set()
            await stopping
        finally:
            signal.signal(signal.SIGTERM, was)

    keeping(HANGS, test)


def test_whoever_gives_up_waiting_for_the_end_does_not_prevent_it() -> None:
    async def test(program: Program, supervisor: Supervisor) -> None:
        program.may_start.clear()
        supervisor.start()
        await program.is_starting.wait()
        stopping = asyncio.create_task(supervisor.stop(0))
        # No grace time is left after both have had their turn, and the process is still being started.
        await asyncio.wait([stopping], timeout=0.1)
        stopping.cancel()
        await asyncio.wait([stopping])
        program.may_start.set()
        await supervisor.stop(WAIT_SECONDS)
        assert len(program.pauses) == 1

    keeping(HANGS, test)


def test_one_that_is_stopped_in_a_pause_does_not_wait_for_its_end() -> None:
    async def test(program: Program, supervisor: Supervisor) -> None:
        supervisor.start()
        while await program.ends.get() < 1.6:
            pass
        began_at = asyncio.get_running_loop().time()
        await supervisor.stop(WAIT_SECONDS)
        assert asyncio.get_running_loop().time() - began_at < 1.5
        assert len(program.pauses) == 4

    keeping(ENDS, test)


def test_one_that_may_end_is_not_told_to_and_none_follows_it() -> None:
    async def test(program: Program, supervisor: Supervisor) -> None:
        supervisor.start()
        await program.is_there()
        supervisor.let_end()
        pid = supervisor.pid
        assert pid
        await asyncio.sleep(0)
        assert is_running(pid)
        os.kill(pid, signal.SIGKILL)
        await program.ends.get()
        await supervisor.stop(0)
        assert len(program.pauses) == 1

    keeping(HANGS, test)


def test_what_a_process_started_ends_with_it() -> None:
    async def test(program: Program, supervisor: Supervisor) -> None:
        supervisor.start()
        await program.is_there()
        assert supervisor.pid
        left = children_of(supervisor.pid)
        assert len(left) == 1
        os.kill(supervisor.pid, signal.SIGKILL)
        await asyncio.to_thread(wait_for_end, *left)

    keeping(STARTS_ANOTHER, test)


def test_one_that_was_never_started_can_be_stopped() -> None:
    async def test(_program: Program, supervisor: Supervisor) -> None:
        await supervisor.stop(0)

    keeping(HANGS, test)
