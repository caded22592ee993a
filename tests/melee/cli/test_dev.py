"""`melee dev` as its user has it: a real process, real requests, real edits and signals."""

import os
import signal
import socket
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from melee.testing import AppUnderTest, ManualClock
from tests.melee.cli.small_app import APP, STATS, DevServer, melee, write_app
from tests.melee.gate import WAIT_AT, Gate

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_app(tmp_path / "small")


def test_objects_outlive_the_process_that_served_them(folder: Path) -> None:
    with DevServer(folder) as server:
        assert [server.get()[1] for _ in range(5)] == [f"{n} visits" for n in range(1, 6)]
        assert server.stop() == 0
    with DevServer(folder) as server:
        assert server.get() == (200, "6 visits")


def test_it_says_where_it_serves_and_where_the_data_is(folder: Path) -> None:
    with DevServer(folder) as server:
        assert server.printed[0] == f"small on {server.url} (Ctrl-C stops it)\n"
        assert server.wait_for("data in") == f"data in {folder / 'data'}\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("options", [(), ("--no-reload",)])
def test_a_signal_stops_it_at_once_without_a_traceback(folder: Path, number: int, options: tuple[str, ...]) -> None:
    with DevServer(folder, *options) as server:
        assert server.get() == (200, "1 visits")
        began_at = time.monotonic()
        assert server.stop(number) == 0
        assert time.monotonic() - began_at < 3
        assert server.printed[-1] == "stopped\n"
        assert "Traceback" not in "".join(server.printed)
        assert not list(folder.glob("data/objects/*/*/*-wal")), "the objects were not closed"


def test_a_signal_before_it_starts_again_is_not_lost(folder: Path) -> None:
    with DevServer(folder) as server:
        server.get()
        (folder / "melee.toml").write_text("")
        server.wait_for("starting again")
        assert server.stop() == 0
        assert server.printed[-1] == "stopped\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_python_starts_again_is_not_lost(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Gate(tmp_path / "gate") as gate, DevServer(folder) as server:
        server.get()
        # Python runs this before the command.
        (tmp_path / "sitecustomize.py").write_text(f"{WAIT_AT}\nwait_at({gate.path!r})")
        (folder / "melee.toml").write_text("")
        with gate.reached():
            server.process.send_signal(number)
        assert server.process.wait(timeout=30) == 0
    assert server.printed[-1] == "stopped\n"


def test_a_due_timer_fires_and_prints_its_line(folder: Path) -> None:
    with DevServer(folder) as server:
        server.get("timer/0.1/well")
        assert server.wait_for("on_timer") == "timer Stats/visits -> on_timer\n"


def test_a_timer_that_came_due_while_nothing_ran_fires_at_the_next_start(folder: Path) -> None:
    with AppUnderTest(folder, data=folder / "data", clock=ManualClock(1_700_000_000)) as before:
        handle: Any = before.classes["Stats"].get("visits")
        handle.wake(1, "well")
    with DevServer(folder) as server:
        assert server.wait_for("on_timer") == "timer Stats/visits -> on_timer\n"


def test_a_timer_that_raises_is_shown_and_the_next_one_fires(folder: Path) -> None:
    with DevServer(folder) as server:
        server.get("timer/0.0/raise")
        assert "the dog ate it" in server.wait_for("RuntimeError")
        assert server.get() == (200, "1 visits")
        assert "RuntimeError: the dog ate it" in melee("objects", "--app", folder).stdout
        server.get("timer/0.0/well")
        assert server.wait_for("timer Stats/visits") == "timer Stats/visits -> on_timer\n"


def test_an_unexpected_fault_of_the_timers_is_shown_and_pages_are_still_served(folder: Path) -> None:
    with DevServer(folder) as server:
        assert server.get() == (200, "1 visits")
        registry = sqlite3.connect(folder / "data" / "objects" / "registry.sqlite3")
        registry.execute("DROP TABLE objects")
        registry.close()
        server.wait_for("looking for due timers failed")
        assert "no such table: objects" in server.wait_for("DatabaseError: ")
        assert server.get() == (200, "2 visits")
        assert server.stop() == 0


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("app.py", " visits", " people"),
        ("lib/stats.py", 'return self.storage.first("SELECT n FROM hits")["n"]', "return 'people'"),
    ],
)
def test_an_edit_is_served_without_a_restart_by_hand(folder: Path, name: str, before: str, after: str) -> None:
    with DevServer(folder) as server:
        assert server.get() == (200, "1 visits")
        file = folder / name
        file.write_text(file.read_text().replace(before, after))
        assert "people" in server.get_until("people")
        assert server.wait_for("starting again") == f"{name} changed; starting again\n"
        assert server.stop() == 0


