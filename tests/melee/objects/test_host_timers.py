"""Timers in a host: when they fire, how often, and what they leave behind."""

from contextlib import closing
from datetime import UTC, timedelta
from typing import Any, ClassVar

import msgspec
import pytest
from structlog.testing import capture_logs

from melee import clock as melee_clock
from melee.clock import ManualClock
from melee.errors import DefinitionError, ObjectCallError
from melee.objects.durable import Durable
from melee.objects.files import file_of
from melee.objects.host import Host
from melee.objects.loaded import state_in
from melee.objects.registry import Registry
from melee.objects.request import Call, ObjectRef
from tests.melee.objects.conftest import OpenHost


class Alarm(Durable):
    def setup(self) -> None:
        self.storage.put("rang", [])

    def set_after(self, seconds: float) -> None:
        self.timer(after=seconds)

    def set_at(self, moment: float) -> None:
        self.timer(at=moment)

    def set_twice(self, first: float, second: float) -> None:
        self.timer(after=first)
        self.timer(after=second)

    def set_and_take_back(self, seconds: float) -> None:
        with self.storage.transaction():
            self.storage.put("taken", "back")
            self.timer(after=seconds)
            raise ValueError("taken back")

    def set_with_inner_rollback(self, outer: float, inner: float) -> None:
        with self.storage.transaction():
            self.timer(after=outer)
            try:
                with self.storage.transaction():
                    self.timer(after=inner)
                    raise ValueError("inner")
            except ValueError:
                pass

    def cancel(self) -> None:
        self.cancel_timer()

    def on_timer(self) -> None:
        self.storage.put("rang", [*self.storage.get("rang"), melee_clock.now().timestamp()])

    def rang(self) -> list[float]:
        rang: list[float] = self.storage.get("rang")
        return rang

    def taken(self) -> Any:
        return self.storage.get("taken")


def test_a_timer_fires_when_it_is_due_once_and_never_early(open_host: OpenHost, clock: ManualClock) -> None:
    host = open_host(Alarm)
    with melee_clock.installed(clock, UTC):
        due_at = clock.now() + 10
        Alarm.get("a").set_after(10)
        assert host.next_wake_at() == due_at
        clock.move(9.999)
        assert host.fire_due() == []
        clock.move_to(due_at)
        assert host.fire_due() == [ObjectRef("Alarm", "a")]
        assert host.fire_due() == []
        assert (Alarm.get("a").rang(), host.next_wake_at()) == ([due_at], None)


def test_an_overdue_timer_fires_once_after_a_restart(open_host: OpenHost, clock: ManualClock) -> None:
    open_host(Alarm)
    Alarm.get("a").set_after(10)
    clock.move(timedelta(days=30).total_seconds())
    host = open_host(Alarm)
    assert host.fire_due() == [ObjectRef("Alarm", "a")]
    assert (host.fire_due(), len(Alarm.get("a").rang())) == ([], 1)


def test_a_thousand_overdue_timers_fire_once_each_in_portions(open_host: OpenHost, clock: ManualClock) -> None:
    class Cheap(Durable):
        fired: list[str] = []  # noqa: RUF012 - shared by the class on purpose

        def arm(self) -> None:
            self.timer(after=1)

        def on_timer(self) -> None:
            self.fired.append(self.id)

    host = open_host(Cheap)
    for number in range(1000):
        Cheap.get(str(number)).arm()
    clock.move(3600)
    host = open_host(Cheap)
    portions = []
    while fired := host.fire_due():
        portions.append(len(fired))
    assert sorted(Cheap.fired, key=int) == [str(number) for number in range(1000)]
    assert max(portions) == 16


def test_setting_a_timer_replaces_the_one_before(open_host: OpenHost, clock: ManualClock) -> None:
    host = open_host(Alarm)
    Alarm.get("a").set_twice(5, 50)
    assert host.next_wake_at() == clock.now() + 50
    Alarm.get("a").set_after(20)
    assert host.next_wake_at() == clock.now() + 20
    Alarm.get("a").set_after(30)
    clock.move(29)
    assert host.fire_due() == []
    clock.move(1)
    assert len(host.fire_due()) == 1


def test_a_cancelled_timer_does_not_fire_not_even_after_a_restart(open_host: OpenHost, clock: ManualClock) -> None:
    host = open_host(Alarm)
    Alarm.get("a").set_after(10)
    clock.move(9.999)
    Alarm.get("a").cancel()
    clock.move(10)
    assert host.fire_due() == []
    host = open_host(Alarm)
    assert (host.fire_due(), host.next_wake_at(), Alarm.get("a").rang()) == ([], None, [])
    Alarm.get("a").cancel()


