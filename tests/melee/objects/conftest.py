"""A host of given classes in a temporary folder, on a clock that the test moves."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from melee.clock import ManualClock
from melee.objects.durable import Durable
from melee.objects.host import Host
from melee.objects.request import owned_by
from melee.project import ObjectsConfig

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
