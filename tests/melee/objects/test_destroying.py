"""The end of an object: by its class, by itself, by another, and while its timer is due."""

from contextlib import closing
from pathlib import Path

import apsw
import msgspec
import pytest

from melee.clock import ManualClock
from melee.errors import ObjectUnavailable
from melee.objects.commit import Outcome
from melee.objects.durable import Durable
from melee.objects.files import every_file
from melee.objects.host import Host
from melee.objects.request import Call
from melee.store import connection
from tests.melee.failing_disk import FailingDisk
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


def told_to_a_peer(host: Host, id: str, method: str, class_name: str = "Counter") -> list[Outcome]:
    outcomes: list[Outcome] = []
    host.serve_peer(Call(class_name, id, method, msgspec.Raw(b"[]")), lambda: True, outcomes.append)
    return outcomes


def test_an_object_whose_end_the_index_cannot_note_has_ended_and_its_caller_hears_that_once(
    open_host: OpenHost,
) -> None:
    with FailingDisk.mounted() as disk:
        disk.fails_for = "registry.sqlite3-wal"

        def fail_after_the_commit(point: str) -> None:
            disk.fails_with = apsw.FullError if point == "index settled" else None

        host = open_host(Counter, reached=fail_after_the_commit)
        for id in "ab":
            Counter.get(id).add()
        assert Counter.get("a").end() is True
        assert told_to_a_peer(host, "b", "end") == [b"true"]
        assert [Counter.get(id).value() for id in "ab"] == [0, 0]
        disk.fails_with = None
        host = open_host(Counter)
        assert [Counter.destroy(id) for id in "ab"] == [True, True]
        assert Counter.list() == []


def test_an_object_whose_end_cannot_be_written_goes_on_and_its_caller_hears_that_once(
    open_host: OpenHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The real wait for who has the file locked is 5 s; nothing else is replaced.
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0)

    class Ending(Counter):
        def end_untouched(self) -> bool:
            return Ending.destroy(self.id)

    host = open_host(Ending)
    Ending.get("a").add()
    (file,) = every_file(host.folder)
    with closing(apsw.Connection(str(file))) as other:
        other.execute("BEGIN IMMEDIATE")
        (outcome,) = told_to_a_peer(host, "a", "end_untouched", "Ending")
        assert isinstance(outcome, ObjectUnavailable)
        assert "what it wrote was undone: database is locked" in str(outcome)
        with pytest.raises(ObjectUnavailable, match="database is locked"):
            Ending.destroy("a")
    assert Ending.get("a").add() == 2
