"""The end of an object: by its class, by itself, by another, and while its timer is due."""

from pathlib import Path

from melee.clock import ManualClock
from melee.objects.durable import Durable
from melee.objects.files import every_file
from tests.melee.objects.conftest import OpenHost
from tests.melee.objects.counter import Counter


def test_destroy_ends_data_and_file_and_the_next_call_begins_a_new_life(open_host: OpenHost, tmp_path: Path) -> None:
    open_host(Counter)
    Counter.get("a").add(7)
    assert Counter.destroy("a") is True
    assert Counter.destroy("a") is False
    assert Counter.list() == []
    assert list(every_file(tmp_path / "data" / "objects")) == []
    assert Counter.get("a").add() == 1


def test_an_object_can_destroy_itself_when_its_call_ends(open_host: OpenHost) -> None:
    open_host(Counter)
    Counter.get("a").add()
    assert Counter.get("a").end() is True
    assert Counter.list() == []
    assert Counter.get("a").value() == 0


def test_an_object_can_destroy_another(open_host: OpenHost) -> None:
    open_host(Counter)
    Counter.get("b").add()
    assert Counter.get("a").end_another("b") is True
    assert Counter.list() == ["a"]


def test_an_object_destroyed_while_its_timer_is_due_leaves_no_ghost(open_host: OpenHost, clock: ManualClock) -> None:
    class Ticking(Durable):
        fired: list[str] = []  # noqa: RUF012 - shared by the class on purpose

        def arm(self) -> None:
            self.timer(after=0.001)

        def on_timer(self) -> None:
            self.fired.append(self.id)

    host = open_host(Ticking)
    for number in range(500):
        id = str(number)
        Ticking.get(id).arm()
        clock.move(0.001)
        Ticking.destroy(id)
        host.fire_due()
    assert (Ticking.fired, Ticking.count(), host.next_wake_at()) == ([], 0, None)
