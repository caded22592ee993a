"""An app whose objects several workers share, each a process of its own, on sockets that outlive them."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import count, islice
from pathlib import Path
from typing import Any

from melee.clock import SystemClock
from melee.objects.hosting import classes_below
from melee.objects.listener import listen
from melee.objects.request import ObjectRef, owned_by
from melee.objects.shard import Shard, shards
from melee.objects.workers import workers_of
from melee.processes.report import Listening, Loaded
from melee.project import Project
from tests.melee.gate import WAIT_AT
from tests.melee.objects.worker.started import Started

NODES = (
    WAIT_AT
    + '''
import os
import sqlite3
from melee import App, Durable

app = App(__name__)


class Node(Durable):
    def pid(self):
        self.storage.put("called", True)
        return os.getpid()

    def ask(self, path):
        """Calls the first of the path, which calls the next; returns who has been called."""
        self.storage.put("begun", self.storage.get("begun", 0) + 1)
        further = Node.get(path[0]).ask(path[1:]) if path else []
        self.storage.put("ended", self.storage.get("ended", 0) + 1)
        return [self.id, *further]

    def ask_after(self, gate, path):
        wait_at(gate)
        return self.ask(path)

    def ask_until(self, file, path):
        """Calls along the path without a pause until there is such a file; returns how often."""
        times = 0
        while not os.path.exists(file):
            Node.get(path[0]).ask(path[1:])
            times += 1
        return times

    def relay(self, path, gate, further):
        """Passes a call on along the path, whose last object waits at the gate and calls further."""
        if len(path) == 1:
            return Node.get(path[0]).ask_after(gate, further)
        return Node.get(path[0]).relay(path[1:], gate, further)

    def times(self):
        return [self.storage.get("begun", 0), self.storage.get("ended", 0)]

    def ask_who_looks(self, id, file):
        self.storage.put("begun", 7)
        return Node.get(id).look(file)

    def look(self, file):
        return sqlite3.connect(file).execute("SELECT value FROM _melee_values WHERE key = 'begun'").fetchone()[0]

    def listed(self):
        return [Node.list(), Node.count()]

    def end(self, id):
        return Node.destroy(id)

    def end_caller(self, id):
        return Node.get(id).end(self.id)

    def interrupt(self):
        raise KeyboardInterrupt

    def exit(self):
        os._exit(3)

    def ask_who_exits(self, id):
        Node.get(id).exit()

    def arm_another(self, id, seconds):
        Node.get(id).arm(seconds)

    def arm(self, seconds):
        self.timer(after=seconds)

    def on_timer(self):
        self.storage.put("ended", self.storage.get("ended", 0) + 100)
'''
)
"""The source of an app whose objects call each other along paths."""


class Several:
    """The workers, by the number of their shard, on sockets that outlive them. Handles in this process call them."""

    def __init__(self, project: Project, workers: int, stack: ExitStack) -> None:
        self.project, self._stack = project, stack
        self._classes = classes_below(project.folder)
        self._sockets = {
            shard: [
                stack.enter_context(closing(listen(path)))
                for path in (shard.socket(project), shard.peer_socket(project))
            ]
            for shard in shards(workers)
        }
        self.workers = [self.start(number) for number in range(workers)]

    def start(self, number: int) -> Started:
        """One more worker for a shard; it serves when the one before it has ended."""
        shard = Shard(number, len(self._sockets))
        callers, peers = (socket.fileno() for socket in self._sockets[shard])
        options = ["--shard", str(shard.number), "--of", str(shard.of), "--peers", str(peers)]
        started = Started(self.project.folder, self.project.data, callers, *options, passed=[callers, peers])
        return self._stack.enter_context(started)

    def get(self, class_name: str, id: str) -> Any:
        return self._classes[class_name].get(id)

    def cls(self, class_name: str) -> Any:
        return self._classes[class_name]

    def id_in(self, worker: int, class_name: str = "Node", but: int = 0) -> str:
        """An id that a worker owns; another for each `but`."""
        owner = Shard(worker, len(self._sockets))
        return next(islice((id for id in map(str, count()) if owner.owns(ObjectRef(class_name, id))), but, None))


@contextmanager
def several(app: Path, data: Path, workers: int) -> Iterator[Several]:
    """Inside, `workers` workers serve the app; its `melee.toml` says so, too."""
    (app / "melee.toml").write_text(f"[objects]\nworkers = {workers}\n")
    project = Project.at(app, data)
    project.data.mkdir(exist_ok=True)
    project.load()
    with ExitStack() as stack:
        several = Several(project, workers, stack)
        for worker in several.workers:
            listens(worker)
        client = stack.enter_context(closing(workers_of(project, workers, SystemClock())))
        stack.enter_context(owned_by(client))
        yield several


def listens(worker: Started) -> None:
    """Returns when it does."""
    assert worker.report() == Loaded()
    assert isinstance(worker.report(), Listening)
