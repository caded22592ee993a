"""`melee dev` alone serves the console, in a real process and over real sockets."""

import http.client
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest

from melee.project import Project
from tests.conftest import write_app
from tests.melee.cli.small_app import DevServer
from tests.melee.test_architecture import REPOSITORY, House

APP = """
from melee import App, Durable, Job

app = App(__name__)

class Stats(Durable):
    def wake(self):
        self.timer(after=0)

    def on_timer(self):
        self.log.warning("a <warning>")

@app.jobs.register
class SendWelcome(Job):
    NAME = "send_welcome"

    def run(self, resources): ...

@app.get("/")
def index():
    Stats.get("visits").wake()
    app.db.run("SELECT 1")
    return "the app"

@app.get("/fail/<int:times>")
def fail(times):
    for _ in range(times):
        app.jobs.enqueue(SendWelcome())
    # The build step does not know this table.
    table = "melee_jobs"
    app.db.run(f"UPDATE {table} SET status = 'failed', failed_at = due_at, last_error = 'no'")
    return "failed"
"""


class Served(DevServer):
    """An app under `melee serve`."""

    subcommand = "serve"


class Quiet(WSGIRequestHandler):
    def log_message(self, *_message: object) -> None:
        """Says nothing."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = write_app(tmp_path / "small", APP)
    # Failed jobs are what is looked at here, not how they are run.
    (folder / "melee.toml").write_text("[jobs]\nworkers = 0\n")
    return folder


def ask(server: DevServer, method: str, path: str, **headers: str) -> tuple[int, str, http.client.HTTPMessage]:
    """Status, body and headers of an answer; with the headers that are given and no others."""
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=named)
        response = connection.getresponse()
        return response.status, response.read().decode(), response.headers
    finally:
        connection.close()


def test_only_the_command_for_development_imports_the_console() -> None:
    house = House(REPOSITORY)
    importers = {
        module
        for module in house.files
        if any(f"{imported}.".startswith("melee.console.") for imported in house.imports(module))
    }
    assert {module for module in importers if not module.startswith("melee.console")} == {"melee.cli.dev"}


@pytest.mark.slow
def test_melee_dev_serves_it_and_obeys_it(folder: Path) -> None:
    with DevServer(folder) as server:
        assert server.get() == (200, "the app")
        assert server.get("fail/3") == (200, "failed")
        status, page = server.get("_melee/")
        assert status == 200
        assert page.startswith("<!doctype html>")
        assert page.count('data-label="Last error"') == 3
        status, _body, headers = ask(server, "POST", "/_melee/jobs/retry", Origin=server.url.rstrip("/"))
        assert status == 303
        assert "3 queued again." in ask(server, "GET", headers["Location"])[1]
        server.wait_for("a <warning>")
        assert "warning: a &lt;warning&gt; object=Stats/visits" in server.get("_melee/")[1]
        assert server.stop() == 0
        assert not any("GET /_melee/" in line for line in server.printed)


@pytest.mark.slow
def test_melee_dev_refuses_foreign_names_and_pages(folder: Path) -> None:
    with DevServer(folder) as server:
        server.get("fail/1")
        status, body, _headers = ask(server, "GET", "/_melee/", Host="evil.example")
        assert (status, body.count("\n")) == (403, 1)
        for headers in ({"Origin": "http://evil.example"}, {"Sec_Fetch_Site": "cross-site"}):
            assert ask(server, "POST", "/_melee/jobs/retry", **headers)[0] == 403
        # A proxy's way to name the host wins over the header, for the server and for the console.
        assert ask(server, "GET", "http://evil.example/_melee/", Host="localhost")[0] == 403
        assert "failed-1" in server.get("_melee/")[1]


@pytest.mark.slow
def test_an_app_that_does_not_load_has_it_too(folder: Path) -> None:
    with DevServer(folder) as server:
        assert server.get("_melee/")[0] == 200
        (folder / "app.py").write_text("class (:\n")
        server.wait_for("does not load")
        page = ask(server, "GET", "/_melee/")[1]
        assert "None are served: the app does not load." in page


@pytest.mark.slow
def test_jobs_in_postgres_are_shown_and_obeyed(folder: Path, postgres_url: str) -> None:
    server = DevServer(folder)
    server.environment["DATABASE_URL"] = postgres_url
    with server:
        assert server.get("fail/2") == (200, "failed")
        assert server.get("_melee/")[1].count('data-label="Last error"') == 2
        _status, _body, headers = ask(server, "POST", "/_melee/jobs/1/discard")
        assert "Job 1 is deleted." in ask(server, "GET", headers["Location"])[1]
        _status, _body, headers = ask(server, "POST", "/_melee/jobs/retry")
        assert "1 queued again." in ask(server, "GET", headers["Location"])[1]


@pytest.mark.slow
def test_a_postgres_that_is_not_there_is_said_on_the_page(folder: Path) -> None:
    server = DevServer(folder)
    server.environment["DATABASE_URL"] = "postgresql://nobody@127.0.0.1:1/none"
    with server:
        page = server.get("_melee/")[1]
    assert "This cannot be shown." in page
    assert "DatabaseUnreachable" in page


@pytest.mark.slow
def test_melee_serve_does_not_serve_it(folder: Path) -> None:
    with Served(folder) as server:
        assert server.get() == (200, "the app")
        for path in ("_melee/", "_melee", "_melee/console.css"):
            assert server.get(path)[0] == 404
        assert ask(server, "POST", "/_melee/jobs/retry")[0] == 404


def test_another_server_that_imports_the_app_does_not_serve_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLASK_DEBUG", "1")
    with elsewhere(Project.at(folder).load().app) as url:
        with urllib.request.urlopen(url, timeout=60) as response:
            assert response.read() == b"failed"
        for path in ("_melee/", "_melee/console.css"):
            with pytest.raises(HTTPError, match="404") as refused:
                urllib.request.urlopen(url.replace("fail/0", path), timeout=60)
            refused.value.close()


@contextmanager
def elsewhere(app: Any) -> Iterator[str]:
    """Inside, a server of the standard library serves an app: the URL of a page."""
    with make_server("127.0.0.1", 0, app, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/fail/0"
        finally:
            server.shutdown()
            thread.join()
