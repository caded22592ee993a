"""The end of serving other workers: what is under way ends, and what is not stays for the next worker."""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import msgspec
import pytest

from melee.clock import SystemClock
from melee.objects.durable import Durable
from melee.objects.listener import listen
from melee.objects.peers import Peers
from melee.objects.protocol import request_frame
from melee.objects.request import Call
from melee.objects.worker import Worker
from tests.melee.objects.conftest import OpenHost


class Waiter(Durable):
    has_begun, may_end = threading.Event(), threading.Event()

    def wait(self) -> None:
        self.has_begun.set()
        assert self.may_end.wait(30)

    def hello(self) -> str:
        return "hello"


class Serving:
    """A host's end for other workers, and connections of theirs."""

    def __init__(self, path: Path, open_host: OpenHost, stack: ExitStack) -> None:
        self.path, self._stack = path, stack
        failed: list[BaseException] = []
        stack.callback(lambda: pytest.fail(str(failed)) if failed else None)
        self.peers = Peers(open_host(Waiter), listen(path), lambda: None, failed.append)

    def called(self, method: str) -> socket.socket:
        """A connection on which another worker has asked for a method."""
        connection = self._stack.enter_context(socket.socket(socket.AF_UNIX))
        connection.settimeout(30)
        connection.connect(str(self.path))
        connection.sendall(request_frame(Call("Waiter", method, method, msgspec.Raw(b"[]"))))
        return connection


@pytest.fixture
def serving(tmp_path: Path, open_host: OpenHost) -> Iterator[Serving]:
    with ExitStack() as stack:
        yield Serving(tmp_path / "peers.sock", open_host, stack)


def test_what_has_not_begun_when_the_end_begins_is_left_to_the_next_worker(serving: Serving) -> None:
    waiting = serving.called("wait")
    assert Waiter.has_begun.wait(30)
    with ThreadPoolExecutor(1) as pool:
        closing = pool.submit(serving.peers.close)
        while not serving.peers._is_closing:
            assert not closing.done()
        late = serving.called("hello")
        late.settimeout(0.3)
        with pytest.raises(TimeoutError):
            late.recv(1)
        late.settimeout(30)
        Waiter.may_end.set()
        closing.result(timeout=30)
    assert b"returned" in waiting.recv(4096)
    with pytest.raises(ConnectionResetError):
        late.recv(4096)


def test_an_answer_that_nobody_takes_any_more_keeps_no_thread(serving: Serving) -> None:
    Waiter.has_begun.clear()
    Waiter.may_end.clear()
    with serving.called("wait"):
        assert Waiter.has_begun.wait(30)
    Waiter.may_end.set()
    closing = threading.Thread(target=serving.peers.close, daemon=True)
    closing.start()
    closing.join(30)
    assert not closing.is_alive()


def test_a_worker_that_has_no_room_for_a_thread_lets_its_caller_try_again_and_serves_on(serving: Serving) -> None:
    # More than a process can have, so that it is the system that refuses.
    before = threading.stack_size(1 << 47)
    try:
        # It may hang up before it has been asked.
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            serving.called("hello").recv(4096)
    finally:
        threading.stack_size(before)
    assert b"returned" in serving.called("hello").recv(4096)
    serving.peers.close()


def test_a_worker_to_which_no_other_can_come_ends_as_by_any_error(tmp_path: Path, open_host: OpenHost) -> None:
    gives_up = threading.Timer(20, os.kill, (os.getpid(), signal.SIGTERM))
    # It does not listen, so that there is nobody to accept.
    peers = socket.socket(socket.AF_UNIX)
    callers = listen(tmp_path / "callers.sock")
    with closing(Worker(open_host(Waiter), callers, SystemClock(), peer_listening=peers)) as worker:
        gives_up.start()
        with pytest.raises(OSError, match="Invalid argument"):
            worker.run()
        gives_up.cancel()
