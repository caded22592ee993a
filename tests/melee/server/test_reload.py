"""`melee reload`, and SIGHUP: the new version is served, and nobody notices."""

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from melee.project import Project
from tests.melee.cli.small_app import melee
from tests.melee.gate import Gate
from tests.melee.server.conftest import WriteApp
from tests.melee.server.load import Load
from tests.melee.server.served import Answer, ServerUnderTest
from tests.melee.server.served_app import edit

pytestmark = pytest.mark.slow

TWINS = """
from lib.counter import Counter as Other
from melee import App, Durable

app = App(__name__)

class Counter(Durable): ...
"""


def test_no_request_fails_while_four_versions_follow_each_other(app: WriteApp) -> None:
    folder = app()
    with ServerUnderTest(folder) as server, Load(server, clients=8) as load:
        for version in range(2, 6):
            edit(folder / "app.py", f"version {version - 1}", f"version {version}")
            reloaded = melee("reload", folder)
            assert (reloaded.returncode, reloaded.stdout) == (0, "app serves what is on disk now\n")
            assert server.ask() == Answer(200, f"version {version}", None)
        load.end()
        assert {answer.status for answer in load.answers} == {200}
        assert int(server.ask("ask/a/count").body) == len(load.answers)
        # The old request parents end after their last child.
        server.wait_for_processes("melee.web", 1 + 4)
        assert len(server.named("melee.objects")) == 1


def test_a_request_under_way_ends_with_the_version_it_began_with(app: WriteApp, gate: Gate) -> None:
    folder = app()
    with ServerUnderTest(folder) as server:
        waiting = server.begin_get(f"wait?gate={gate.path}")
        with gate.reached():
            edit(folder / "app.py", "version 1", "version 2")
            edit(folder / "app.py", '"waited"', '"waited in vain"')
            assert melee("reload", folder).returncode == 0
            assert server.ask().body == "version 2"
        assert waiting.result() == Answer(200, "waited", None)


@pytest.mark.parametrize(
    ("file", "broken"),
    [
        ("app.py", "import nothing_like_it\n"),
        ("app.py", "def (\n"),
        ("melee.toml", "[web]\nslot = 1\n"),
        ("app.py", TWINS),
    ],
)
def test_a_version_that_does_not_load_is_refused_in_one_line(app: WriteApp, file: str, broken: str) -> None:
    folder = app()
    with ServerUnderTest(folder) as server:
        assert server.ask().status == 200
        working = (folder / file).read_text()
        (folder / file).write_text(broken)
        refused = melee("reload", folder)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert refused.stderr.startswith("melee: the old version goes on: ")
        assert refused.stderr.count("\n") == 1
        server.wait_for("app cannot be loaded anew; the old version goes on")
        assert server.ask("hit/a") == Answer(200, "1", None)
        assert len(server.named("melee.objects")) == 1
        (folder / file).write_text(working)
        assert melee("reload", folder).returncode == 0


MISTAKE = "lib/more.py:3:1: threading.Thread: a thread ends with the process of its request"


@pytest.mark.parametrize(("times", "others"), [(1, "\n"), (3, " (and 2 more; `melee build` prints all)\n")])
def test_a_version_with_mistakes_is_refused_before_any_of_it_runs(app: WriteApp, times: int, others: str) -> None:
    folder = app()
    with ServerUnderTest(folder) as server:
        assert server.ask().status == 200
        edit(folder / "app.py", "version 1", "version 2")
        edit(folder / "app.py", "app = App(__name__)", "import lib.more\napp = App(__name__)")
        more = "import threading\nopen('ran', 'w').close()\n" + "threading.Thread(target=print)\n" * times
        (folder / "lib" / "more.py").write_text(more)
        refused = melee("reload", folder)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert refused.stderr.startswith(f"melee: the old version goes on: {MISTAKE}")
        assert refused.stderr.endswith(others)
        server.process.send_signal(signal.SIGHUP)
        for _order in range(2):
            assert MISTAKE in server.wait_for("app cannot be loaded anew; the old version goes on")
        assert server.ask() == Answer(200, "version 1", None)
        assert not (folder / "ran").exists()
        (folder / "lib" / "more.py").write_text("")
        assert melee("reload", folder).returncode == 0
        assert server.ask().body == "version 2"


def test_a_build_step_that_fails_is_no_reason_to_serve_the_new_version(app: WriteApp) -> None:
    folder = app()
    with ServerUnderTest(folder) as server:
        assert server.ask().status == 200
        (folder / ".melee" / "objects.py").unlink()
        (folder / ".melee" / "objects.py").mkdir()
        refused = melee("reload", folder)
        problem = f"{folder}/.melee/objects.py: Is a directory"
        assert refused.stderr == f"melee: the old version goes on: {problem}\n"
        assert server.ask().status == 200


