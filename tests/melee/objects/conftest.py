"""A host of given classes in a temporary folder, on a clock that the test moves."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from melee.clock import ManualClock, SystemClock
from melee.objects.client import Client
from melee.objects.durable import Durable
from melee.objects.host import Host
from melee.objects.request import owned_by
from melee.objects.workers import Workers
from melee.project import ObjectsConfig
from tests.melee.objects.far_worker import HERE, FarWorker, Here, Node

OpenHost = Callable[..., Host]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def open_host(tmp_path: Path, clock: ManualClock) -> Iterator[OpenHost]:
    """Call it with classes: a host that owns their objects. A second call ends the first host, as a restart does."""
    with ExitStack() as stack:
        hosts = stack.enter_context(ExitStack())

        def opened(
            *classes: type[Durable],
            config: ObjectsConfig | None = None,
            reached: Callable[[str], None] = lambda _point: None,
        ) -> Host:
            hosts.close()
            named = {cls.__name__: cls for cls in classes}
            host = Host(named, tmp_path / "data", tmp_path / "db", clock, config or ObjectsConfig(), reached)
            hosts.callback(host.close)
            hosts.enter_context(owned_by(host))
            return host

        yield opened


@pytest.fixture
def migration(tmp_path: Path) -> Callable[[str, str, str], Path]:
    """Writes a migration of a class: `migration("counter", "001_a.sql", "CREATE …")`."""

    def written(class_folder: str, name: str, sql: str) -> Path:
        folder = tmp_path / "db" / class_folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(sql)
        return folder / name

    return written


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
