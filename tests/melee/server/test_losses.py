"""What a server keeps alive dies all the same; callers and visitors notice as little as can be."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.melee.cli.small_app import PATIENCE_SECONDS, melee
from tests.melee.gate import Gate
from tests.melee.server.conftest import WriteApp
from tests.melee.server.load import Load
from tests.melee.server.served import RETRY_AFTER, Answer, ServerUnderTest, pid_of
from tests.melee.server.served_app import edit

pytestmark = pytest.mark.slow


def test_after_the_object_worker_is_killed_the_next_call_waits_for_the_next_worker(app: WriteApp) -> None:
    with ServerUnderTest(app()) as server:
        for hits in range(1, 4):
            assert server.ask("hit/a") == Answer(200, str(hits), None)
            server.kill("melee.objects")
        server.wait_for("the object worker ended")


def test_after_the_request_parent_is_killed_the_next_request_waits_for_the_next_one(app: WriteApp, gate: Gate) -> None:
    with ServerUnderTest(app()) as server:
        assert server.ask().status == 200
        hanging = server.begin_get(f"hang?gate={gate.path}")
        with gate.reached() as one, gate.reached() as other:
            pids = {pid_of(one), pid_of(other)}
            server.kill("melee.web")
            assert server.left_after(pids) == set()
        assert hanging.result().status == 502
        assert server.ask().status == 200
        server.wait_for("the request parent ended")


def test_hundreds_of_requests_leave_nothing_behind(app: WriteApp) -> None:
    with ServerUnderTest(app()) as server:
        with Load(server, clients=8) as load:
            load.wait_for(200)
        descriptors, kilobytes = server.descriptors(), server.kilobytes()
        with Load(server, clients=8) as load:
            load.wait_for(400)
        server.wait_for_processes("melee.web", 1 + 4)
        # Each child that waits has a descriptor in the server, and there are four at most.
        assert server.descriptors() <= descriptors + 4
        # Of 400 requests each would have kept 10 KiB.
        assert server.kilobytes() <= kilobytes + 4000


def test_calls_are_refused_at_once_while_no_worker_can_start(app: WriteApp) -> None:
    folder = app()
    with ServerUnderTest(folder) as server:
        assert server.ask("hit/a").status == 200
        broken = folder / "data" / "objects"
        broken.rename(folder / "data" / "moved")
        broken.write_text("a file where a folder should be")
        server.kill("melee.objects")
        server.wait_for("the object worker cannot serve")
        server.wait_for("the object worker cannot serve")
        began_at = time.monotonic()
        assert server.ask("hit/a") == Answer(500, "ObjectUnavailable", None)
        # Nobody would say so for 30 s.
        assert time.monotonic() - began_at < 15
        broken.unlink()
        (folder / "data" / "moved").rename(broken)
        server.wait_for("object worker listens")
        assert server.ask("hit/a") == Answer(200, "2", None)


def test_they_are_refused_at_once_by_the_next_version_whose_worker_cannot_start_either(
    app: WriteApp, gate: Gate
) -> None:
    folder = app()
    (folder / "data").mkdir()
    (folder / "data" / "objects").write_text("a file where a folder should be")
    with ServerUnderTest(folder) as server, ThreadPoolExecutor(1) as commands:
        assert server.ask().status == 200
        waits = f"import sys\nif 'melee.web' in sys.orig_argv:\n    wait_at({gate.path!r})\n"
        edit(folder / "app.py", "app = App(__name__)", f"{waits}app = App(__name__)")
        reloading = commands.submit(melee, "reload", folder)
        with gate.reached():
            # The workers of both versions try, and only those of the next one often.
            for _ in range(4):
                server.wait_for("the object worker cannot serve")
        assert reloading.result().returncode == 0
        began_at = time.monotonic()
        assert server.ask("hit/a") == Answer(500, "ObjectUnavailable", None)
        assert time.monotonic() - began_at < 15


def test_an_app_that_breaks_while_it_sleeps_is_unavailable_until_it_is_mended(app: WriteApp) -> None:
    folder = app("[server]\nsleep_after_seconds = 0.5")
    working = (folder / "app.py").read_text()
    with ServerUnderTest(folder) as server:
        server.wait_for("app sleeps")
        (folder / "app.py").write_text("import nothing_like_it\n")
        answer = server.ask()
        assert (answer.status, answer.retry_after) == (503, RETRY_AFTER)
        assert "No module named 'nothing_like_it'" in server.wait_for("a request found no app to serve it")
        assert "No module named 'nothing_like_it'" in server.wait_for("the object worker cannot serve")
        (folder / "app.py").write_text(working)
        ends_at = time.monotonic() + PATIENCE_SECONDS
        while server.ask().status == 503:
            assert time.monotonic() < ends_at