def test_a_version_whose_melee_toml_cannot_be_read_is_refused_in_one_line(app: WriteApp) -> None:
    folder = app()
    with ServerUnderTest(folder) as server:
        assert server.ask().status == 200
        (folder / "melee.toml").unlink()
        (folder / "melee.toml").symlink_to(folder / "melee.toml")
        refused = melee("reload", folder)
        assert refused.returncode == 1
        problem = f"{folder / 'melee.toml'}: it cannot be read: Too many levels of symbolic links"
        assert refused.stderr == f"melee: the old version goes on: {problem}\n"
        server.process.send_signal(signal.SIGHUP)
        for _order in range(2):
            server.wait_for("app cannot be loaded anew; the old version goes on")
        assert server.ask().status == 200


def test_sighup_reloads_too(app: WriteApp) -> None:
    folder = app()
    with ServerUnderTest(folder) as server:
        assert server.ask().body == "version 1"
        edit(folder / "app.py", "version 1", "version 2")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("app serves what is on disk now")
        assert server.ask().body == "version 2"


def test_an_app_that_sleeps_is_loaded_anew_and_sleeps_again(app: WriteApp) -> None:
    folder = app("[server]\nsleep_after_seconds = 0.5")
    with ServerUnderTest(folder) as server:
        server.wait_for("app sleeps")
        edit(folder / "app.py", "import os\n", "import nothing_like_it\n")
        assert melee("reload", folder).returncode == 1
        assert server.children() == set()
        edit(folder / "app.py", "import nothing_like_it\n", "import os\n")
        assert melee("reload", folder).returncode == 0
        server.wait_for("app sleeps")


def test_of_two_reloads_at_once_one_follows_the_other(app: WriteApp, gate: Gate) -> None:
    folder = app()
    with ServerUnderTest(folder) as server, ThreadPoolExecutor(2) as commands:
        assert server.ask().status == 200
        edit(folder / "app.py", "app = App(__name__)", f"wait_at({gate.path!r})\napp = App(__name__)")
        reloads = [commands.submit(melee, "reload", folder) for _ in range(2)]
        for _ in range(4):
            gate.reached().close()
        assert [reload.result().returncode for reload in reloads] == [0, 0]
        assert server.ask() == Answer(200, "version 1", None)
        assert len(server.named("melee.objects")) == 1


def test_what_melee_toml_says_of_requests_holds_after_a_reload_for_those_that_come_then(
    app: WriteApp, gate: Gate
) -> None:
    grace = "[server]\ngrace_seconds = 0.1\n"
    folder = app(f"{grace}[web]\nslots = 1\nbacklog = 0")
    with ServerUnderTest(folder) as server:
        waiting = server.begin_get(f"wait?gate={gate.path}")
        with gate.reached():
            assert server.ask().status == 503
            (folder / "melee.toml").write_text(f"{grace}[web]\nslots = 2\nbudget_seconds = 1")
            assert melee("reload", folder).returncode == 0
            assert [server.ask("sleep/30.0").status for _ in range(2)] == [504, 504]
        # Its budget was another one.
        assert waiting.result().status == 200


@pytest.mark.parametrize(
    ("config", "refusal"),
    [
        ("[objects]\nworkers = 2", "[objects] workers was 1 and is 2: stop the server and start it again"),
        ("[server]\ntrusted_proxies = ['::1']", "[server] trusted_proxies was [] and is ['::1']: stop the server"),
    ],
)
def test_what_only_a_start_can_change_is_refused(app: WriteApp, config: str, refusal: str) -> None:
    folder = app()
    with ServerUnderTest(folder) as server:
        assert server.ask().status == 200
        (folder / "melee.toml").write_text(config)
        refused = melee("reload", folder)
        assert refused.returncode == 1
        assert refusal in refused.stderr
        assert server.ask().status == 200


def test_without_a_server_there_is_nothing_to_reload(app: WriteApp) -> None:
    folder = app()
    refused = melee("reload", folder)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == f"melee: no server runs on {folder / 'data'}; start one with `melee serve`\n"


def test_a_server_that_was_killed_is_none(app: WriteApp) -> None:
    folder = app()
    with ServerUnderTest(folder) as server:
        server.ask()
    assert Project.at(folder).orders.exists()
    assert "no server runs on" in melee("reload", folder).stderr


def test_a_plain_callable_is_loaded_anew_by_sighup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plain.py").write_text(
        "def application(environ, start_response):\n"
        "    start_response('200 OK', [('Content-Type', 'text/plain')])\n"
        "    return [b'version 1']\n"
    )
    monkeypatch.chdir(tmp_path)
    with ServerUnderTest("plain:application") as server:
        assert server.ask().body == "version 1"
        edit(tmp_path / "plain.py", "version 1", "version 2")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("serves what is on disk now")
        assert server.ask().body == "version 2"