def test_a_timer_set_in_a_transaction_that_is_taken_back_was_never_set(open_host: OpenHost, clock: ManualClock) -> None:
    host = open_host(Alarm)
    Alarm.get("a").set_after(100)
    before = host.next_wake_at()
    with pytest.raises(ObjectCallError, match="taken back"):
        Alarm.get("a").set_and_take_back(1)
    clock.move(50)
    assert (host.fire_due(), host.next_wake_at(), Alarm.get("a").taken()) == ([], before, None)


def test_an_inner_transaction_that_is_taken_back_restores_the_outer_timer(
    open_host: OpenHost, clock: ManualClock
) -> None:
    host = open_host(Alarm)
    Alarm.get("a").set_with_inner_rollback(100, 1)
    assert host.next_wake_at() == clock.now() + 100


def test_the_wall_clock_may_be_set_back_or_far_forward(open_host: OpenHost, clock: ManualClock) -> None:
    host = open_host(Alarm)
    start = clock.now()
    Alarm.get("a").set_after(60)
    clock.step_to(start - 3600)
    assert (host.fire_due(), host.next_wake_at()) == ([], start + 60)
    clock.step_to(start + timedelta(days=3650).total_seconds())
    assert len(host.fire_due()) == 1
    assert (host.fire_due(), len(Alarm.get("a").rang())) == ([], 1)


class Rearming(Durable):
    """Sets its next timer before, after, or never, and may raise."""

    def arm(self, mode: str) -> None:
        self.storage.put("mode", mode)
        self.timer(after=1)

    def on_timer(self) -> None:
        mode = self.storage.get("mode")
        self.storage.put("runs", self.runs() + 1)
        if mode == "first":
            self.timer(after=60)
        if mode == "same moment":
            self.timer(at=melee_clock.now())
        if mode == "cancel":
            self.cancel_timer()
        if mode == "rolled back":
            self._roll_back()
        if mode in ("first", "raise", "rolled back"):
            raise RuntimeError(f"broken {mode}")
        if mode == "exit":
            raise SystemExit(1)
        if mode == "memory":
            raise MemoryError
        if mode == "half an emoji":
            raise ValueError("\ud800")

    def _roll_back(self) -> None:
        with self.storage.transaction():
            self.timer(after=60)
            raise RuntimeError("broken inside")

    def runs(self) -> int:
        runs: int = self.storage.get("runs", 0)
        return runs


@pytest.mark.parametrize("mode", ["raise", "rolled back", "exit", "memory", "half an emoji"])
def test_a_timer_that_raises_keeps_its_writes_and_is_not_set_again(
    open_host: OpenHost, clock: ManualClock, mode: str
) -> None:
    host = open_host(Rearming)
    Rearming.get("a").arm(mode)
    clock.move(1)
    assert len(host.fire_due()) == 1
    assert (host.next_wake_at(), Rearming.get("a").runs()) == (None, 1)


def test_a_timer_that_sets_the_next_one_before_it_raises_goes_on(open_host: OpenHost, clock: ManualClock) -> None:
    host = open_host(Rearming)
    Rearming.get("a").arm("first")
    clock.move(1)
    host.fire_due()
    assert host.next_wake_at() == clock.now() + 60


def test_a_timer_set_anew_for_the_very_moment_it_fires_fires_again(open_host: OpenHost, clock: ManualClock) -> None:
    host = open_host(Rearming)
    with melee_clock.installed(clock, UTC):
        Rearming.get("a").arm("same moment")
        clock.move(1)
        assert [len(host.fire_due()) for _ in range(3)] == [1, 1, 1]


def test_cancelling_the_timer_that_is_firing_is_harmless(open_host: OpenHost, clock: ManualClock) -> None:
    host = open_host(Rearming)
    Rearming.get("a").arm("cancel")
    clock.move(1)
    assert (len(host.fire_due()), host.next_wake_at()) == (1, None)


def test_the_last_error_of_a_timer_is_kept_until_one_succeeds(open_host: OpenHost, clock: ManualClock) -> None:
    host = open_host(Rearming)
    folder = host.folder

    def last_error() -> str:
        state = state_in(file_of(folder, ObjectRef("Rearming", "a")))
        return state.timer_error if state else "no object"

    for mode, expected in [("raise", "RuntimeError: broken raise"), ("exit", "SystemExit: 1"), ("fine", "")]:
        Rearming.get("a").arm(mode)
        clock.move(1)
        host.fire_due()
        assert last_error() == expected


def test_other_timers_fire_when_one_raises(open_host: OpenHost, clock: ManualClock) -> None:
    host = open_host(Rearming, Alarm)
    Rearming.get("bad").arm("raise")
    Alarm.get("good").set_after(1)
    clock.move(1)
    assert set(host.fire_due()) == {ObjectRef("Rearming", "bad"), ObjectRef("Alarm", "good")}
    assert len(Alarm.get("good").rang()) == 1


