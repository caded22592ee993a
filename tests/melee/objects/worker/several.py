"""An app whose objects several workers share, each a process of its own, on sockets that outlive them."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from melee.clock import SystemClock
from melee.objects.hosting import classes_below
from melee.objects.listener import listen
from melee.objects.report import Listening, Loaded
from melee.objects.request import ObjectRef, owned_by
from melee.objects.shard import shard_of, shards
from melee.objects.workers import workers_of
from melee.project import Project
from tests.melee.objects.worker.started import Started


class Several:
    """The workers, by the number of their shard. Handles in this process call them."""

    def __init__(self, project: Project, workers: list[Started]) -> None:
        self.project, self.workers = project, workers
        self._classes = classes_below(project.folder)

    def get(self, class_name: str, id: str) -> Any:
        return self._classes[class_name].get(id)

    def cls(self, class_name: str) -> Any:
        return self._classes[class_name]

    def id_in(self, worker: int, class_name: str = "Node", but: int = 0) -> str:
        """An id that a worker owns; another for each `but`."""
        owned = (id for id in map(str, count()) if shard_of(ObjectRef(class_name, id), len(self.workers)) == worker)
        for _ in range(but):
            next(owned)
        return next(owned)


@contextmanager
def several(app: Path, data: Path, workers: int) -> Iterator[Several]:
    """Inside, `workers` workers serve the app; its `melee.toml` says so, too."""
    (app / "melee.toml").write_text(f"[objects]\nworkers = {workers}\n")
    project = Project.at(app, data)
    project.data.mkdir(exist_ok=True)
    project.load()
    with ExitStack() as stack:
        started = []
        for shard in shards(workers):
            listening = stack.enter_context(closing(listen(shard.socket(project))))
            peers = stack.enter_context(closing(listen(shard.peer_socket(project))))
            options = ["--shard", str(shard.number), "--of", str(shard.of), "--peers", str(peers.fileno())]
            passed = [listening.fileno(), peers.fileno()]
            started.append(stack.enter_context(Started(app, data, listening.fileno(), *options, passed=passed)))
        for worker in started:
            assert worker.report() == Loaded()
            assert isinstance(worker.report(), Listening)
        client = stack.enter_context(closing(workers_of(project, SystemClock())))
        stack.enter_context(owned_by(client))
        yield Several(project, started)
