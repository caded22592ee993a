"""An app behind melee's protocol, and a client of it. A module with another app has its own fixture `app`."""

import socket
from collections.abc import Iterator

import pytest

from tests.melee.web.serving import AsgiApp, Serving, Told, serving


@pytest.fixture
def app() -> Iterator[Told]:
    app = Told()
    yield app
    app.let_go()


@pytest.fixture
def server(app: AsgiApp) -> Iterator[Serving]:
    with serving(app) as server:
        yield server


@pytest.fixture
def client(server: Serving) -> Iterator[socket.socket]:
    with server.connect() as client:
        yield client
