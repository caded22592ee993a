"""A batch: committed together, released after, each object for itself; and what a failing disk means for callers."""

import threading
from typing import Any

import apsw
import msgspec
import pytest

from melee import shape
from melee.clock import ManualClock
from melee.errors import DatabaseFull, MeleeError, ObjectCallError, ObjectUnavailable, OutcomeUnknown
from melee.objects.commit import COMMIT_POINTS, Outcome
from melee.objects.durable import Durable
from melee.objects.files import every_file
from melee.objects.host import Host
from melee.objects.loaded import state_in
from melee.objects.request import Call, ObjectRef
from melee.store.connection import Connection
from tests.melee.failing_disk import FailingDisk
from tests.melee.objects.conftest import OpenHost


class Ledger(Durable):
    def setup(self) -> None:
        self.storage.run("CREATE TABLE entries (amount INTEGER)")
        self.storage.run(
            "CREATE TRIGGER no_13 BEFORE INSERT ON entries WHEN new.amount = 13 "
            "BEGIN SELECT RAISE(ROLLBACK, 'thirteen'); END"
        )

    def __init__(self) -> None:
        self.seen: list[int] = []

    def add(self, amount: int) -> int:
        self.seen.append(amount)
        self.storage.run("INSERT INTO entries VALUES (?)", amount)
        return len(self.seen)

    def add_quietly(self, amount: int) -> str:
        try:
            self.add(amount)
        except MeleeError:
            return "swallowed"
        return "added"

    def add_large(self, times: int) -> None:
        with self.storage.transaction():
            for number in range(times):
                self.storage.put(f"large {number}", "x" * 1_000_000)

    def end(self) -> bool:
        return Ledger.destroy(self.id)

    def arm(self, seconds: float) -> None:
        self.timer(after=seconds)

    def on_timer(self) -> None:
        self.add(1)

    def total(self) -> int:
        row = self.storage.first("SELECT coalesce(sum(amount), 0) AS total FROM entries")
        return int(row["total"]) if row else 0

    def remembered(self) -> list[int]:
        return self.seen


def call(id: str, method: str, *arguments: Any) -> Call:
    return Call("Ledger", id, method, msgspec.Raw(shape.encode(list(arguments), "test")))


def run_together(host: Host, *calls: Call) -> list[Outcome]:
    """The outcomes in the order in which they were released."""
    outcomes: list[Outcome] = []
    for each in calls:
        host.run(each, outcomes.append)
    host.commit()
    return outcomes


def test_nothing_is_released_before_the_commit_and_everything_after(open_host: OpenHost) -> None:
    host = open_host(Ledger)
    Ledger.get("a").add(1)
    outcomes: list[Outcome] = []
    for _ in range(3):
        host.run(call("a", "add", 1), outcomes.append)
    (file,) = every_file(host.folder)
    outside = Connection(file, read_only=True)
    assert (outcomes, outside.own("SELECT sum(amount) AS total FROM entries")) == ([], [{"total": 1}])
    host.commit()
    assert (outcomes, outside.own("SELECT sum(amount) AS total FROM entries")) == ([b"2", b"3", b"4"], [{"total": 4}])
    outside.close()


def test_the_points_are_reached_in_their_order_with_one_commit_for_each_object(open_host: OpenHost) -> None:
    reached: list[str] = []
    host = open_host(Ledger, reached=reached.append)
    run_together(host, call("a", "add", 1), call("b", "add", 1), call("a", "add", 1))
    assert tuple(dict.fromkeys(reached)) == COMMIT_POINTS
    assert reached.count("object committed") == 2
    reached.clear()
    run_together(host, call("a", "total"))
    assert reached.count("object committed") == 1


def test_what_an_object_wrote_is_on_disk_before_the_object_it_calls_begins(open_host: OpenHost) -> None:
    seen: list[Any] = []

    class Asking(Durable):
        def ask(self) -> None:
            self.storage.put("written", "before asking")
            Looking.get("x").look()

    class Looking(Durable):
        def look(self) -> None:
            (file,) = (host.folder / "asking").rglob("*.sqlite3")
            outside = Connection(file, read_only=True)
            seen.extend(outside.own("SELECT value FROM _melee_values"))
            outside.close()

    host = open_host(Asking, Looking)
    Asking.get("a").ask()
    assert seen == [{"value": '"before asking"'}]


def test_an_earlier_timer_is_in_the_index_before_the_object_commits(open_host: OpenHost, clock: ManualClock) -> None:
    order: list[tuple[str, float | None, float | None]] = []
    host = open_host(Ledger, reached=lambda point: note(point))

    def note(point: str) -> None:
        files = list(every_file(host.folder))
        state = state_in(files[0]) if files else None
        order.append((point, host.next_wake_at(), state.due_at if state else None))

    Ledger.get("a").arm(100)
    order.clear()
    Ledger.get("a").arm(10)
    early, late = clock.now() + 10, clock.now() + 100
    assert ("index written", early, late) in order
    order.clear()
    Ledger.get("a").arm(1000)
    assert ("index written", early, early) in order
    assert ("released", early, clock.now() + 1000) in order
    assert order[-1] == ("index settled", clock.now() + 1000, clock.now() + 1000)


