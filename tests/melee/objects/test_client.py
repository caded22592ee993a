"""A caller's end of the worker's socket: how long it waits, which connections it keeps, what a loss means."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import pytest

from melee.clock import SystemClock
from melee.errors import CallTimeout, MeleeError, ObjectUnavailable, OutcomeUnknown, Overloaded
from melee.objects.client import Client
from melee.objects.protocol import HEADER, Failed, reply_frame
from melee.objects.request import Call

CALL = Call("Counter", "a", "add", msgspec.Raw(b"[]"))
LARGE = Call("Counter", "a", "add", msgspec.Raw(msgspec.json.encode(["x" * 4_000_000])))


@contextmanager
def listening(path: Path, *answers: bytes | None) -> Iterator[list[bytes]]:
    """A worker that takes a request on each new connection, gives the next answer, and hangs up; with None for an
    answer it hangs up without having read. Yields what it read."""
    requests: list[bytes] = []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve() -> None:
        for answer in answers:
            caller, _address = listener.accept()
            with caller:
                if answer is not None:
                    requests.append(caller.recv(65536))
                    caller.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield requests
    finally:
        thread.join(timeout=30)
        listener.close()


def ask(path: Path, request: Call = CALL, call_seconds: float = 30) -> bytes:
    with closing(Client(path, SystemClock(), call_seconds)) as client:
        return client.ask(request)


def test_without_a_worker_nothing_began(tmp_path: Path) -> None:
    with pytest.raises(ObjectUnavailable, match="no object worker listens on"):
        ask(tmp_path / "none.sock")


def test_a_worker_that_does_not_answer_in_time_is_a_timeout(tmp_path: Path) -> None:
    path = tmp_path / "worker.sock"
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(path))
        silent.listen()
        with pytest.raises(CallTimeout, match=r"Counter/a\.add gave no answer within 0\.05 s") as raised:
            ask(path, call_seconds=0.05)
    assert raised.value.waited_seconds == 0.05


def test_a_queue_of_callers_that_is_full_is_overload(tmp_path: Path) -> None:
    path = tmp_path / "worker.sock"
    with socket.socket(socket.AF_UNIX) as full:
        full.bind(str(path))
        full.listen(0)
        with socket.socket(socket.AF_UNIX) as first:
            first.connect(str(path))
            with pytest.raises(Overloaded):
                ask(path, call_seconds=5)


@pytest.mark.parametrize("part", [b"", b"\0", b"\0\0\0\7", b'\0\0\0\x14["returned",'], ids=["none", "1", "4", "half"])
def test_a_worker_lost_before_its_whole_answer_leaves_the_outcome_unknown(tmp_path: Path, part: bytes) -> None:
    with listening(tmp_path / "worker.sock", part), pytest.raises(OutcomeUnknown):
        ask(tmp_path / "worker.sock")


def test_a_request_that_nobody_took_never_began(tmp_path: Path) -> None:
    with listening(tmp_path / "worker.sock", None), pytest.raises(ObjectUnavailable):
        ask(tmp_path / "worker.sock")


def test_a_request_that_was_taken_in_part_never_began(tmp_path: Path) -> None:
    with listening(tmp_path / "worker.sock", b""), pytest.raises(ObjectUnavailable, match="hung up"):
        ask(tmp_path / "worker.sock", LARGE)


def test_a_worker_that_refuses_before_it_has_read_is_heard(tmp_path: Path) -> None:
    refusal = reply_frame(Overloaded("*", "*", "1000 callers are waiting already"))
    with listening(tmp_path / "worker.sock", refusal), pytest.raises(Overloaded, match="1000 callers"):
        ask(tmp_path / "worker.sock", LARGE)


def test_an_error_this_version_does_not_know_leaves_the_outcome_unknown(tmp_path: Path) -> None:
    payload = msgspec.json.encode(Failed("FromTheFuture", {"a": 1}))
    answer = HEADER.pack(len(payload)) + payload
    with listening(tmp_path / "worker.sock", answer), pytest.raises(OutcomeUnknown, match="says FromTheFuture"):
        ask(tmp_path / "worker.sock")


def test_an_error_is_the_same_error_at_the_caller(tmp_path: Path) -> None:
    error = Overloaded("Counter/a", "add", "7 callers are waiting already")
    with listening(tmp_path / "worker.sock", reply_frame(error)), pytest.raises(MeleeError) as raised:
        ask(tmp_path / "worker.sock")
    assert (type(raised.value), raised.value.values()) == (Overloaded, error.values())


# Python 3.12 and later warn of a fork beside a thread; the thread here is the test's own and the child ends at once.
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_does_not_use_the_connections_of_its_parent(tmp_path: Path) -> None:
    """Were the connection shared, the child's request would arrive on it, and the parent could read its answer."""
    with listening(tmp_path / "worker.sock", reply_frame(b"1"), reply_frame(b"2")) as requests:
        asking = Client(tmp_path / "worker.sock", SystemClock())
        assert asking.ask(CALL) == b"1"
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write_end, asking.ask(CALL))
            os._exit(0)
        os.waitpid(child, 0)
        assert os.read(read_end, 10) == b"2"
        os.close(read_end)
        os.close(write_end)
        asking.close()
    assert len(requests) == 2