def test_a_timer_of_an_object_that_cannot_be_loaded_waits_and_the_others_fire(
    open_host: OpenHost, clock: ManualClock
) -> None:
    open_host(Alarm, Rearming)
    Rearming.get("a").arm("fine")
    Alarm.get("good").set_after(1)
    clock.move(1)
    host = open_host(Alarm)
    assert host.fire_due() == [ObjectRef("Alarm", "good")]
    wake_at = host.next_wake_at()
    assert wake_at is not None
    assert wake_at > clock.now()
    clock.move(600)
    host = open_host(Alarm, Rearming)
    assert host.fire_due() == [ObjectRef("Rearming", "a")]


def test_a_timer_set_while_the_registry_waits_longer_is_known_before_its_commit(
    open_host: OpenHost, clock: ManualClock
) -> None:
    """An object whose timer ended the process is tried again later and later; a timer set meanwhile must not be."""
    seen: dict[str, float | None] = {}
    host: Host = open_host(Alarm)
    Alarm.get("a").set_after(0)
    folder = host.folder
    host.close()
    with closing(Registry(folder / "registry.sqlite3")) as registry:
        for _ in range(6):
            registry.try_at(ObjectRef("Alarm", "a"), clock.now())
    host = open_host(Alarm, reached=lambda point: seen.setdefault(point, host.next_wake_at()))
    assert host.next_wake_at() == clock.now() + 32
    seen.clear()
    Alarm.get("a").set_after(1)
    assert seen["object committed"] == clock.now() + 1


@pytest.mark.parametrize("says", [-50, 5_000, None], ids=["earlier", "later", "nothing"])
def test_whatever_the_index_says_the_objects_own_row_decides(
    open_host: OpenHost, clock: ManualClock, says: float | None
) -> None:
    host = open_host(Alarm)
    Alarm.get("a").set_after(100)
    due_at, folder = clock.now() + 100, host.folder
    host.close()
    with closing(Registry(folder / "registry.sqlite3")) as registry:
        registry.settle([(ObjectRef("Alarm", "a"), None if says is None else clock.now() + says)])
    host = open_host(Alarm)
    assert (host.fire_due(), Alarm.get("a").rang()) == ([], [])
    assert host.next_wake_at() == due_at
    clock.move_to(due_at)
    assert host.fire_due() == [ObjectRef("Alarm", "a")]


def test_a_class_without_on_timer_cannot_set_one(open_host: OpenHost) -> None:
    class Deaf(Durable):
        def arm(self) -> None:
            self.timer(after=1)

    host = open_host(Deaf)
    with pytest.raises(ObjectCallError, match="Deaf has no on_timer") as raised:
        Deaf.get("a").arm()
    assert raised.value.remote_type == DefinitionError.__name__
    assert host.next_wake_at() is None


def test_a_timer_may_call_other_objects(open_host: OpenHost, clock: ManualClock) -> None:
    class Relay(Durable):
        def arm(self) -> None:
            self.timer(after=1)

        def on_timer(self) -> None:
            Alarm.get("next").set_after(5)

    host = open_host(Relay, Alarm)
    Relay.get("a").arm()
    clock.move(1)
    host.fire_due()
    assert host.next_wake_at() == clock.now() + 5


class Slow(Durable):
    answers: ClassVar[list[object]] = []
    answers_when_it_fired: ClassVar[list[int]] = []

    def setup(self) -> None:
        self.timer(after=1)

    def hit(self) -> None:
        self.storage.put("hit", True)

    def on_timer(self) -> None:
        self.answers_when_it_fired.append(len(self.answers))


def test_whoever_has_been_answered_does_not_wait_for_a_timer(open_host: OpenHost, clock: ManualClock) -> None:
    host = open_host(Slow)
    Slow.get("a").hit()
    clock.move(1)
    host.run(Call("Slow", "b", "hit", msgspec.Raw(b"[]")), Slow.answers.append)
    host.fire_due()
    assert Slow.answers_when_it_fired == [1]


class Raises(Durable):
    def setup(self) -> None:
        self.timer(after=0)

    def begin(self, sets_first: bool) -> None:
        self.storage.put("sets_first", sets_first)

    def on_timer(self) -> None:
        if self.storage.get("sets_first"):
            self.timer(after=60)
        raise ValueError("no route")


@pytest.mark.parametrize(
    ("sets_first", "words"), [(False, "it is not tried again"), (True, "the one it had set comes")]
)
def test_the_log_says_whether_a_timer_that_raised_comes_again(
    open_host: OpenHost, clock: ManualClock, sets_first: bool, words: str
) -> None:
    host = open_host(Raises)
    Raises.get("a").begin(sets_first)
    with capture_logs() as lines:
        host.fire_due()
        clock.move(60)
        fired = host.fire_due()
    assert lines[-1]["event"] == f"timer Raises/a -> on_timer raised; {words}"
    assert len(fired) == sets_first