@pytest.mark.parametrize("name", ["melee.toml", "templates/page.html", "db/001_more.sql", "lib/deep/new.py"])
def test_every_kind_of_source_is_watched_new_files_too(folder: Path, name: str) -> None:
    with DevServer(folder) as server:
        server.get()
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("")
        assert server.wait_for("starting again").split()[0] in {name, str(Path(name).parent)}
        assert server.stop() == 0


def test_a_response_on_its_way_is_sent_before_the_app_starts_again(folder: Path) -> None:
    streaming = """
@app.get("/slow/<path:gate>")
def slow(gate):
    def parts():
        yield "begun "
        wait_at("/" + gate)
        yield "ended"

    return Response(parts())
"""
    imports = "from flask import Response\n"
    (folder / "app.py").write_text(imports + WAIT_AT + APP + streaming)
    with Gate(folder / "gate") as gate, ThreadPoolExecutor(1) as browser, DevServer(folder) as server:
        slow = browser.submit(server.get, f"slow{gate.path}")
        with gate.reached() as held:
            (folder / "app.py").write_text(APP.replace(" visits", " people"))
            server.wait_for("starting again")
            # It hangs up when its process is replaced, which takes a fraction of this.
            held.settimeout(1)
            with pytest.raises(TimeoutError):
                held.recv(1)
        assert slow.result() == (200, "begun ended")
        assert "people" in server.get_until("people")


def test_the_handles_of_the_app_can_be_read_while_it_runs(folder: Path) -> None:
    with DevServer(folder) as server:
        server.get()
        handles = (folder / ".melee" / "objects.py").read_text()
    assert "class StatsHandle(Handle):" in handles
    assert "def hit(self)" in handles


def test_what_the_build_step_finds_is_printed_at_each_start_and_the_app_runs(folder: Path) -> None:
    with DevServer(folder) as server:
        assert server.get() == (200, "1 visits")
        assert not any("melee build" in line for line in server.printed)
        (folder / "app.py").write_text(
            f"{APP.replace(' visits', ' people')}\nimport threading\nthreading.Timer(0, print)\n"
        )
        found = server.wait_for("melee build: app.py:")
        assert "threading.Timer: a thread ends with" in found
        assert "people" in server.get_until("people")


def test_an_idle_object_is_unloaded(folder: Path) -> None:
    (folder / "melee.toml").write_text("[objects]\nidle_seconds = 0.1\n")
    with DevServer(folder) as server:
        server.get()
        (database,) = (folder / "data" / "objects" / "stats").glob("??/*.sqlite3")
        log = database.with_name(f"{database.name}-wal")
        deadline = time.monotonic() + 30
        while log.exists():
            assert time.monotonic() < deadline, "it stayed in memory"
        assert server.get() == (200, "2 visits")


def test_a_new_migration_runs_without_a_restart_by_hand(folder: Path) -> None:
    with DevServer(folder) as server:
        assert server.get() == (200, "1 visits")
        (folder / "db" / "objects" / "stats" / "002_more.sql").write_text("UPDATE hits SET n = 7000000;")
        # Each look is a hit, and so is one whose answer was lost when the process replaced itself.
        assert server.get_until("70000") in {"7000001 visits", "7000002 visits"}


def test_an_edit_in_the_same_second_and_of_the_same_length_runs(folder: Path) -> None:
    app = folder / "app.py"
    with DevServer(folder) as server:
        server.get()
        written_at = app.stat().st_mtime_ns
        app.write_text(APP.replace(" visits", " people"))
        within_that_second = written_at // 10**9 * 10**9 + (written_at + 1000) % 10**9
        os.utime(app, ns=(within_that_second, within_that_second))
        assert "people" in server.get_until("people")


def test_what_the_app_writes_itself_is_no_edit(folder: Path) -> None:
    with DevServer(folder) as server:
        for _ in range(3):
            server.get()
        (folder / "data" / "mine.py").write_text("")
        (folder / "uploads" / "deep").mkdir(parents=True)
        (folder / "uploads" / "deep" / "picture.jpg").write_text("")
        (folder / "app.py").write_text(APP.replace(" visits", " people"))
        server.get_until("people")
        assert [line for line in server.printed if "starting again" in line] == ["app.py changed; starting again\n"]


