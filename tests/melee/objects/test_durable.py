"""The class side of durable objects: what `Stats.get`, `list`, `count` and `destroy` are, whatever `Stats` defines."""

from typing import TYPE_CHECKING, Any, assert_type

import pytest

from melee.clock import ManualClock
from melee.errors import DefinitionError, NoOwner, ShapeError, TimerError
from melee.objects.durable import Durable, DurableClass
from melee.objects.host import Host
from tests.melee.objects.conftest import OpenHost


class Stats(Durable):
    def hit(self, times: int = 1) -> int:
        self.storage.put("views", self.storage.get("views", 0) + times)
        return int(self.storage.get("views"))

    def remind(self, after: float) -> None:
        self.timer(after=after)

    def on_timer(self) -> None: ...


class Greedy(Durable):
    """Defines for itself whatever the class side is called, and what melee might call its own."""

    def get(self, key: str) -> str:
        return f"get {key}"

    def list(self) -> str:
        return "list"

    def count(self) -> int:
        return 7

    def destroy(self) -> str:
        return "destroy"

    def spec(self) -> str:
        return "spec"

    def recorded(self) -> str:
        return self._record("it")

    def _record(self, what: str) -> str:
        self.timer(after=5)
        return f"recorded {what}"

    def on_timer(self) -> None: ...


class Silent(Durable):
    def remind(self) -> None:
        self.timer(after=1)


@pytest.fixture
def host(open_host: OpenHost) -> Host:
    return open_host(Stats, Greedy, Silent)


@pytest.mark.usefixtures("host")
def test_objects_are_listed_counted_and_destroyed_by_their_class() -> None:
    assert (Stats.list(), Stats.count(), Stats.destroy("b")) == ([], 0, False)
    for id in ("b", "a", "../c"):
        assert Stats.get(id).hit(2) == 2
    assert (Stats.list(), Stats.count()) == (["../c", "a", "b"], 3)
    assert Stats.destroy("b") is True
    assert (Stats.list(), Stats.count()) == (["../c", "a"], 2)
    assert Silent.count() == 0
    assert Stats.get("b").hit() == 1


def any_of(cls: Any) -> Any:
    """The same class, of whose methods a type checker knows nothing."""
    return cls


@pytest.mark.usefixtures("host")
def test_a_class_may_give_its_methods_the_names_of_the_class_side() -> None:
    greedy: Any = any_of(Greedy).get("g")
    assert (greedy.get("k"), greedy.list(), greedy.count(), greedy.destroy()) == ("get k", "list", 7, "destroy")
    assert (any_of(Greedy).list(), any_of(Greedy).count()) == (["g"], 1)
    assert any_of(Greedy).destroy("g") is True


def test_a_class_may_have_names_of_its_own_that_sound_like_melees(host: Host, clock: ManualClock) -> None:
    greedy: Any = any_of(Greedy).get("g")
    assert greedy.spec() == "spec"
    assert greedy.recorded() == "recorded it"
    assert host.next_wake_at() == clock.now() + 5
    assert any_of(Greedy).spec.name == "Greedy"


@pytest.mark.parametrize("name", ["get", "list", "count", "destroy"])
def test_the_class_side_cannot_be_replaced(name: str) -> None:
    with pytest.raises(DefinitionError, match=rf"Stats\.{name}: the class side of a durable object cannot be replaced"):
        setattr(Stats, name, lambda: None)


def test_an_object_is_not_made_by_hand() -> None:
    with pytest.raises(DefinitionError, match=r'objects are not made by hand; call Stats\.get\("some id"\)'):
        Stats()


@pytest.mark.parametrize("id", ["", "a" * 1025, 7, None, "\ud800"])
def test_what_is_no_id_is_refused_before_anything_is_asked(id: Any) -> None:
    with pytest.raises(ShapeError, match=r"^Stats id: "):
        Stats.get(id)
    with pytest.raises(ShapeError, match=r"^Stats id: "):
        Stats.destroy(id)


def test_outside_of_an_app_a_handle_is_made_and_a_call_has_nowhere_to_go() -> None:
    handle = Stats.get("visits")
    with pytest.raises(NoOwner, match=r"Stats/visits\.hit has nowhere to go"):
        handle.hit()
    with pytest.raises(NoOwner, match=r"Stats/\*\.count has nowhere to go"):
        Stats.count()


@pytest.mark.usefixtures("host")
def test_a_timer_of_a_class_without_on_timer_is_refused() -> None:
    with pytest.raises(Exception, match=r"Silent.timer: Silent has no on_timer for it to call; define one") as caught:
        Silent.get("s").remind()
    assert isinstance(caught.value.__cause__, DefinitionError)


@pytest.mark.usefixtures("host")
def test_a_refused_timer_says_so_at_the_caller() -> None:
    with pytest.raises(Exception, match="raised TimerError: after=-1 is negative; pass 0 or more seconds") as caught:
        Stats.get("visits").remind(-1)
    assert isinstance(caught.value.__cause__, TimerError)


def test_a_fault_in_a_definition_is_found_when_the_class_is_defined() -> None:
    with pytest.raises(DefinitionError, match=r"test_durable\.py:\d+: Clock\.timer: `timer` is what every durable"):

        class Clock(Durable):
            def timer(self) -> None:  # type: ignore[override]
                ...


def test_durable_itself_offers_nothing_and_its_classes_are_of_one_kind() -> None:
    assert isinstance(Durable, DurableClass)
    assert isinstance(Stats, DurableClass)
    assert [method.name for method in Stats.spec.methods] == ["hit", "remind"]


@pytest.mark.usefixtures("host")
def test_a_handle_is_the_object_itself_to_a_type_checker() -> None:
    assert_type(Stats.get("visits"), Stats)
    assert_type(Stats.list(), list[str])
    assert_type(Stats.count(), int)
    assert_type(Stats.destroy("visits"), bool)
    if TYPE_CHECKING:
        assert_type(Stats.get("visits").hit(1), int)
        Stats.get("visits").hitt()  # type: ignore[attr-defined]
        Stats.get("visits").hit("one")  # type: ignore[arg-type]
        Stats.get(7)  # type: ignore[arg-type]
