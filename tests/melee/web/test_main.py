"""A request parent starts once, hands its children nothing of its own, and outlives nobody who needs it."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from melee.processes.control import Loaded
from melee.web.exchange import Kind
from tests.conftest import write_app
from tests.melee.gate import WAIT_AT, Gate
from tests.melee.processes.forking import ended_by, wait_for_end
from tests.melee.web.parent import Parent, command, request_parent, started
from tests.melee.web.served import GET, get

pytestmark = pytest.mark.slow

APP = f"""
{WAIT_AT}

import os
import subprocess
from pathlib import Path

from melee.store.connection import Connection

print("imported", end=" ")
opened_before = Connection(Path("early.sqlite3"))

def held_by_what_is_started():
    return subprocess.run(["ls", "-l", "/proc/self/fd"], close_fds=False, stdout=subprocess.PIPE).stdout

held_before = held_by_what_is_started()

def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    path = environ["PATH_INFO"]
    if path == "/hang":
        wait_at("hangs.sock")
    if path == "/database":
        try:
            opened_before.execute("SELECT 1", ())
        except Exception as error:
            return [type(error).__name__.encode()]
    if path == "/held":
        return [b" ".join(os.fsencode(fd.readlink()) for fd in Path("/proc/self/fd").iterdir() if fd.exists())]
    if path == "/started":
        return [held_before, held_by_what_is_started()]
    return [b"here"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "site_of.py").write_text(APP)
    return tmp_path


def test_a_child_serves_as_many_requests_as_the_configuration_says(folder: Path) -> None:
    (folder / "melee.toml").write_text("[web]\nrequests_per_child = 3\n")
    with request_parent("site_of:app", folder) as parent:
        _pid, child = parent.new_child()
        for end in (Kind.END, Kind.END, Kind.LAST_END):
            child.ask(GET)
            assert child.answer().end is end
        child.hang_up()


def test_the_app_is_imported_and_what_it_prints_then_is_printed_once(folder: Path) -> None:
    with started("site_of:app", folder) as (parent, process):
        parent.next(Loaded)
        for _ in range(3):
            assert parent.answer().body == b"here"
        parent.hang_up()
        printed, _ = process.communicate(timeout=60)
    assert (process.returncode, printed) == (0, "imported ")


def test_a_connection_that_the_app_opened_as_it_was_imported_is_refused_in_a_child(folder: Path) -> None:
    with request_parent("site_of:app", folder) as parent:
        assert parent.answer(get(b"/database")).body == b"WrongProcess"


def test_a_child_has_one_socket_and_what_it_starts_has_none(folder: Path) -> None:
    with request_parent("site_of:app", folder) as parent:
        held = parent.answer(get(b"/held")).body
        assert held.count(b"socket:") == 1
        assert b"eventpoll" not in held
        held_by_others = parent.answer(get(b"/started")).body
        assert b"pipe:" in held_by_others
        assert b"socket:" not in held_by_others


def test_a_parent_ends_with_its_server_and_so_do_its_children(folder: Path) -> None:
    with Gate(folder / "hangs.sock") as gate, _server_of(folder) as (server, parent):
        parent.next(Loaded)
        pid, child = parent.new_child()
        child.ask(get(b"/hang"))
        with gate.reached():
            os.kill(server, signal.SIGKILL)
            wait_for_end(pid, parent.pid)
        child.hang_up()


def test_a_parent_that_still_imports_the_app_ends_with_its_server(folder: Path) -> None:
    write_app(folder / "board", f"{WAIT_AT}\nwait_at('imports.sock')")
    with Gate(folder / "imports.sock") as gate, _server_of(folder, "board") as (server, parent), gate.reached():
        os.kill(server, signal.SIGKILL)
        wait_for_end(parent.pid)


@contextmanager
def _server_of(folder: Path, target: str = "site_of:app") -> Iterator[tuple[int, Parent]]:
    """A process that has started a request parent and waits; and that parent, whom the test asks."""
    ours, theirs = socket.socketpair()
    here, there = os.pipe()
    server = os.fork()
    if server == 0:
        ours.close()
        process = subprocess.Popen(command(target, theirs), pass_fds=[theirs.fileno()], cwd=folder)
        os.write(there, b"%d" % process.pid)
        while True:
            signal.pause()
    theirs.close()
    with ended_by(server), closing(Parent(int(os.read(here, 20)), ours)) as parent:
        yield server, parent
    os.close(here)
    os.close(there)