def test_a_broken_app_says_why_in_terminal_and_browser_and_recovers(folder: Path) -> None:
    with DevServer(folder) as server:
        assert server.get() == (200, "1 visits")
        (folder / "lib" / "stats.py").write_text("class Stats(:\n")
        line = server.wait_for("does not load")
        assert "lib/stats.py:1: SyntaxError" in line
        assert line.endswith("waiting for the next edit\n")
        status, page = server.get()
        assert status == 500
        assert "SyntaxError" in page
        assert "Traceback" not in "".join(server.printed)
        (folder / "lib" / "stats.py").write_text(STATS)
        assert server.get_until("2 visits") == "2 visits"
        assert server.stop() == 0


def test_an_app_broken_from_the_start_recovers_when_a_missing_module_is_added(folder: Path) -> None:
    (folder / "lib" / "stats.py").rename(folder / "lib" / "later")
    with DevServer(folder) as server:
        assert "ModuleNotFoundError" in server.wait_for("does not load")
        (folder / "lib" / "later").rename(folder / "lib" / "stats.py")
        assert server.get_until("1 visits") == "1 visits"


def test_an_app_whose_file_is_gone_for_a_while_recovers(folder: Path) -> None:
    with DevServer(folder) as server:
        assert server.get() == (200, "1 visits")
        (folder / "app.py").rename(folder / "away")
        assert "it has no app.py" in server.wait_for("waiting for the next edit")
        assert server.get()[0] == 500
        (folder / "away").rename(folder / "app.py")
        assert server.get_until("2 visits") == "2 visits"


def test_a_broken_app_ends_a_server_that_does_not_reload(folder: Path) -> None:
    (folder / "app.py").write_text("app = None")
    ended = melee("dev", folder, "--port", "0", "--no-reload")
    assert ended.returncode == 1
    assert ended.stderr == f"melee: {folder} is not an app: app.py defines no `app`; write `app = App(__name__)`\n"


def test_an_error_of_a_page_opens_the_debugger(folder: Path) -> None:
    (folder / "app.py").write_text(APP + "\n@app.get('/bad')\ndef bad():\n    raise RuntimeError('the dog ate it')\n")
    with DevServer(folder) as server:
        status, page = server.get("bad")
        assert status == 500
        assert "the dog ate it" in page
        assert "Werkzeug" in page


def test_a_second_server_on_the_same_folder_is_refused(folder: Path) -> None:
    with DevServer(folder) as server:
        server.get()
        second = melee("dev", folder, "--port", "0")
        assert second.returncode == 1
        assert second.stderr.startswith(f"melee: {folder / 'data'} is in use by process {server.process.pid}: stop it")
        assert second.stderr.count("\n") == 1
        assert server.get() == (200, "2 visits")


def test_a_taken_port_is_one_clear_line(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = melee("dev", folder, "--port", str(port))
    assert ended.returncode == 1
    assert ended.stderr == (
        f"melee: cannot listen on 127.0.0.1 port {port}: Address already in use; choose another --host or --port\n"
    )


def test_a_folder_without_an_app_is_one_clear_line(tmp_path: Path) -> None:
    ended = melee("dev", tmp_path)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert (
        ended.stderr == f"melee: {tmp_path} is not an app: it has no app.py; name the folder of an app, or go there\n"
    )


def test_any_wsgi_callable_is_served(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "def app(environ, start_response):\n"
        "    start_response('200 OK', [('Content-Type', 'text/plain')])\n"
        "    return [b'plain']\n"
    )
    with DevServer(tmp_path) as server:
        assert server.get() == (200, "plain")
        assert server.stop() == 0


def test_a_call_that_never_ends_does_not_keep_the_server(folder: Path) -> None:
    (folder / "lib" / "stats.py").write_text(STATS + "        while True:\n            pass\n")
    with DevServer(folder) as server:
        server.get("timer/0.0/well")
        server.wait_for("on_timer")
        assert server.stop() == 0
        assert "a call of an object is still running" in "".join(server.printed)


@pytest.mark.parametrize("host", ["::1", "localhost"])
def test_it_listens_where_it_is_told(folder: Path, host: str) -> None:
    with DevServer(folder, "--host", host) as server:
        assert server.get() == (200, "1 visits")


def test_a_host_that_is_none_is_one_clear_line(folder: Path) -> None:
    ended = melee("dev", folder, "--host", "no.such.host.invalid", "--port", "0")
    assert ended.returncode == 1
    assert ended.stderr.startswith("melee: cannot listen on no.such.host.invalid port 0: ")
    assert ended.stderr.count("\n") == 1
