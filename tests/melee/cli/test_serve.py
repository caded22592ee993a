"""`melee serve` as its user types it, and what it says when it cannot."""

import resource
import socket
from pathlib import Path

import pytest

from melee.project import Project
from melee.web.limits import CONNECTIONS_AT_MOST, TURNED_AWAY_AT_MOST
from tests.melee.cli.small_app import DevServer, melee
from tests.melee.server.served import ServerUnderTest
from tests.melee.server.served_app import write_app

pytestmark = pytest.mark.slow

PLAIN = """
def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"plain"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_app(tmp_path / "small")


def test_it_says_where_it_serves_and_where_the_data_is(folder: Path) -> None:
    with ServerUnderTest(folder) as server:
        assert server.printed[0] == f"small on {server.url} (Ctrl-C stops it)\n"
        assert server.wait_for("data in") == f"data in {folder / 'data'}\n"


def test_it_has_descriptors_for_all_the_clients_that_it_lets_in(folder: Path) -> None:
    """A shell gives it 1,024 of them, or less."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        with ServerUnderTest(folder) as server:
            has, _hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    files_of_a_request = 2
    needs = CONNECTIONS_AT_MOST * (1 + files_of_a_request) + TURNED_AWAY_AT_MOST
    listeners_children_and_the_rest = 1000
    assert has >= needs + listeners_children_and_the_rest


def test_any_wsgi_callable_is_served_from_the_folder_it_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plain.py").write_text(PLAIN)
    monkeypatch.chdir(tmp_path)
    with ServerUnderTest("plain:application", "--host", "localhost") as server:
        assert server.printed[0] == f"plain:application on {server.url} (Ctrl-C stops it)\n"
        assert server.ask().body == "plain"
        assert server.named("melee.objects") == set()
        assert server.stop() == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["__pycache__", "plain.py"]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("import nothing_like_it\napp = 1\n", "app.py:1: ModuleNotFoundError: No module named 'nothing_like_it'"),
        ("raise SystemExit(0)\napp = 1\n", "app.py:1: SystemExit: 0"),
        ("app = None\n", "app.py defines no `app`; write `app = App(__name__)`"),
    ],
)
def test_an_app_that_does_not_load_is_one_line_and_nothing_is_left(folder: Path, source: str, problem: str) -> None:
    (folder / "app.py").write_text(source)
    with pytest.raises(AssertionError, match="it ended without printing"), ServerUnderTest(folder) as server:
        server.wait_for("nothing like this")
    assert server.process.wait() == 1
    complaints = [line for line in server.printed if " on http://" not in line and not line.startswith("data in")]
    assert len(complaints) == 1
    assert complaints[0].startswith("melee: ")
    assert complaints[0].endswith(f"{problem}\n")
    assert not Project.at(folder).orders.exists()


def test_an_app_with_mistakes_is_not_started(folder: Path) -> None:
    with (folder / "app.py").open("a") as app:
        app.write("\nimport celery\ndef (\n")
    with (folder / "lib" / "more.py").open("w") as more:
        more.write("import threading\nthreading.Timer(1, print)\n")
    said = melee("serve", folder, "--port", "0")
    first, second = said.stdout.splitlines()
    assert (said.returncode, said.stderr) == (1, "")
    assert first.startswith("app.py:")
    assert "SyntaxError" in first
    assert second.startswith("lib/more.py:2:1: threading.Timer: ")
    assert not (folder / "data").exists()


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("nothing_like_it:app", "it does not load: ModuleNotFoundError: No module named 'nothing_like_it'"),
        ("plain:app", "the module plain has no `app`"),
        ("plain:__name__", "it is a str, which cannot be called as WSGI apps are"),
    ],
)
def test_a_callable_that_is_none_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, problem: str
) -> None:
    (tmp_path / "plain.py").write_text(PLAIN)
    monkeypatch.chdir(tmp_path)
    ended = melee("serve", target, "--port", "0")
    assert ended.returncode == 1
    assert ended.stderr == f"melee: {target} is not an app: {problem}\n"


def test_a_folder_without_an_app_is_one_line(tmp_path: Path) -> None:
    ended = melee("serve", tmp_path, "--port", "0")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert (
        ended.stderr == f"melee: {tmp_path} is not an app: it has no app.py; name the folder of an app, or go there\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_broken_melee_toml_is_one_line(folder: Path) -> None:
    (folder / "melee.toml").write_text("[server]\nsleep_after_seconds = 0\n")
    ended = melee("serve", folder, "--port", "0")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"melee: {folder / 'melee.toml'}: Expected `float` > 0.0")
    assert ended.stderr.count("\n") == 1


def test_a_taken_port_is_one_line(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = melee("serve", folder, "--port", str(port))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        f"melee: cannot listen on 127.0.0.1 port {port}: Address already in use; choose another --host or --port\n"
    )


def test_a_second_server_on_a_folder_is_refused_even_while_its_app_sleeps(folder: Path) -> None:
    (folder / "melee.toml").write_text("[server]\nsleep_after_seconds = 0.5\n")
    with ServerUnderTest(folder) as server:
        server.wait_for("small sleeps")
        for command in ("serve", "dev"):
            second = melee(command, folder, "--port", "0")
            assert (second.returncode, second.stdout) == (1, "")
            assert second.stderr.startswith(f"melee: {folder / 'data'} is in use by process {server.process.pid}: stop")
            assert second.stderr.count("\n") == 1
        assert server.ask("hit/a").body == "1"


def test_it_is_refused_beside_melee_dev_also_when_that_has_begun_anew_or_has_no_app(folder: Path) -> None:
    with DevServer(folder) as server:
        for source in ((folder / "app.py").read_text() + "\n", "import nothing_like_it\n"):
            # It answers, so it has read the file that is edited next.
            server.get()
            second = melee("serve", folder, "--port", "0")
            assert (second.returncode, second.stdout) == (1, "")
            assert second.stderr.startswith(f"melee: {folder / 'data'} is in use by process {server.process.pid}: stop")
            (folder / "app.py").write_text(source)
            server.wait_for("starting again")
        server.wait_for("waiting for the next edit")
        assert melee("serve", folder, "--port", "0").returncode == 1
