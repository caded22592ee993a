"""An app whose objects are shared by two workers, as its visitors meet it."""

import os
import signal
from collections.abc import Iterator
from itertools import count, islice

import pytest

from melee.objects.request import ObjectRef
from melee.objects.shard import shard_of, shards
from melee.project import Project
from tests.melee.cli.small_app import melee
from tests.melee.server.conftest import WriteApp
from tests.melee.server.load import Load
from tests.melee.server.served import ServerUnderTest
from tests.melee.server.served_app import edit

pytestmark = pytest.mark.slow

TWO = "[objects]\nworkers = 2\n"


def ids_of(number: int, workers: int) -> Iterator[str]:
    """Of objects that one of the workers owns."""
    return (f"id{n}" for n in count() if shard_of(ObjectRef("Counter", f"id{n}"), workers) == number)


# One object of each worker.
FIRST, SECOND = (next(ids_of(number, workers=2)) for number in (0, 1))

HIT = "return str(Counter.get(id).hit())"
HIT_ANOTHER = """
    def hit_another(self, id):
        return Counter.get(id).hit_slowly()

    def hit_slowly(self):
        time.sleep(0.05)
        return self.hit()

    def on_timer"""


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


def test_no_request_fails_while_three_workers_that_call_each_other_are_replaced(app: WriteApp) -> None:
    folder = app("[objects]\nworkers = 3\n")
    callers, called = zip(*(islice(ids_of(number, workers=3), 2) for number in range(3)), strict=True)
    pairs = list(zip(callers, called[1:] + called[:1], strict=True))
    edit(
        folder / "app.py", HIT, f"caller, id = random.choice({pairs}); return str(Counter.get(caller).hit_another(id))"
    )
    edit(folder / "app.py", "import os\n", "import os, random\n")
    edit(folder / "lib" / "counter.py", "\n    def on_timer", HIT_ANOTHER)
    with ServerUnderTest(folder) as server, Load(server, clients=8) as load:
        for _ in range(3):
            load.wait_for(30)
            reloaded = melee("reload", folder)
            assert (reloaded.returncode, reloaded.stdout) == (0, "app serves what is on disk now\n")
        load.end()
        assert load.failed == []
        assert sum(int(server.ask(f"ask/{id}/count").body) for id in called) == len(load.answers)
        assert len(server.named("melee.objects")) == 3


def test_a_timer_of_either_worker_wakes_the_app(app: WriteApp) -> None:
    with ServerUnderTest(app(f"{TWO}[server]\nsleep_after_seconds = 0.5")) as server:
        for id in (FIRST, SECOND):
            server.ask(f"arm/{id}/8.0")
        server.wait_for("app sleeps; next timer or job: 2")
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
    for config, hits in ((TWO, "1"), ("", "2"), ("[objects]\nworkers = 3", "3")):
        (folder / "melee.toml").write_text(config)
        with ServerUnderTest(folder) as server:
            assert [server.ask(f"hit/{id}").body for id in (FIRST, SECOND)] == [hits, hits]
            assert len(server.named("melee.objects")) == Project.at(folder).config.objects.workers
