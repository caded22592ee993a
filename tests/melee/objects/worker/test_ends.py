"""The end of an object worker, by a signal or by its own objects: what callers learn, and who serves them next."""

import contextlib
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from melee.clock import SystemClock
from melee.errors import ObjectUnavailable, OutcomeUnknown
from melee.objects.client import Client
from melee.objects.request import Call, owned_by
from melee.objects.shard import Shard
from melee.testing import WorkerUnderTest
from tests.melee.gate import Gate
from tests.melee.objects.worker.calling import answer, connected, counter, frame


class ReadClock(SystemClock):
    """Tells how often it was read. A caller reads it when it begins, connects, sends, and waits for its answer."""

    def __init__(self) -> None:
        self.reads = threading.Semaphore(0)

    def elapsed(self) -> float:
        self.reads.release()
        return super().elapsed()

    def wait_for_reads(self, count: int) -> None:
        for _ in range(count):
            assert self.reads.acquire(timeout=30)


def test_a_killed_worker_leaves_the_running_call_unknown_and_the_waiting_ones_unbegun(
    worker: WorkerUnderTest, gate: Gate
) -> None:
    clock = ReadClock()
    with ThreadPoolExecutor(2) as callers, contextlib.closing(Client(Shard().socket(worker.project), clock)) as client:
        running = callers.submit(counter(worker).add_after, gate.path)
        with gate.reached(), owned_by(client):
            waiting = callers.submit(counter(worker).add)
            clock.wait_for_reads(4)
            worker.kill()
        assert isinstance(running.exception(timeout=5), OutcomeUnknown)
        # It went to the next worker, which there is not.
        with pytest.raises(ObjectUnavailable, match="no object worker listens"):
            waiting.result(timeout=5)
    with pytest.raises(ObjectUnavailable, match="no object worker listens"):
        counter(worker).add()


def test_a_method_that_ends_the_process_leaves_its_outcome_unknown(worker: WorkerUnderTest) -> None:
    with pytest.raises(OutcomeUnknown):
        counter(worker).exit()
    assert worker.process.wait(timeout=10) == 3


def test_a_client_finds_the_next_worker_without_losing_a_call(app: Path, tmp_path: Path) -> None:
    with WorkerUnderTest(app, data=tmp_path / "data") as first:
        client = Client(Shard().socket(first.project), SystemClock())
        call = Call("Counter", "a", "add", msgspec.Raw(b"[]"))
        assert client.ask(call) == b"1"
        first.kill()
        with pytest.raises(ObjectUnavailable, match="no object worker listens"):
            client.ask(call)
        with WorkerUnderTest(app, data=tmp_path / "data") as second:
            assert client.ask(call) == b"2"
            second.kill()
        with WorkerUnderTest(app, data=tmp_path / "data"):
            assert client.ask(call) == b"3"
        client.close()


def test_a_terminated_worker_ends_well_and_answers_what_it_runs(worker: WorkerUnderTest, gate: Gate) -> None:
    with connected(worker) as busy:
        busy.sendall(frame("add_after", gate.path))
        with gate.reached():
            worker.process.send_signal(signal.SIGTERM)
        assert answer(busy) == ["returned", 1]
    assert worker.process.wait(timeout=10) == 0
    assert not Shard().socket(worker.project).exists()
