"""A circle of calls that no worker sees whole: it ends when the time of one of the calls is over."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path

import msgspec
import pytest

from melee.clock import SystemClock
from melee.errors import CallTimeout, ObjectCallError
from melee.objects.client import Client
from melee.objects.durable import Durable
from melee.objects.host import Host
from melee.objects.listener import listen
from melee.objects.peers import Peers
from melee.objects.request import Call, ObjectRef
from melee.objects.shard import shards
from melee.objects.workers import Workers

IDS = [next(id for id in map(str, count()) if shard.owns(ObjectRef("Node", id))) for shard in shards(3)]
"""An object of each worker."""


class Node(Durable):
    hosts: dict[str, Host] = {}  # noqa: RUF012 - shared by the class on purpose
    all_have_begun = threading.Barrier(len(IDS))

    def ask(self, id: str) -> None:
        self.all_have_begun.wait(30)
        self.hosts[self.id].ask(call(id, "note"))

    def note(self) -> None:
        self.storage.put("noted", self.noted() + 1)

    def noted(self) -> int:
        noted: int = self.storage.get("noted", 0)
        return noted


def call(id: str, method: str, *arguments: str) -> Call:
    return Call("Node", id, method, msgspec.Raw(msgspec.json.encode(arguments)))


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[list[Host]]:
    """Of three workers. The real time of a call is 30 s; nothing else is replaced."""
    paths = [tmp_path / f"{shard.number}.sock" for shard in shards(3)]
    with ExitStack() as stack:
        for shard, path, id in zip(shards(3), paths, IDS, strict=True):
            clients = {each: Client(paths[each], SystemClock(), call_seconds=1) for each in range(3)}
            others = stack.enter_context(closing(Workers(clients, 3)))
            folders = tmp_path / str(shard.number), tmp_path / "db"
            host = Host({"Node": Node}, *folders, SystemClock(), shard=shard, peers=others)
            stack.enter_context(closing(host))
            stack.enter_context(closing(Peers(host, listen(path), lambda: None, lambda _error: None)))
            Node.hosts[id] = host
        yield list(Node.hosts.values())


def test_a_circle_of_calls_that_began_at_the_same_moment_ends_as_a_call_that_took_too_long(hosts: list[Host]) -> None:
    def asked(number: int) -> str:
        try:
            hosts[number].ask(call(IDS[number], "ask", IDS[(number + 1) % 3]))
        except ObjectCallError as error:
            return error.remote_type
        return ""

    with ThreadPoolExecutor(3) as callers:
        outcomes = list(callers.map(asked, range(3)))
    # When one has given up, its object is free for the call that waits for it, unless that gave up too.
    assert CallTimeout.__name__ in outcomes
    assert set(outcomes) <= {CallTimeout.__name__, ""}
    noted = [msgspec.json.decode(host.ask(call(id, "noted"))) for host, id in zip(hosts, IDS, strict=True)]
    # One that took too long may have run.
    assert all(times >= (outcomes[number - 1] == "") for number, times in enumerate(noted))
