"""A caller's end of the worker's socket: how long it waits, which connections it keeps, what a loss means."""

import os
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import msgspec
import pytest

from melee.clock import SystemClock
from melee.errors import CallTimeout, MeleeError, ObjectUnavailable, OutcomeUnknown, Overloaded
from melee.objects.client import TRIES_AT_MOST, AnswerTo, Client
from melee.objects.protocol import HEADER, Failed, reply_frame, request_frame
from melee.objects.request import Call

CALL = Call("Counter", "a", "add", msgspec.Raw(b"[]"))
LARGE = Call("Counter", "a", "add", msgspec.Raw(msgspec.json.encode(["x" * 4_000_000])))


@contextmanager
def listening(path: Path, *answers: bytes | None) -> Iterator[None]:
    """A worker that takes a request on each new connection, gives the next answer, and hangs up; with None for an
    answer it hangs up without having read."""

    def serve(listener: socket.socket) -> None:
        # A test that fails leaves answers for which nobody asks.
        with suppress(OSError):
            for answer in answers:
                caller, _address = listener.accept()
                with caller:
                    if answer is not None:
                        caller.recv(65536)
                        caller.sendall(answer)

    with bound(path) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        try:
            yield
        finally:
            # Ends an accept() at once; one with a timeout would spin until that is over.
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(timeout=30)


def bound(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    return listener


def ask(path: Path, request: Call = CALL, call_seconds: float = 30) -> bytes:
    with closing(Client(path, SystemClock(), call_seconds)) as client:
        return client.ask(request)


def test_without_a_worker_nothing_began(tmp_path: Path) -> None:
    with pytest.raises(ObjectUnavailable, match="no object worker listens on"):
        ask(tmp_path / "none.sock")


class Impatient(SystemClock):
    """A caller reads it when it begins, connects, sends, and waits for its answer; then its time is over as soon as
    the test says so."""

    def __init__(self) -> None:
        self._reads = 0
        self.is_late = threading.Event()

    def elapsed(self) -> float:
        self._reads += 1
        if self._reads < 4:
            return 0
        assert self.is_late.wait(30)
        return 3600


def test_a_worker_that_takes_a_request_and_does_not_answer_in_time_is_a_timeout(tmp_path: Path) -> None:
    path, clock = tmp_path / "worker.sock", Impatient()
    with bound(path) as listener, ThreadPoolExecutor(1) as pool, closing(Client(path, clock)) as client:
        asking = pool.submit(client.ask, CALL)
        with listener.accept()[0] as worker:
            assert worker.recv(65536) == request_frame(CALL)
            clock.is_late.set()
            with pytest.raises(CallTimeout, match=r"Counter/a\.add gave no answer within 30 s") as raised:
                asking.result(timeout=30)
    assert raised.value.waited_seconds == 30


@pytest.mark.parametrize("request_", [CALL, LARGE], ids=["small", "large"])
def test_a_request_that_is_not_taken_in_time_never_begins(tmp_path: Path, request_: Call) -> None:
    path = tmp_path / "worker.sock"
    with bound(path) as listener:
        with pytest.raises(ObjectUnavailable, match=r"no object worker took it within 0\.05 s"):
            ask(path, request_, call_seconds=0.05)
        with listener.accept()[0] as worker:
            while worker.recv(65536):
                pass


def test_a_request_is_not_sent_when_the_time_is_over_already(tmp_path: Path) -> None:
    with bound(tmp_path / "worker.sock"), pytest.raises(ObjectUnavailable, match="no object worker took it"):
        ask(tmp_path / "worker.sock", call_seconds=0)


def test_a_request_that_nobody_took_goes_to_the_next_worker_and_at_last_to_none(tmp_path: Path) -> None:
    path = tmp_path / "worker.sock"
    with listening(path, None, None, reply_frame(b"1")):
        assert ask(path) == b"1"
    path.unlink()
    with listening(path, None, None, None, reply_frame(b"1")), pytest.raises(ObjectUnavailable):
        ask(path)


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
    # The worker may hang up before the whole request is sent, or after.
    answers, either = [None] * TRIES_AT_MOST, "hung up|ended before it began"
    with listening(tmp_path / "worker.sock", *answers), pytest.raises(ObjectUnavailable, match=either):
        ask(tmp_path / "worker.sock")


def test_a_request_that_was_taken_in_part_never_began(tmp_path: Path) -> None:
    answers = [b""] * TRIES_AT_MOST
    with listening(tmp_path / "worker.sock", *answers), pytest.raises(ObjectUnavailable, match="hung up"):
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


# Python 3.12 and later warn of a fork beside a thread, such as a test runner may have; the child ends at once.
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_does_not_use_the_connections_of_its_parent(tmp_path: Path) -> None:
    """Were the connection shared, the child's request would arrive on it, and the parent could read its answer."""
    path = tmp_path / "worker.sock"
    with bound(path) as listener, closing(Client(path, SystemClock())) as asking:
        listener.settimeout(5)
        with ThreadPoolExecutor(1) as pool:
            answering = pool.submit(answered, listener, b"1")
            assert asking.ask(CALL) == b"1"
        with answering.result() as parents:
            child = os.fork()
            if child == 0:
                try:
                    os._exit(0 if asking.ask(CALL) == b"2" else 1)
                finally:
                    os._exit(1)
            answered(listener, b"2").close()
            parents.setblocking(False)
            with pytest.raises(BlockingIOError):
                parents.recv(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def answered(listener: socket.socket, answer: bytes) -> socket.socket:
    """The next caller, once its request has its answer; the connection stays open."""
    caller, _address = listener.accept()
    caller.settimeout(30)
    caller.recv(65536)
    caller.sendall(reply_frame(answer))
    return caller


def test_an_answer_has_come_from_its_first_byte_on_whether_it_was_read_or_not() -> None:
    answer = AnswerTo()
    ours, theirs = socket.socketpair()
    with theirs:
        seen = [answer.has_come]
        answer.expect_on(ours)
        seen.append(answer.has_come)
        theirs.send(b"[")
        seen.append(answer.has_come)
        answer.wait()
        assert ours.recv(1) == b"["
        seen.append(answer.has_come)
        assert seen == [False, False, True, True]
        # It was not the answer, and the request goes to another connection.
        answer.expect_on(ours)
        seen = [answer.has_come]
        ours.close()
        seen.append(answer.has_come)
        assert seen == [False, True]


def test_an_answer_that_will_not_come_is_waited_for_no_longer(tmp_path: Path) -> None:
    answer = AnswerTo()
    with closing(Client(tmp_path / "none.sock", SystemClock())) as client, pytest.raises(ObjectUnavailable):
        client.ask(CALL, answer)
    assert answer.has_come
