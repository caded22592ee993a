"""What lies on the disk for requests has an end, counted over all of them, and gives its room back."""

import os
from collections.abc import Callable, Iterator

import pytest

from melee.web import scratch
from melee.web.scratch import DiskRefused, Scratch
from melee.web.spool import MEMORY_BYTES, Spool


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Scratch]]:
    """Files of which there may be 1,000 bytes in all."""
    monkeypatch.setattr(scratch, "SCRATCH_BYTES_AT_MOST", 1000)
    files = [Scratch(), Scratch()]
    yield files
    for file in files:
        file.close()


def test_what_is_written_can_be_read_anywhere_and_by_another_from_the_first_byte(kept: list[Scratch]) -> None:
    file, _other = kept
    file.append(b"first ")
    file.append(b"second")
    assert file.read(3, 6) == b"st sec"
    assert os.read(file.fileno(), 100) == b"first second"


@pytest.mark.parametrize("gives_back", [Scratch.clear, Scratch.close])
def test_the_files_of_all_requests_share_their_room(kept: list[Scratch], gives_back: Callable[[Scratch], None]) -> None:
    one, other = kept
    one.append(b"x" * 600)
    other.append(b"x" * 400)
    for file in kept:
        with pytest.raises(DiskRefused, match="hold 1000 bytes at most"):
            file.append(b"x")
    gives_back(one)
    other.append(b"x" * 600)
    with pytest.raises(DiskRefused):
        other.append(b"x")
    assert os.fstat(other.fileno()).st_size == 1000


def test_a_file_that_is_closed_twice_gives_its_room_back_once(kept: list[Scratch]) -> None:
    one, other = kept
    one.append(b"x" * 600)
    one.close()
    one.close()
    other.append(b"x" * 1000)
    with pytest.raises(DiskRefused):
        one.append(b"x")


def test_what_a_spool_had_to_write_is_no_more_when_it_is_closed(kept: list[Scratch]) -> None:
    spool, (file, _other) = Spool(), kept
    spool.write(b"x" * MEMORY_BYTES)
    spool.write(b"x" * 1000)
    with pytest.raises(DiskRefused):
        file.append(b"x")
    spool.close()
    file.append(b"x" * 1000)
