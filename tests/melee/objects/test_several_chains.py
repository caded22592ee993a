"""What a host does while an object of it waits for another worker, whose part the test plays."""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from itertools import count, islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from melee.clock import ManualClock, SystemClock
from melee.errors import Deadlock, ObjectUnavailable
from melee.objects import running
from melee.objects.client import Client
from melee.objects.commit import Outcome
from melee.objects.durable import Durable
from melee.objects.host import Host
from melee.objects.listener import listen
from melee.objects.protocol import HEADER, read_request, reply_frame
from melee.objects.request import CALL_SECONDS, Call, Count, Destroy, ListIds, ObjectRef, Request, owned_by
from melee.objects.shard import Shard
from melee.objects.workers import Workers
from melee.project import ObjectsConfig

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


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Here]:
    clock, path, config = ManualClock(), tmp_path / "far.sock", ObjectsConfig(open_at_most=1)
    with ExitStack() as stack:
        far = stack.enter_context(closing(FarWorker(path)))
        peers = stack.enter_context(closing(Workers({1: Client(path, SystemClock())}, 2)))
        folders = tmp_path / "data", tmp_path / "db"
        reached: dict[str, Callable[[], Any]] = {}
        host = Host({"Node": Node}, *folders, clock, config, lambda point: reached.get(point, int)(), HERE, peers)
        stack.enter_context(closing(host))
        pool = stack.enter_context(ThreadPoolExecutor(8))
        stack.enter_context(owned_by(host))
        yield Here(host, clock, pool, far, reached)


def call(id: str, method: str, *arguments: Any, chain: tuple[str, ...] = ()) -> Call:
    return Call("Node", id, method, msgspec.Raw(msgspec.json.encode(arguments)), tuple(map(name, chain)))


def name(id: str) -> str:
    return f"Node/{id}"


def test_a_call_leaves_with_the_chain_that_waits_for_it_and_others_run_meanwhile(here: Here) -> None:
    asking = here.submit(Node.get(A).ask, [B, FAR, FARTHER])
    assert here.far.request() == call(FAR, "ask", [FARTHER], chain=(A, B))
    assert here.peer(call(C, "is_over")) == b"true"
    here.far.answer(b'["far"]')
    assert asking.result(timeout=30) == [A, B, "far"]


def test_a_call_of_an_object_that_waits_is_put_off_until_that_has_ended(here: Here) -> None:
    asking = here.ask_far(A, FAR)
    calls = [here.put_off(here.peer, call(A, "is_over", chain=(FARTHER,))), here.put_off(Node.get(A).is_over)]
    here.far.answer()
    assert asking.result(timeout=30) == [A]
    assert [waiting.result(timeout=30) for waiting in calls] == [b"true", True]


@pytest.mark.parametrize("way", ["peer", "caller"])
def test_what_is_put_off_does_not_begin_when_its_caller_has_gone(here: Here, way: str) -> None:
    asking = here.ask_far(A, FAR)
    ask = getattr(here, way)
    gone = [here.put_off(ask, request, False) for request in (call(A, "arm"), Destroy("Node", A))]
    here.far.answer()
    asking.result(timeout=30)
    assert [each.result(timeout=30) for each in gone] == [None, None]
    assert here.host.next_wake_at() is None
    assert Node.get(A).is_over()


