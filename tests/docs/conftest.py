"""Hosts the classes of `snippets/` the way `melee dev` hosts an app's."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC
from pathlib import Path

import pytest

from melee import clock as melee_clock
from melee.clock import ManualClock
from melee.objects.durable import Durable
from melee.objects.host import Host
from melee.objects.request import owned_by

Hosting = Callable[..., Host]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def hosting(tmp_path: Path, clock: ManualClock) -> Iterator[Hosting]:
    with ExitStack() as stack:

        def host_of(*classes: type[Durable]) -> Host:
            folder = ROOT / "snippets" / "durable_objects" / "db" / "objects"
            host = Host({cls.__name__: cls for cls in classes}, tmp_path / "data", folder, clock)
            stack.callback(host.close)
            stack.enter_context(owned_by(host))
            stack.enter_context(melee_clock.installed(clock, UTC))
            return host

        yield host_of
