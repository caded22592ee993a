"""The object worker as a process of its own: what its callers get, the rude and the slow among them."""

import contextlib
import os
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from melee.clock import SystemClock
from melee.errors import ObjectCallError, ShapeError
from melee.objects.files import file_of
from melee.objects.protocol import FRAME_AT_MOST, HEADER
from melee.objects.request import ObjectRef
from melee.testing import WorkerUnderTest
from tests.melee.gate import Gate
from tests.melee.objects.worker.calling import answer, connected, counter, frame


def test_objects_live_in_a_process_of_their_own(worker: WorkerUnderTest) -> None:
    assert counter(worker).pid() == worker.process.pid != os.getpid()
    assert counter(worker).add(2) == 2
    assert (worker.classes["Counter"].list(), worker.classes["Counter"].count()) == (["a"], 1)
    assert worker.classes["Counter"].destroy("a") is True
    assert counter(worker).value() == 0


def test_many_callers_at_once_are_all_served_and_none_is_lost(worker: WorkerUnderTest) -> None:
    def add_some(_number: int) -> None:
        for _ in range(20):
            counter(worker).add()

    with ThreadPoolExecutor(32) as pool:
        list(pool.map(add_some, range(32)))
    assert counter(worker).value() == 640


def test_a_large_answer_and_a_large_argument_pass_and_more_is_refused(worker: WorkerUnderTest) -> None:
    assert len(counter(worker).large(20_000_000)) == 20_000_000
    with pytest.raises(ShapeError, match=r"Counter\.large result: 34,\d+,\d+ bytes encoded"):
        counter(worker).large(34_000_000)
    with pytest.raises(ShapeError, match=r"Counter\.add argument 1: 34,"):
        counter(worker).add("x" * 34_000_000)
    assert counter(worker).add() == 1


def test_a_caller_whose_call_failed_can_call_again_on_the_same_connection(worker: WorkerUnderTest) -> None:
    with connected(worker) as caller:
        caller.sendall(frame("large", 34_000_000))
        assert answer(caller)[:2] == ["failed", ShapeError.__name__]
        caller.sendall(frame("add"))
        assert answer(caller) == ["returned", 1]


@pytest.mark.parametrize(
    "rubbish",
    [
        struct.pack(">I", FRAME_AT_MOST + 1),
        HEADER.pack(4) + b"null",
        HEADER.pack(3) + b"\xff\xfe\xfd",
        HEADER.pack(9) + b'["nope",1',
        HEADER.pack(200_000) + b"[" * 200_000,
    ],
    ids=["too long", "no request", "no text", "no JSON", "too deep"],
)
def test_rubbish_closes_its_own_connection_and_no_other(worker: WorkerUnderTest, rubbish: bytes) -> None:
    counter(worker).add()
    with connected(worker) as rude:
        rude.sendall(rubbish)
        # What the worker did not read of it makes the end a reset.
        with contextlib.suppress(ConnectionResetError):
            assert answer(rude) == "hung up"
    assert counter(worker).add() == 2


def test_a_request_that_arrives_byte_by_byte_is_served(worker: WorkerUnderTest) -> None:
    with connected(worker) as slow:
        for byte in frame("add"):
            slow.sendall(bytes([byte]))
        assert answer(slow) == ["returned", 1]


def test_a_caller_that_reads_slowly_holds_up_nobody(worker: WorkerUnderTest) -> None:
    with connected(worker) as slow:
        slow.sendall(frame("large", 20_000_000))
        assert counter(worker).add() == 1
        assert len(answer(slow)[1]) == 20_000_000


def test_a_call_whose_caller_has_gone_is_not_begun(worker: WorkerUnderTest, gate: Gate) -> None:
    with connected(worker) as busy:
        busy.sendall(frame("add_after", gate.path))
        with gate.reached(), connected(worker) as gone:
            gone.sendall(frame("add", 1000))
        assert answer(busy) == ["returned", 1]
    assert counter(worker).value() == 1


@pytest.mark.parametrize(
    ("how", "message"), [("half an emoji", "\\ud800"), ("silence", "<str() of this Silent failed>")]
)
def test_an_error_that_cannot_be_told_ends_its_call_and_not_the_worker(
    worker: WorkerUnderTest, how: str, message: str
) -> None:
    with pytest.raises(ObjectCallError) as raised:
        counter(worker).fail(how)
    assert raised.value.message == message
    assert counter(worker).add() == 1


def test_a_worker_with_much_to_say_goes_on(worker: WorkerUnderTest) -> None:
    for _ in range(300):
        with pytest.raises(ObjectCallError):
            counter(worker).fail("silence")
    assert counter(worker).add() == 1


def test_an_idle_object_is_unloaded_although_nobody_calls(app: Path, tmp_path: Path) -> None:
    (app / "melee.toml").write_text("[objects]\nidle_seconds = 0.1\n")
    with WorkerUnderTest(app, data=tmp_path / "data") as worker:
        counter(worker).add()
        log = Path(f"{file_of(worker.project.data / 'objects', ObjectRef('Counter', 'a'))}-wal")
        clock = SystemClock()
        deadline = clock.elapsed() + 30
        # Nothing but the end of this file announces it.
        while log.exists():
            assert clock.elapsed() < deadline, "it stayed in memory"
        assert counter(worker).add() == 2


def test_a_data_folder_with_a_long_path_is_served(app: Path, tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100) / ("y" * 100)
    with WorkerUnderTest(app, data=deep) as worker:
        assert counter(worker).add() == 1
