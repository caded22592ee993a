"""An app whose objects several workers share, each a process of its own, on sockets that outlive them."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import count, islice
from pathlib import Path
from typing import Any

from melee.clock import SystemClock
from melee.objects.hosting import classes_below
from melee.objects.listener import listen
from melee.objects.report import Listening, Loaded
from melee.objects.request import ObjectRef, owned_by
from melee.objects.shard import Shard, shards
from melee.objects.workers import workers_of
from melee.project import Project
from tests.melee.objects.worker.started import Started


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
