"""In processes of their own, since what is settled stays so."""

import subprocess
import sys
from pathlib import Path

import pytest

from melee.processes import memory

SETTLED = """
import gc, mmap
from melee.processes import memory
large = mmap.mmap(-1, 8 * 2**20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
large.write(bytes(8 * 2**20))
made_before = [[] for _ in range(10_000)]
def kilobytes_in_large_pages():
    lines = open("/proc/self/smaps_rollup").read().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("AnonHugePages")))
before = kilobytes_in_large_pages()
memory.settle()
"""


def run(source: str) -> str:
    return subprocess.run([sys.executable, "-c", SETTLED + source], check=True, capture_output=True, text=True).stdout


def test_the_collector_leaves_alone_what_was_there() -> None:
    assert int(run("print(gc.get_freeze_count())")) > 10_000


def test_memory_moves_into_large_pages_and_holds_what_it_held() -> None:
    source = """
import ctypes
begin = ctypes.addressof(ctypes.c_char.from_buffer(large))
aligned = -(-begin // 2**21) * 2**21
# What the kernel says when it is asked again.
refused = memory._libc.madvise(ctypes.c_void_p(aligned), ctypes.c_size_t(2**21), 25)
print(refused, kilobytes_in_large_pages() - before, large[:] == bytes(8 * 2**20), len(made_before))
"""
    refused, more, is_whole, made = run(source).split()
    assert (is_whole, made) == ("True", "10000")
    if refused != "0":
        pytest.skip("this kernel has no large pages to give")
    assert int(more) >= 4096


@pytest.mark.parametrize(
    ("maps", "found"),
    [
        ("200000-800000 rw-p 00000000 00:00 0 ", [(0x200000, 0x600000)]),
        ("300000-500000 rw-p 00000000 00:00 0 ", []),
        ("2ff000-801000 rw-p 00000000 00:00 0 [heap]", [(0x400000, 0x400000)]),
        ("200000-800000 r--p 00000000 00:00 0 ", []),
        ("200000-800000 rw-p 00000000 fe:00 1234 /usr/lib/libpython3.11.so", []),
        ("200000-800000 rw-p 00000000 00:00 0 [stack]", []),
        (b"200000-800000 rw-p 00000000 fe:00 1234 /usr/lib/\xe9\r\x1c 1.so".decode("latin-1"), []),
    ],
)
def test_only_this_process_s_own_memory_in_whole_large_pages_is_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, maps: str, found: list[tuple[int, int]]
) -> None:
    (tmp_path / "maps").write_text(f"{maps}\n", encoding="latin-1", newline="")
    monkeypatch.setattr(memory, "_MAPS", tmp_path / "maps")
    assert list(memory._large_pages()) == found


def test_a_system_without_such_a_list_has_nothing_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_MAPS", tmp_path / "none")
    assert list(memory._large_pages()) == []
