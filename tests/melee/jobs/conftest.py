"""Both stores for every test of a worker."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.melee.gate import Gate
from tests.melee.jobs.working import Ear, Place


@pytest.fixture
def ear(tmp_path: Path) -> Iterator[Ear]:
    with closing(Ear(tmp_path / "ear")) as ear:
        yield ear


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with Gate(tmp_path / "gate") as gate:
        yield gate


@pytest.fixture
def sqlite_place(tmp_path: Path, ear: Ear) -> Place:
    return Place(tmp_path / "app", "", ear)


@pytest.fixture
def postgres_place(tmp_path: Path, ear: Ear, postgres_url: str) -> Place:
    return Place(tmp_path / "app", postgres_url, ear)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest) -> Place:
    """An app without anything in it, on each store."""
    place: Place = request.getfixturevalue(f"{request.param}_place")
    return place
