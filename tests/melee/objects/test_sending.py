"""What an object sends out of the app leaves when what it wrote is on disk."""

import socket
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from melee import http
from melee.errors import ObjectCallError, OutcomeUnknown, TransactionOpen
from melee.objects.durable import Durable
from melee.objects.files import every_file
from melee.testing import WorkerUnderTest
from tests.conftest import write_app
from tests.melee.objects.conftest import OpenHost
from tests.melee.upstream import answering, upstream

APP = """
from melee import App, Durable, http

app = App(__name__)


class Mailer(Durable):
    def send(self, url):
        self.storage.put("sent", True)
        http.post(url)

    def sent(self):
        return self.storage.get("sent", False)
"""


class Mailer(Durable):
    def send(self, url: str) -> int:
        self.storage.put("sent", True)
        return http.post(url).status

    def send_in_transaction(self, url: str) -> None:
        with self.storage.transaction():
            self.storage.put("sent", True)
            http.post(url)

    def ask(self, id: str, url: str) -> int:
        self.storage.put("asked", True)
        return Mailer.get(id).send(url)

    def sent(self) -> bool:
        return bool(self.storage.get("sent", False))


class Eager(Durable):
    def setup(self) -> None:
        http.post(self.id)

    def hello(self) -> str:
        return "hello"


def keys_on_disk(folder: Path) -> set[str]:
    """The keys in all object files, as another connection reads them now."""
    found = set()
    for file in every_file(folder):
        with closing(apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)) as database:
            found |= {key for (key,) in database.execute("SELECT key FROM _melee_values")}
    return found


def test_what_an_object_wrote_is_on_disk_when_its_request_arrives(open_host: OpenHost, tmp_path: Path) -> None:
    seen: list[set[str]] = []

    def look(client: socket.socket) -> None:
        seen.append(keys_on_disk(tmp_path / "data" / "objects"))
        answering(b"")(client)

    open_host(Mailer)
    with upstream(look) as server:
        assert Mailer.get("a").send(server.url) == 200
        assert Mailer.get("b").ask("c", server.url) == 200
    assert seen == [{"sent"}, {"sent", "asked"}]


def test_an_object_sends_nothing_from_inside_a_transaction(open_host: OpenHost) -> None:
    open_host(Mailer, Eager)
    with upstream(answering(b"")) as server:
        for call in (
            lambda: Mailer.get("a").send_in_transaction(server.url),
            lambda: Eager.get(server.url).hello(),
        ):
            with pytest.raises(ObjectCallError) as caught:
                call()
            assert isinstance(caught.value.__cause__, TransactionOpen)
            assert f"POST {server.url}" in str(caught.value)
        assert not Mailer.get("a").sent()
    assert server.requests == []


def test_a_route_sends_at_once(open_host: OpenHost) -> None:
    open_host(Mailer)
    Mailer.get("a").sent()
    with upstream(answering(b"")) as server:
        assert http.get(server.url).ok


def test_a_worker_killed_while_it_waits_for_an_answer_has_kept_what_was_written(tmp_path: Path) -> None:
    app = write_app(tmp_path, APP)
    with WorkerUnderTest(app, data=tmp_path / "data") as worker:

        def kill(_client: socket.socket) -> None:
            worker.kill()

        with upstream(kill) as server, pytest.raises(OutcomeUnknown):
            mailer("a").send(server.url)
    with WorkerUnderTest(app, data=tmp_path / "data"):
        assert mailer("a").sent() is True


def mailer(id: str) -> Any:
    """A handle of the app under test."""
    return sys.modules["app"].Mailer.get(id)
