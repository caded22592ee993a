"""An app whose objects do what a worker must bear, and a worker that serves it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from melee.testing import WorkerUnderTest
from tests.conftest import write_app
from tests.melee.gate import WAIT_AT, Gate
from tests.melee.objects.worker.several import NODES, Several, several

APP = '''
import os
from melee import App, Durable

app = App(__name__)
timers_fired = 0


class Silent(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class Counter(Durable):
    def add(self, by=1):
        self.storage.put("count", self.storage.get("count", 0) + by)
        return self.storage.get("count")

    def value(self):
        return self.storage.get("count", 0)

    def add_after(self, gate):
        wait_at(gate)
        return self.add()

    def fail(self, how):
        if how == "half an emoji":
            raise ValueError("\\ud800")
        raise Silent

    def pid(self):
        return os.getpid()

    def exit(self):
        os._exit(3)

    def echo(self, text):
        return text

    def large(self, size):
        return "x" * size

    def arm(self, seconds, gate):
        self.storage.put("gate", gate)
        self.timer(after=seconds)

    def on_timer(self):
        """The first in a worker waits at the gate."""
        global timers_fired
        self.add(100)
        timers_fired += 1
        if timers_fired == 1:
            wait_at(self.storage.get("gate"))

    def timers_fired(self):
        return timers_fired


class DiesInTimer(Durable):
    """Unless there is a gate."""

    def arm(self, gate):
        self.storage.put("gate", gate)
        self.timer(after=0)

    def on_timer(self):
        self.storage.put("tries", self.tries() + 1)
        if not os.path.exists(self.storage.get("gate")):
            os._exit(3)
        wait_at(self.storage.get("gate"))

    def tries(self):
        return self.storage.get("tries", 0)


class DiesAfterACall(Durable):
    """Unless there is a gate."""

    def arm(self, gate):
        self.storage.put("gate", gate)
        self.timer(after=0)

    def on_timer(self):
        self.storage.put("before", self.count("before") + 1)
        Counter.get("called").add()
        self.storage.put("after", self.count("after") + 1)
        if not os.path.exists(self.storage.get("gate")):
            os._exit(3)
        wait_at(self.storage.get("gate"))

    def count(self, key):
        return self.storage.get(key, 0)
'''


@pytest.fixture
def app(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "app.py").write_text(WAIT_AT + APP)
    return folder


@pytest.fixture
def worker(app: Path, tmp_path: Path) -> Iterator[WorkerUnderTest]:
    with WorkerUnderTest(app, data=tmp_path / "data") as worker:
        yield worker


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with Gate(tmp_path / "gate") as gate:
        yield gate


@pytest.fixture
def nodes(tmp_path: Path) -> Path:
    return write_app(tmp_path / "nodes", NODES)


@pytest.fixture
def two(nodes: Path, tmp_path: Path) -> Iterator[Several]:
    with several(nodes, tmp_path / "data", 2) as workers:
        yield workers
