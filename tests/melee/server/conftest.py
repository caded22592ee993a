"""The app of these tests, and what they wait with."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.melee.gate import Gate
from tests.melee.server.served_app import write_app

WriteApp = Callable[..., Path]


@pytest.fixture
def app(tmp_path: Path) -> WriteApp:
    """Call it with what `melee.toml` says, default nothing: the folder of the app."""
    return partial(write_app, tmp_path / "app")


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with Gate(tmp_path / "gate") as gate:
        yield gate
