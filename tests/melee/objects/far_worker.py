"""A host of one of two workers, whose other one the test plays."""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count, islice
from pathlib import Path
from typing import Any

import msgspec

from melee.clock import ManualClock
from melee.objects.commit import Outcome
from melee.objects.durable import Durable
from melee.objects.host import Host
from melee.objects.listener import listen
from melee.objects.protocol import HEADER, read_request, reply_frame
from melee.objects.request import Call, ObjectRef, Request
from melee.objects.shard import Shard

HERE = Shard(0, 2)


class Node(Durable):
    def ask(self, path: list[str]) -> list[str]:
        """Calls the first of the path, which calls the next."""
        self.storage.put("begun", True)
        further = Node.get(path[0]).ask(path[1:]) if path else []
        self.storage.put("ended", True)
        return [self.id, *further]

    def ask_each(self, ids: list[str]) -> None:
        for id in ids:
            Node.get(id).ask([])

    def count_all(self) -> int:
        return Node.count()

    def is_over(self) -> bool:
        begun: bool = self.storage.get("begun", False) == self.storage.get("ended", False)
        return begun

    def arm(self, seconds: float = 60) -> None:
        self.timer(after=seconds)

    def ask_and_arm(self, id: str, seconds: float) -> None:
        Node.get(id).ask([])
        self.timer(after=seconds)

    def on_timer(self) -> None:
        self.storage.put("fired when it was over", self.is_over())

    def fired_when_it_was_over(self) -> Any:
        return self.storage.get("fired when it was over")


def ids(are_here: bool) -> Iterator[str]:
    return (id for id in map(str, count()) if HERE.owns(ObjectRef("Node", id)) == are_here)


A, B, C = islice(ids(are_here=True), 3)
FAR, FARTHER = islice(ids(are_here=False), 2)


class FarWorker:
    """The other worker's end."""

    def __init__(self, path: Path) -> None:
        self._listener = listen(path)
        self._listener.settimeout(30)
        self._connections: list[socket.socket] = []

    def request(self) -> Request:
        """The next request on a new connection."""
        connection, _address = self._listener.accept()
        connection.settimeout(30)
        self._connections.append(connection)
        header = connection.recv(HEADER.size, socket.MSG_WAITALL)
        return read_request(connection.recv(HEADER.unpack(header)[0], socket.MSG_WAITALL))

    def answer(self, outcome: Outcome = b"[]") -> None:
        """Answers the request that came last, and hangs up."""
        connection = self._connections.pop()
        connection.sendall(reply_frame(outcome))
        connection.close()

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
        self._listener.close()


class Here:
    """The host, called by several threads."""

    def __init__(
        self,
        host: Host,
        clock: ManualClock,
        pool: ThreadPoolExecutor,
        far: FarWorker,
        reached: dict[str, Callable[[], Any]],
    ) -> None:
        self.host, self.clock, self.far, self._pool = host, clock, far, pool
        self.reached = reached

    def submit(self, call: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        return self._pool.submit(call, *arguments)

    def ask_far(self, *path: str) -> "Future[Any]":
        """A call along a path whose last object is far; it waits there when this returns."""
        asking = self.submit(Node.get(path[0]).ask, list(path[1:]))
        self.far.request()
        return asking

    def peer(self, request: Request, is_wanted: bool = True) -> Outcome | None:
        """What becomes of a request of the other worker."""
        outcomes: list[Outcome] = []
        self.host.serve_peer(request, lambda: is_wanted, outcomes.append)
        return outcomes[0] if outcomes else None

    def caller(self, request: Request, is_wanted: bool = True) -> Outcome | None:
        """What becomes of a request of a caller, as the worker runs it."""
        outcomes: list[Outcome] = []
        with self.host.turn:
            self.host.run(request, outcomes.append, lambda: is_wanted)
            self.host.commit()
        return outcomes[0] if outcomes else None

    def put_off(self, call: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Something that is put off when this returns."""
        put_off = self.host._running._put_off
        before = len(put_off)
        waiting = self.submit(call, *arguments)
        while len(put_off) == before:
            assert not waiting.done(), waiting.result()
        return waiting


def call(id: str, method: str, *arguments: Any, chain: tuple[str, ...] = ()) -> Call:
    return Call("Node", id, method, msgspec.Raw(msgspec.json.encode(arguments)), tuple(map(name, chain)))


def name(id: str) -> str:
    return f"Node/{id}"
