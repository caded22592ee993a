"""Objects in memory: they close when nobody calls them, and no more are open than allowed."""

from pathlib import Path

from melee.clock import ManualClock
from melee.objects.durable import Durable
from melee.objects.files import every_file
from melee.objects.request import ObjectRef
from melee.project import ObjectsConfig
from melee.store.connection import Connection
from tests.melee.objects.conftest import OpenHost
from tests.melee.objects.counter import Counter


def test_idle_objects_close_and_their_log_moves_into_the_file(
    open_host: OpenHost, clock: ManualClock, tmp_path: Path
) -> None:
    host = open_host(Counter, config=ObjectsConfig(idle_seconds=60))
    Counter.get("a").add()
    clock.move(30)
    Counter.get("b").add()
    clock.move(30)
    host.unload_idle()
    assert not host.unload(ObjectRef("Counter", "a"))
    assert host.unload(ObjectRef("Counter", "b"))
    assert list((tmp_path / "data" / "objects" / "counter").rglob("*-wal")) == []


def test_a_log_that_grew_behind_a_reader_shrinks_when_the_reader_is_gone(open_host: OpenHost) -> None:
    class Writer(Durable):
        def write(self, times: int, letter: str) -> None:
            for number in range(times):
                self.storage.put(str(number), letter * 1_000_000)

    host = open_host(Writer)
    Writer.get("a").write(1, "a")
    (file,) = every_file(host.folder)
    reader = Connection(file, read_only=True)
    reader.begin()
    reader.own("SELECT count(*) AS n FROM _melee_values")
    for letter in "bcd":
        Writer.get("a").write(10, letter)
    log = file.with_name(f"{file.name}-wal")
    assert log.stat().st_size > 30_000_000
    reader.close()
    for letter in "efg":
        Writer.get("a").write(1, letter)
    assert log.stat().st_size < 10_000_000
    host.unload(ObjectRef("Writer", "a"))
    assert not log.exists()


def test_no_more_objects_stay_open_than_the_limit(open_host: OpenHost, tmp_path: Path) -> None:
    open_host(Counter, config=ObjectsConfig(open_at_most=3))
    for number in range(10):
        Counter.get(str(number)).add()
    assert len(list((tmp_path / "data" / "objects" / "counter").rglob("*-wal"))) == 3
    assert [Counter.get(str(number)).value() for number in range(10)] == [1] * 10
