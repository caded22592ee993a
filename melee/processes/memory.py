"""The memory of a process that forks, made cheap to share."""

import ctypes
import gc
from collections.abc import Iterator
from pathlib import Path

_LARGE_PAGE_BYTES = 2 * 1024 * 1024
# Linux 6.1 and later; an older one refuses it, and nothing is lost.
_MADV_COLLAPSE = 25
_MAPS = Path("/proc/self/maps")


def settle() -> None:
    """Call it when all is there that the children are to share.

    What was made up to now is left alone by the garbage collector, which would write to it. Where Linux can do it, the
    memory moves into large pages: a fork copies an entry for each page, and a process that has imported Flask has
    thousands of small ones.
    """
    gc.collect()
    gc.freeze()
    for begin, length in _large_pages():
        _libc.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(length), _MADV_COLLAPSE)


_libc = ctypes.CDLL(None)


def _large_pages() -> Iterator[tuple[int, int]]:
    """The parts of this process's own memory that large pages can hold: where each begins, and its length."""
    # In bytes: it names files, whose names are any bytes but the end of a line.
    maps = _MAPS.read_bytes() if _MAPS.is_file() else b""
    for line in filter(None, maps.split(b"\n")):
        addresses, rights, _offset, _device, file, *name = line.split()
        if file != b"0" or not rights.startswith(b"rw") or name == [b"[stack]"]:
            continue
        first, last = (int(address, 16) for address in addresses.split(b"-"))
        begin = -(-first // _LARGE_PAGE_BYTES) * _LARGE_PAGE_BYTES
        end = last // _LARGE_PAGE_BYTES * _LARGE_PAGE_BYTES
        if end > begin:
            yield begin, end - begin
