"""An app whose objects are shared by two workers, as its visitors meet it."""

import os
import signal

import pytest

from melee.objects.request import ObjectRef
from melee.objects.shard import shard_of, shards
from melee.project import Project
from tests.melee.server.conftest import WriteApp
from tests.melee.server.served import ServerUnderTest

pytestmark = pytest.mark.slow

TWO = "[objects]\nworkers = 2\n"
# One object of each worker.
FIRST, SECOND = (next(f"id{n}" for n in range(100) if shard_of(ObjectRef("Counter", f"id{n}"), 2) == k) for k in (0, 1))


def test_each_worker_serves_its_own_objects(app: WriteApp) -> None:
    with ServerUnderTest(app(TWO)) as server:
        assert [server.ask(f"hit/{id}").body for id in (FIRST, SECOND, FIRST, SECOND)] == ["1", "1", "2", "2"]
        assert len(server.named("melee.objects")) == 2


def test_a_worker_that_is_killed_is_replaced_and_the_other_one_serves_on(app: WriteApp) -> None:
    with ServerUnderTest(app(TWO)) as server:
        server.ask(f"hit/{FIRST}")
        killed = min(server.named("melee.objects"))
        os.kill(killed, signal.SIGKILL)
        assert [server.ask(f"hit/{id}").body for id in (FIRST, SECOND)] == ["2", "1"]
        server.wait_for("the object worker ended")


def test_a_timer_of_either_worker_wakes_the_app(app: WriteApp) -> None:
    with ServerUnderTest(app(f"{TWO}[server]\nsleep_after_seconds = 0.5")) as server:
        for id in (FIRST, SECOND):
            server.ask(f"arm/{id}/8.0")
        server.wait_for("app sleeps; next timer: 2")
        for _timer in range(2):
            server.wait_for("-> on_timer")
        assert [server.ask(f"ask/{id}/fired").body for id in (FIRST, SECOND)] == ["1", "1"]


def test_no_socket_of_them_is_left(app: WriteApp) -> None:
    folder = app(TWO)
    project = Project.at(folder)
    sockets = [path for shard in shards(2) for path in (shard.socket(project), shard.peer_socket(project))]
    with ServerUnderTest(folder) as server:
        assert all(path.exists() for path in sockets)
        server.stop(signal.SIGTERM)
    assert not any(path.exists() for path in sockets)


@pytest.mark.parametrize(("before", "after"), [("", TWO), (TWO, "")])
def test_another_number_in_melee_toml_waits_for_a_start_of_the_server_whoever_ends_meanwhile(
    app: WriteApp, before: str, after: str
) -> None:
    folder = app(before)
    with ServerUnderTest(folder) as server:
        assert [server.ask(f"hit/{id}").body for id in (FIRST, SECOND)] == ["1", "1"]
        (folder / "melee.toml").write_text(after)
        for hits, module in enumerate(("melee.web", "melee.objects"), start=2):
            server.kill(module)
            assert [server.ask(f"hit/{id}").body for id in (FIRST, SECOND)] == [str(hits)] * 2


def test_an_app_that_gets_another_number_of_workers_keeps_its_objects(app: WriteApp) -> None:
    folder = app(TWO)
    for config, count in ((TWO, "1"), ("", "2"), ("[objects]\nworkers = 3", "3")):
        (folder / "melee.toml").write_text(config)
        with ServerUnderTest(folder) as server:
            assert [server.ask(f"hit/{id}").body for id in (FIRST, SECOND)] == [count, count]
            assert len(server.named("melee.objects")) == Project.at(folder).config.objects.workers
