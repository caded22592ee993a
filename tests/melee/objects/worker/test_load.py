"""The object worker under load: it serves or refuses, with no more callers, descriptors and memory than there are."""

import contextlib
import resource
from pathlib import Path

import pytest

from melee import shape
from melee.errors import Overloaded
from melee.objects.connection import HELD_BYTES_AT_MOST
from melee.objects.listener import CALLERS_AT_MOST, allow_many_descriptors
from melee.objects.protocol import HEADER
from melee.testing import WorkerUnderTest
from tests.melee.objects.worker.calling import answer, connected, counter, frame


def test_a_thousand_callers_are_served_or_refused_and_never_hang(worker: WorkerUnderTest) -> None:
    allow_many_descriptors()
    callers = [connected(worker) for _ in range(CALLERS_AT_MOST + 50)]
    for caller in callers:
        try:
            caller.sendall(frame("add"))
        except BrokenPipeError:
            continue
    answers = [answer(caller) for caller in callers]
    served = [each for each in answers if each[0] == "returned"]
    refused = [each for each in answers if each[0] == "failed" and each[1] == Overloaded.__name__]
    assert (len(served), len(refused)) == (CALLERS_AT_MOST, 50)
    with pytest.raises(Overloaded, match="1000 callers are waiting already"):
        counter(worker).value()
    for caller in callers:
        caller.close()
    assert _until_served(worker) == CALLERS_AT_MOST


def test_a_worker_without_descriptors_refuses_and_serves_again_when_it_has_some(worker: WorkerUnderTest) -> None:
    pid = worker.process.pid
    assert counter(worker).add() == 1
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (_descriptors_open(pid) + 3, limits[1]))
    callers = [connected(worker) for _ in range(8)]
    for caller in callers[:3]:
        caller.sendall(frame("add"))
    assert [answer(caller)[0] for caller in callers] == ["returned"] * 3 + ["failed"] * 5
    for caller in callers:
        caller.close()
    assert _until_served(worker) == 4


def _descriptors_open(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def test_requests_that_never_arrive_whole_take_no_more_memory_than_there_is(worker: WorkerUnderTest) -> None:
    admitted = HELD_BYTES_AT_MOST // shape.BYTES_AT_MOST
    callers = [connected(worker) for _ in range(admitted + 2)]
    for caller in callers:
        caller.sendall(HEADER.pack(shape.BYTES_AT_MOST) + b"[")
    refused = callers[admitted:]
    for caller in refused:
        assert answer(caller)[:2] == ["failed", Overloaded.__name__]
        with contextlib.suppress(ConnectionResetError):
            assert caller.recv(1) == b""
    assert counter(worker).add() == 1
    for caller in callers:
        caller.close()
    assert len(counter(worker).echo("x" * 20_000_000)) == 20_000_000


def test_answers_that_nobody_reads_take_no_more_memory_than_there_is(worker: WorkerUnderTest) -> None:
    callers = [connected(worker) for _ in range(24)]
    for caller in callers:
        caller.sendall(frame("large", 30_000_000))
    for caller in callers[12:]:
        assert answer(caller)[:2] == ["failed", Overloaded.__name__]
    with pytest.raises(Overloaded, match=r"Counter/a\.add was refused: \d+,\d+,\d+ bytes of requests and answers"):
        counter(worker).add()
    assert _memory_at_most(worker.process.pid) < 2 * HELD_BYTES_AT_MOST
    for caller in callers:
        caller.close()
    assert _until_served(worker) == 0


def _memory_at_most(pid: int) -> int:
    """The most memory that a process has had so far, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def _until_served(worker: WorkerUnderTest) -> int:
    """The value, once the worker has noticed that the callers are gone."""
    for _ in range(1000):
        try:
            value: int = counter(worker).value()
        except Overloaded:
            continue
        return value
    raise AssertionError("the callers are gone and the worker still refuses")