def test_a_trigger_that_rolls_back_undoes_the_calls_before_it_and_tells_each_caller(open_host: OpenHost) -> None:
    host = open_host(Ledger)
    Ledger.get("a").add(1)
    culprit, before, after = run_together(host, call("a", "add", 2), call("a", "add", 13), call("a", "add", 3))
    assert isinstance(before, ObjectCallError | ObjectUnavailable)
    kinds = {type(outcome).__name__ for outcome in (culprit, before)}
    assert kinds == {"ObjectCallError", "ObjectUnavailable"}
    assert after == b"1"
    assert Ledger.get("a").total() == 4


def test_a_method_that_swallows_the_loss_of_its_writes_is_not_confirmed(open_host: OpenHost) -> None:
    host = open_host(Ledger)
    (outcome,) = run_together(host, call("a", "add_quietly", 13))
    assert isinstance(outcome, ObjectUnavailable)
    assert "thirteen" in str(outcome)
    assert Ledger.get("a").remembered() == []


def test_a_full_disk_says_so_first_and_loses_nothing_confirmed(open_host: OpenHost) -> None:
    with FailingDisk.mounted() as disk:
        open_host(Ledger)
        Ledger.get("a").add(1)
        disk.fails_with = apsw.FullError
        with pytest.raises(ObjectUnavailable, match="FullError"):
            Ledger.get("a").add(2)
        with pytest.raises(ObjectCallError) as inside:
            Ledger.get("a").add_large(20)
        assert inside.value.remote_type == DatabaseFull.__name__
        assert "rollback" not in str(inside.value)
        disk.fails_with = None
        assert (Ledger.get("a").total(), Ledger.get("a").remembered()) == (1, [])
        assert Ledger.get("a").add(2) == 1
        assert Ledger.get("a").total() == 3
        open_host(Ledger)
        assert Ledger.get("a").total() == 3


def test_a_full_disk_fails_its_object_and_not_the_others_of_the_batch(open_host: OpenHost) -> None:
    with FailingDisk.mounted() as disk:
        host = open_host(Ledger)
        run_together(host, call("a", "add", 1), call("b", "add", 1))
        (file_of_a,) = [file for file in every_file(host.folder) if state_in(file) and _id_in(file) == "a"]
        disk.fails_for, disk.fails_with = file_of_a.name, apsw.FullError
        outcomes = run_together(host, call("a", "add", 2), call("b", "add", 2), call("a", "add", 3))
        assert [type(outcome).__name__ for outcome in outcomes] == ["ObjectUnavailable", "bytes", "ObjectUnavailable"]
        disk.fails_with = None
        assert (Ledger.get("a").total(), Ledger.get("b").total()) == (1, 3)


def test_a_disk_that_fails_to_sync_leaves_the_outcome_unknown(open_host: OpenHost) -> None:
    with FailingDisk.mounted() as disk:
        open_host(Ledger)
        Ledger.get("a").add(1)
        disk.fails_on, disk.fails_with = "sync", apsw.IOError
        with pytest.raises(OutcomeUnknown, match="its commit failed"):
            Ledger.get("a").add(2)
        disk.fails_with = None
        assert Ledger.get("a").total() in (1, 3)


def test_an_object_whose_first_commit_fails_was_never_created(open_host: OpenHost) -> None:
    with FailingDisk.mounted() as disk:
        host = open_host(Ledger)
        disk.fails_with = apsw.FullError
        with pytest.raises(MeleeError):
            Ledger.get("a").add(1)
        disk.fails_with = None
        assert list(every_file(host.folder)) == []
        assert Ledger.get("a").add(1) == 1
        assert Ledger.list() == ["a"]


def test_an_object_that_cannot_end_on_a_full_disk_goes_on(open_host: OpenHost) -> None:
    with FailingDisk.mounted() as disk:
        open_host(Ledger)
        Ledger.get("a").add(1)
        disk.fails_with = apsw.FullError
        with pytest.raises(ObjectUnavailable, match="FullError"):
            Ledger.destroy("a")
        with pytest.raises(ObjectUnavailable, match="FullError"):
            Ledger.get("a").end()
        disk.fails_with = None
        assert (Ledger.list(), Ledger.get("a").total()) == (["a"], 1)
        assert Ledger.get("a").end() is True
        assert Ledger.list() == []


def test_timers_rest_while_the_disk_is_full_and_fire_when_there_is_space(
    open_host: OpenHost, clock: ManualClock
) -> None:
    with FailingDisk.mounted() as disk:
        host = open_host(Ledger)
        Ledger.get("a").arm(1)
        clock.move(1)
        disk.fails_with = apsw.FullError
        host.fire_due()
        wake_at = host.next_wake_at()
        assert wake_at is not None
        assert wake_at > clock.now()
        disk.fails_with = None
        clock.move(600)
        assert host.fire_due() == [ObjectRef("Ledger", "a")]
        assert Ledger.get("a").total() == 1


def test_commits_of_one_batch_overlap(open_host: OpenHost) -> None:
    meeting = threading.Barrier(4, timeout=30)

    def reached(point: str) -> None:
        if point == "object committed" and meet:
            meeting.wait()

    meet = False
    host = open_host(Ledger, reached=reached)
    run_together(host, *(call(id, "add", 1) for id in "abcd"))
    meet = True
    # Four commits have to be at this point at once, or the barrier breaks.
    assert run_together(host, *(call(id, "add", 1) for id in "abcd")) == [b"2"] * 4


def _id_in(file: Any) -> str:
    state = state_in(file)
    return state.ref.id if state else ""