def test_a_call_that_is_put_off_for_too_long_has_not_run(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    asking = here.ask_far(A, FAR)
    with monkeypatch.context() as patched:
        # The real wait is 30 s; nothing else is replaced.
        patched.setattr(running, "CALL_SECONDS", 0.05)
        outcome = here.peer(call(A, "arm", chain=(FARTHER,)))
    assert isinstance(outcome, ObjectUnavailable)
    assert "its turn did not come within 0.05 s" in str(outcome)
    here.far.answer()
    assert asking.result(timeout=30) == [A]
    assert here.host.next_wake_at() is None


def test_a_call_is_put_off_no_longer_because_other_calls_end_meanwhile(here: Here) -> None:
    asking = here.ask_far(A, FAR)
    waiting = here.put_off(here.peer, call(A, "is_over", chain=(FARTHER,)))
    here.clock.move(CALL_SECONDS)
    here.peer(call(B, "is_over"))
    assert "its turn did not come within 30 s" in str(waiting.result(timeout=10))
    here.far.answer()
    assert asking.result(timeout=30) == [A]


@pytest.mark.parametrize("path", [(A,), (A, B), (A, B, C)])
def test_a_call_from_where_the_object_waits_is_a_deadlock_at_once(here: Here, path: tuple[str, ...]) -> None:
    asking = here.ask_far(*path, FAR)
    outcome = here.peer(call(A, "is_over", chain=(FAR,)))
    assert isinstance(outcome, Deadlock)
    assert outcome.chain == [name(id) for id in (FAR, *path, FAR)]
    here.far.answer()
    assert asking.result(timeout=30) == list(path)


def test_a_circle_through_two_chains_here_is_a_deadlock(here: Here) -> None:
    asking = here.ask_far(A, FAR)
    waiting = here.put_off(here.peer, call(C, "ask", [A], chain=(FARTHER,)))
    outcome = here.peer(call(C, "is_over", chain=(FAR,)))
    assert isinstance(outcome, Deadlock)
    assert outcome.chain == [name(id) for id in (FAR, C, A, FAR)]
    here.far.answer()
    assert asking.result(timeout=30) == [A]
    assert msgspec.json.decode(waiting.result(timeout=30)) == [C, A]


def test_an_object_does_not_ask_one_that_already_waits_for_it(here: Here) -> None:
    asking = here.submit(Node.get(A).ask_each, [FARTHER, FAR])
    here.far.request()
    waiting = here.put_off(here.peer, call(A, "is_over", chain=(FAR,)))
    here.far.answer()
    with pytest.raises(Deadlock) as raised:
        asking.result(timeout=30)
    assert raised.value.chain == [name(id) for id in (A, FAR, A)]
    assert waiting.result(timeout=30) == b"true"


def test_an_object_that_only_has_to_read_its_answer_waits_for_nobody(here: Here) -> None:
    """The far object has answered it and asks it now, in another call."""
    asking = here.ask_far(A, FAR)
    with here.host.turn:
        here.far.answer()
        assert here.peer(call(A, "is_over", chain=(FAR,))) == b"true"
    assert asking.result(timeout=30) == [A]


def test_a_timer_of_an_object_that_waits_holds_up_no_other_and_fires_when_the_call_has_ended(here: Here) -> None:
    for id in (A, B):
        Node.get(id).arm()
    here.clock.move(60)
    asking = here.ask_far(A, FAR)
    assert here.host.fire_due() == [ObjectRef("Node", B)]
    assert here.host.next_wake_at() == here.clock.now() + 1
    here.clock.move(1)
    assert here.host.fire_due() == []
    here.far.answer()
    asking.result(timeout=30)
    assert here.host.next_wake_at() == here.clock.now() - 1
    assert here.host.fire_due() == [ObjectRef("Node", A)]
    assert Node.get(A).fired_when_it_was_over()


def test_a_timer_set_while_an_earlier_one_is_put_off_is_in_the_index_before_it_is_on_disk(here: Here) -> None:
    asked_at: list[Any] = []
    Node.get(A).arm()
    here.clock.move(60)
    asking = here.submit(Node.get(A).ask_and_arm, FAR, 0.5)
    here.far.request()
    here.host.fire_due()
    here.reached["object committed"] = lambda: asked_at.append(here.host.next_wake_at())
    here.far.answer()
    asking.result(timeout=30)
    assert asked_at == [here.clock.now() + 0.5]


def test_an_object_that_waits_stays_in_memory(here: Here) -> None:
    asking = here.ask_far(A, FAR)
    here.peer(call(B, "is_over"))
    here.clock.move(1000)
    here.host.unload_idle()
    assert here.host.idle_in_seconds() > 0
    assert not here.host.unload(ObjectRef("Node", B))
    here.far.answer()
    assert asking.result(timeout=30) == [A]
    assert here.host.unload(ObjectRef("Node", A))


def test_an_object_that_waits_is_destroyed_when_its_call_has_ended(here: Here) -> None:
    asking = here.ask_far(A, FAR)
    other = here.put_off(here.peer, Destroy("Node", A, (name(FARTHER),)))
    here.far.answer()
    assert asking.result(timeout=30) == [A]
    assert other.result(timeout=30) == b"true"
    asking = here.ask_far(B, FAR)
    # What it waits for destroys it, which must not wait for it.
    assert here.peer(Destroy("Node", B, (name(B), name(FAR)))) == b"true"
    assert here.peer(call(C, "is_over")) == b"true"
    here.far.answer()
    assert asking.result(timeout=30) == [B]
    listing = here.submit(Node.list)
    assert here.far.request() == ListIds("Node")
    here.far.answer(b'["!", "~"]')
    assert listing.result(timeout=30) == ["!", C, "~"]


def test_an_object_whose_id_is_a_star_is_one_among_the_others(here: Here) -> None:
    assert HERE.owns(ObjectRef("Node", "*"))
    asking = here.ask_far("*", FAR)
    assert here.peer(Count("Node")) == b"1"
    here.far.answer()
    assert asking.result(timeout=30) == ["*"]
    counting = here.submit(Node.get(A).count_all)
    assert here.far.request() == Count("Node")
    # It waits for a number and not for the object, which may wait for it.
    waiting = here.put_off(here.peer, call("*", "ask", [A]))
    here.far.answer(b"2")
    assert counting.result(timeout=30) == 4
    assert msgspec.json.decode(waiting.result(timeout=30)) == ["*", A]
