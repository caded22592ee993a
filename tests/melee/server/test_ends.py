"""The end of a server, in order or not, and what is left of it: nothing."""

import os
import signal

import pytest

from melee.objects.shard import Shard
from melee.project import Project
from tests.melee.gate import Gate
from tests.melee.server.conftest import WriteApp
from tests.melee.server.served import Answer, ServerUnderTest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_request_under_way_is_finished_before_the_server_ends(app: WriteApp, gate: Gate, number: int) -> None:
    folder = app()
    project = Project.at(folder)
    sockets = [project.orders, Shard().socket(project)]
    with ServerUnderTest(folder) as server:
        waiting = server.begin_get(f"wait?gate={gate.path}")
        with gate.reached():
            assert all(path.exists() for path in sockets)
            server.process.send_signal(number)
            server.wait_for("server stops")
        assert waiting.result() == Answer(200, "waited", None)
        assert server.process.wait() == 0
        assert server.children() == set()
        assert not any(path.exists() for path in sockets)
        assert not list(folder.glob("data/objects/*/*/*-wal"))
        assert server.printed[-1] == "stopped\n"


def test_a_request_that_takes_longer_than_the_grace_time_is_cut_off(app: WriteApp, gate: Gate) -> None:
    with ServerUnderTest(app("[server]\ngrace_seconds = 0.5")) as server:
        waiting = server.begin_get(f"hang?gate={gate.path}")
        with gate.reached(), gate.reached():
            assert server.stop(signal.SIGTERM) == 0
        assert waiting.result().status == 503


def test_an_object_that_does_not_end_its_call_is_given_the_same_grace_time_not_one_more(
    app: WriteApp, gate: Gate
) -> None:
    with ServerUnderTest(app("[server]\ngrace_seconds = 4")) as server:
        calling = server.begin_get(f"endless?gate={gate.path}")
        gate.reached().close()
        assert server.stop(signal.SIGTERM) == 0
        assert calling.result().status == 503
        assert any("the object worker was killed" in line for line in server.printed)


@pytest.mark.parametrize("through_a_terminal", [True, False])
def test_a_second_ctrl_c_ends_it_at_once(app: WriteApp, gate: Gate, through_a_terminal: bool) -> None:
    with ServerUnderTest(app("[server]\ngrace_seconds = 600")) as server:
        server.begin_get(f"hang?gate={gate.path}")
        server.begin_get(f"endless?gate={gate.path}")
        gate.reached().close()
        # It never sends the body that it is asked for.
        never_ending = server.asked("", expect="100-continue", **{"content-length": "10"})
        with gate.reached(), gate.reached(), never_ending as connection:
            assert connection.sock.recv(12) == b"HTTP/1.1 100"
            send = os.killpg if through_a_terminal else os.kill
            for _ in range(2):
                send(server.process.pid, signal.SIGINT)
                server.wait_for("server stops")
            assert server.process.wait(timeout=60) == 0
        assert "Traceback" not in "".join(server.printed)


def test_it_can_be_stopped_while_it_loads_the_app(app: WriteApp, gate: Gate) -> None:
    folder = app()
    (folder / "app.py").write_text(f"{(folder / 'app.py').read_text()}\nwait_at({gate.path!r})\n")
    with ServerUnderTest(folder) as server, gate.reached(), gate.reached():
        assert server.stop(signal.SIGTERM) == 0
        assert server.children() == set()
        assert server.printed[-1] == "stopped\n"


def test_it_can_be_stopped_while_the_app_sleeps(app: WriteApp) -> None:
    with ServerUnderTest(app("[server]\nsleep_after_seconds = 0.5")) as server:
        server.wait_for("app sleeps")
        assert server.stop(signal.SIGTERM) == 0


def test_it_can_be_stopped_while_it_loads_a_new_version(app: WriteApp, gate: Gate) -> None:
    folder = app()
    with ServerUnderTest(folder) as server:
        assert server.ask().status == 200
        (folder / "app.py").write_text(f"{(folder / 'app.py').read_text()}\nwait_at({gate.path!r})\n")
        server.process.send_signal(signal.SIGHUP)
        with gate.reached(), gate.reached():
            assert server.stop(signal.SIGTERM) == 0
            assert server.children() == set()


def test_nothing_outlives_a_server_that_is_killed(app: WriteApp, gate: Gate) -> None:
    folder = app("[server]\ngrace_seconds = 1")
    with ServerUnderTest(folder) as server:
        server.begin_get(f"endless?gate={gate.path}")
        gate.reached().close()
        server.begin_get(f"hang?gate={gate.path}")
        with gate.reached(), gate.reached():
            server.process.kill()
            assert server.left_after(server.processes()) == set()
    with ServerUnderTest(folder) as server:
        assert server.ask("hit/a").body == "1"


def test_nothing_outlives_a_server_that_is_killed_while_it_loads_the_app(app: WriteApp, gate: Gate) -> None:
    folder = app()
    (folder / "app.py").write_text(f"{(folder / 'app.py').read_text()}\nwait_at({gate.path!r})\n")
    with ServerUnderTest(folder) as server, gate.reached(), gate.reached():
        server.process.kill()
        assert server.left_after(server.processes()) == set()


def test_a_server_whose_log_nobody_reads_any_more_serves_and_can_be_stopped(app: WriteApp) -> None:
    with ServerUnderTest(app()) as server:
        assert server.ask().status == 200
        server.read_no_more()
        assert [server.ask("hit/a").body for _ in range(3)] == ["1", "2", "3"]
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=60) == 0
