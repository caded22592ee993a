"""The end of serving other workers: what is under way ends, and what is not stays for the next worker."""

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from melee.objects.durable import Durable
from melee.objects.listener import listen
from melee.objects.peers import Peers
from melee.objects.protocol import request_frame
from melee.objects.request import Call
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
        self.listening = stack.enter_context(listen(path))
        self.peers = Peers(open_host(Waiter), self.listening.dup(), lambda: None)

    def called(self, method: str) -> socket.socket:
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
