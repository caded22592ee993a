"""A spool keeps what a child wrote until a client takes it, in order and in bounded memory, or says that it cannot."""

import asyncio
import os
import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from melee.web.spool import MEMORY_BYTES, Spool
from tests.melee.child import child_that

READ = None


def test_what_was_written_is_read_in_order_and_then_the_end() -> None:
    async def scenario() -> list[bytes]:
        spool = Spool()
        spool.write(b"first")
        spool.write(b"")
        spool.write(b"second")
        spool.end()
        return [await spool.read() for _ in range(4)]

    assert asyncio.run(scenario()) == [b"first", b"second", b"", b""]


def test_a_reader_waits_for_what_is_not_there_yet() -> None:
    async def scenario() -> list[bytes]:
        spool = Spool()
        async with asyncio.TaskGroup() as tasks:
            reader = tasks.create_task(_read_all(spool))
            for data in (b"one", b"two"):
                await asyncio.sleep(0)
                assert not reader.done()
                spool.write(data)
            await asyncio.sleep(0)
            spool.end()
        return reader.result()

    assert asyncio.run(scenario()) == [b"one", b"two"]


# Sizes around what stays in memory, so that a few steps go over into the file and come back.
@given(st.lists(st.one_of(st.just(READ), st.sampled_from([1, 1000, 65_537, 150_000, MEMORY_BYTES + 1])), max_size=40))
def test_any_interleaving_of_writes_and_reads_gives_the_same_bytes(steps: list[int | None]) -> None:
    async def scenario() -> None:
        spool, written, read = Spool(), bytearray(), bytearray()
        for number, size in enumerate(steps):
            if size is not READ:
                data = os.urandom(8) + bytes([number]) * size
                spool.write(data)
                written += data
            elif len(read) < len(written):
                read += await spool.read()
        spool.end()
        read += b"".join(await _read_all(spool))
        spool.close()
        assert read == written

    asyncio.run(scenario())


def test_the_first_quarter_mebibyte_stays_in_memory_and_the_rest_goes_to_a_file() -> None:
    async def scenario() -> None:
        spool = Spool()
        before = _open_files()
        spool.write(b"m" * MEMORY_BYTES)
        assert _open_files() == before
        spool.write(b"f" * 1000)
        (file,) = _open_files() - before
        assert _size_of(file) == 1000
        spool.close()
        assert _open_files() == before

    asyncio.run(scenario())


def test_a_file_that_was_read_to_its_end_takes_no_more_disk_and_what_is_written_next_stays_in_memory() -> None:
    async def scenario() -> None:
        spool = Spool()
        before = _open_files()
        spool.write(b"f" * (MEMORY_BYTES + 1))
        (file,) = _open_files() - before
        assert _size_of(file) == MEMORY_BYTES + 1
        for _ in range(5):
            await spool.read()
        assert _size_of(file) == 0
        spool.write(b"m")
        assert _size_of(file) == 0
        assert await spool.read() == b"m"
        spool.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("read", [0, 1, 3])
def test_how_much_waits_for_the_reader_is_known_when_all_is_written(read: int) -> None:
    async def scenario() -> None:
        spool, size = Spool(), 3 * MEMORY_BYTES + 10
        asked = asyncio.create_task(spool.size())
        for part in (b"m" * MEMORY_BYTES, b"f" * MEMORY_BYTES, b"f" * MEMORY_BYTES, b"f" * 10):
            spool.write(part)
            await asyncio.sleep(0)
        assert not asked.done()
        taken = sum([len(await spool.read()) for _ in range(read)])
        spool.end()
        assert await asked == size - taken
        assert len(b"".join(await _read_all(spool))) == size - taken
        spool.close()

    asyncio.run(scenario())


def test_a_spool_that_failed_has_no_size() -> None:
    async def scenario() -> None:
        spool = Spool()
        spool.write(b"before")
        spool.fail(ConnectionResetError("the child died"))
        with pytest.raises(ConnectionResetError, match="the child died"):
            await spool.size()

    asyncio.run(scenario())


def test_a_reader_that_keeps_up_needs_no_file() -> None:
    async def scenario() -> None:
        spool = Spool()
        before = _open_files()
        for _ in range(100):
            spool.write(b"x" * 65_536)
            await spool.read()
        assert _open_files() == before

    asyncio.run(scenario())


def test_the_file_has_no_name() -> None:
    async def scenario() -> None:
        spool = Spool()
        before = _open_files()
        spool.write(b"f" * (MEMORY_BYTES + 1))
        (file,) = _open_files() - before
        assert file.stat().st_nlink == 0
        spool.close()

    asyncio.run(scenario())


def test_a_failure_comes_after_what_was_written_before_it_and_stays() -> None:
    async def scenario() -> None:
        spool = Spool()
        spool.write(b"before")
        spool.fail(ConnectionResetError("the child died"))
        spool.write(b"after")
        spool.end()
        assert await spool.read() == b"before"
        for _ in range(2):
            with pytest.raises(ConnectionResetError, match="the child died"):
                await spool.read()

    asyncio.run(scenario())


def test_a_failure_after_the_end_changes_nothing() -> None:
    async def scenario() -> list[bytes]:
        spool = Spool()
        spool.write(b"whole")
        spool.end()
        spool.fail(ConnectionResetError("too late"))
        return await _read_all(spool)

    assert asyncio.run(scenario()) == [b"whole"]


def test_a_failure_wakes_a_reader_that_waits() -> None:
    async def scenario() -> None:
        spool = Spool()
        reader = asyncio.create_task(spool.read())
        await asyncio.sleep(0)
        spool.fail(TimeoutError("over budget"))
        with pytest.raises(TimeoutError, match="over budget"):
            await reader

    asyncio.run(scenario())


def test_a_disk_that_is_full_fails_the_reader_after_all_that_was_kept() -> None:
    room = 100_000

    async def scenario() -> None:
        spool = Spool()
        for data in (b"m" * MEMORY_BYTES, b"f" * 70_000, b"f" * 70_000, b"lost"):
            spool.write(data)
        spool.end()
        read = b"".join([await spool.read() for _ in range(3)])
        assert read == b"m" * MEMORY_BYTES + b"f" * room
        with pytest.raises(OSError, match="File too large"):
            await spool.read()
        spool.close()

    def on_a_small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        asyncio.run(scenario())

    # Below the limit on files, the test run could not write either.
    with child_that(on_a_small_disk):
        pass


def test_a_closed_spool_takes_nothing_more() -> None:
    async def scenario() -> None:
        spool = Spool()
        spool.write(b"f" * (2 * MEMORY_BYTES))
        spool.close()
        spool.close()
        before = _open_files()
        spool.write(b"f" * (2 * MEMORY_BYTES))
        assert _open_files() == before
        assert await spool.read() == b""

    asyncio.run(scenario())


async def _read_all(spool: Spool) -> list[bytes]:
    read = []
    while data := await spool.read():
        read.append(data)
    return read


def _open_files() -> set[Path]:
    return {Path(entry) for entry in Path("/proc/self/fd").iterdir() if _is_regular(entry)}


def _is_regular(entry: Path) -> bool:
    # The descriptor that lists the folder is gone again.
    return entry.exists() and entry.is_file()


def _size_of(file: Path) -> int:
    return file.stat().st_size
