"""What the page on serving says of its fragments, and of the processes of a running server."""

import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from melee.testing import AppUnderTest
from melee.web import visit
from melee.web.pages import error_page
from snippets.serving.hello import hello
from tests.conftest import write_app
from tests.melee.gate import Gate

ROOT = Path(__file__).parents[2]
SNIPPETS = ROOT / "snippets" / "serving"
PAGE = (ROOT / "docs" / "guide" / "serving.md").read_text(encoding="utf-8")

PROCESSES = """
import os
from pathlib import Path
from flask import g
from melee import App, Durable

app = App(__name__)

def databases(pid="self"):
    opened = [Path("/proc", str(pid), "fd", name) for name in os.listdir(f"/proc/{pid}/fd")]
    targets = [os.readlink(path) for path in opened if path.is_symlink()]
    return sorted({Path(target).name for target in targets if target.endswith(".sqlite3")})

class Visits(Durable):
    def process(self):
        return {"pid": os.getpid(), "started_by": os.getppid(), "databases": databases()}

@app.get("/")
def index():
    app.db.query("SELECT 1")
    worker = Visits.get("all").process()
    return {
        "child": {"pid": os.getpid(), "started_by": os.getppid(), "databases": databases()},
        "parent": {"pid": os.getppid(), "databases": databases(os.getppid())},
        "worker": worker,
        "server": {"pid": worker["started_by"], "databases": databases(worker["started_by"])},
    }
"""

THREAD = """
import atexit
import socket
import threading
from pathlib import Path
from melee import App

app = App(__name__)

@app.get("/")
def index():
    atexit.register(Path(__file__).with_name("atexit").touch)
    caller = socket.socket(socket.AF_UNIX)
    caller.connect(GATE)
    # By its name, the build step would not let it.
    getattr(threading, "Thread")(target=caller.recv, args=(1,)).start()
    return "begun"
"""


@contextmanager
def served(folder: Path) -> Iterator[tuple[int, str]]:
    """The process id and the address of a server."""
    command = [sys.executable, "-m", "melee", "serve", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        address = re.search(r"http://\S+/", server.stdout.readline())
        try:
            assert address
            yield server.pid, address[0]
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=60)


def get(address: str) -> str:
    with urllib.request.urlopen(address, timeout=60) as response:
        body: str = response.read().decode()
        return body


def drawn() -> set[tuple[str, str, str]]:
    """The solid arrows of the page's flowchart: from, label, to."""
    flowchart = PAGE.partition("```mermaid\n")[2].partition("```")[0]
    return set(re.findall(r'(\w+) -- "(\w+)" --> (\w+)', flowchart))


def started_by(pid: int) -> int:
    return int(subprocess.check_output(["ps", "-o", "ppid=", "-p", str(pid)]))


@pytest.mark.slow
def test_the_processes_on_the_page_are_those_of_a_running_server(tmp_path: Path) -> None:
    with served(write_app(tmp_path / "app", PROCESSES)) as (server, address):
        seen: dict[str, dict[str, Any]] = json.loads(get(address))
        pids = {process["pid"]: name for name, process in seen.items()}
        assert set(pids.values()) == {"server", "parent", "worker", "child"}
        assert pids[server] == "server"
        arrows = {(pids[started_by(seen["parent"]["pid"])], "starts", "parent")}
    arrows.add((pids[seen["worker"]["started_by"]], "starts", "worker"))
    arrows.add((pids[seen["child"]["started_by"]], "forks", "child"))
    # That the answer is here shows the last one.
    arrows.add(("child", "calls", "worker"))
    assert drawn() == arrows
    assert [seen["server"]["databases"], seen["parent"]["databases"]] == [[], []]
    assert seen["child"]["databases"] == ["app.sqlite3"]
    assert "app.sqlite3" not in seen["worker"]["databases"]
    assert len(seen["worker"]["databases"]) > 0


@pytest.mark.slow
def test_a_thread_that_a_request_leaves_behind_ends_with_it_and_atexit_is_not_heard(tmp_path: Path) -> None:
    with Gate(tmp_path / "gate") as gate:
        folder = write_app(tmp_path / "app", f"GATE = {gate.path!r}\n{THREAD}")
        with served(folder) as (_server, address):
            assert get(address) == "begun"
            with gate.reached() as waiting_thread:
                waiting_thread.settimeout(60)
                # Nobody has let it go on.
                assert waiting_thread.recv(1) == b""
                assert not (folder / "atexit").exists()


def test_in_one_process_a_variable_seems_to_last(tmp_path: Path) -> None:
    with AppUnderTest(SNIPPETS / "counting", data=tmp_path) as app:
        pages = [app.client.get("/").text for _ in range(2)]
    assert pages == ["variable 1, object 1\n", "variable 2, object 2\n"]


def test_the_flask_app_of_the_page_is_one_without_melee() -> None:
    assert hello.app.test_client().get("/").text == "hello from Flask\n"


def test_the_table_of_statuses_has_each_that_the_server_answers_with() -> None:
    listed = {int(status) for status in re.findall(r"^\| (\d{3}) \|", PAGE, re.MULTILINE)}
    assert listed == {status for status in range(400, 600) if has_a_page(status)}
    assert f"**{visit._CLIENT_LEFT}** means that the client left" in PAGE
    assert not has_a_page(visit._CLIENT_LEFT)


def has_a_page(status: int) -> bool:
    try:
        error_page(status, "", accept="")
    except KeyError:
        return False
    return True
