"""What all tests share.

A shell that starts the tests in the background lets them and all their children ignore Ctrl-C, which some of them
are about.
"""

import os
import secrets
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.postgres import postgres_database, postgres_server

# How long an example takes says more of what else the machine does than of the code.
settings.register_profile("melee", deadline=None)
settings.load_profile("melee")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def write_app(folder: Path, source: str) -> Path:
    """Writes an app of one file into a folder that need not exist, and returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "app.py").write_text(source)
    return folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a Postgres server that all processes of this test run share."""
    with postgres_server(os.environ.get("PYTEST_XDIST_TESTRUNUID", secrets.token_hex(8))) as url:
        yield url


@pytest.fixture
def postgres_url(postgres: str) -> Iterator[str]:
    """The URL of an empty database."""
    with postgres_database(postgres) as url:
        yield url
