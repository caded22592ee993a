"""A handle is readable Python: one method for each public method, sending a call to the owner."""

import ast
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from melee import shape
from melee.errors import ShapeError
from melee.objects.durable import Durable
from melee.objects.handles import Handle, handle_class, render
from melee.objects.request import Call, ObjectRef, Request, owned_by
from melee.objects.spec import ClassSpec


class Stats(Durable):
    def hit(self, day: str, times: int = 1) -> int:
        """Counts one more "view".

        Never goes down."""
        return times

    def get(self, key, default="it's"):  # type: ignore[no-untyped-def]
        return default

    def nothing(self) -> None: ...


class Owner:
    """Keeps what was asked and answers with the arguments."""

    def __init__(self) -> None:
        self.asked: list[Request] = []

    def ask(self, request: Request) -> msgspec.Raw:
        self.asked.append(request)
        assert isinstance(request, Call)
        return request.arguments


@pytest.fixture
def owner() -> Iterator[Owner]:
    owner = Owner()
    with owned_by(owner):
        yield owner


def handle(id: str = "visits") -> Any:
    return handle_class(Stats.spec)(ObjectRef("Stats", id))


def test_the_source_is_readable_and_typed() -> None:
    source = render([Stats.spec])
    assert source.startswith('"""What can be called on the durable objects of this app.')
    assert source.endswith(
        f'''class StatsHandle(Handle):
    """Stats, defined in {__name__}."""

    __slots__ = ()

    def hit(self, day: str, times: int = 1, /) -> int:
        'Counts one more "view".'
        return self._call("hit", day, times)

    def get(self, key, default = "it's", /) -> Any:
        return self._call("get", key, default)

    def nothing(self) -> None:
        return self._call("nothing")
'''
    )


def test_the_source_of_all_classes_is_one_module() -> None:
    module = ast.parse(render([Stats.spec, ClassSpec("Empty", "lib.empty", ())]))
    assert [node.name for node in module.body if isinstance(node, ast.ClassDef)] == ["StatsHandle", "EmptyHandle"]


def test_a_method_sends_a_call_and_returns_the_answer(owner: Owner) -> None:
    assert handle().hit("2030-01-01") == ["2030-01-01", 1]
    assert handle("../é").get("k", [None, {"a": 1.5}]) == ["k", [None, {"a": 1.5}]]
    assert handle().nothing() == []
    assert owner.asked == [
        Call("Stats", "visits", "hit", msgspec.Raw(b'["2030-01-01",1]')),
        Call("Stats", "../é", "get", msgspec.Raw(b'["k",[null,{"a":1.5}]]')),
        Call("Stats", "visits", "nothing", msgspec.Raw(b"[]")),
    ]


@pytest.mark.parametrize("name", ["hitt", "setup", "storage", "timer", "id", "on_timer"])
def test_a_misspelt_method_is_an_attribute_error_when_the_line_runs(owner: Owner, name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(handle(), name)
    assert owner.asked == []


def test_nothing_can_be_kept_on_a_handle() -> None:
    with pytest.raises(AttributeError):
        handle().views = 3


def test_arguments_have_no_names(owner: Owner) -> None:
    with pytest.raises(TypeError, match="positional-only"):
        handle().hit(day="2030-01-01")
    assert owner.asked == []


@pytest.mark.parametrize("arguments", [(), ("a", 1, 2)])
def test_too_few_and_too_many_arguments_are_refused_before_they_leave(owner: Owner, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="argument"):
        handle().hit(*arguments)
    assert owner.asked == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({1},), "Stats.hit argument 1: set is not JSON-shaped; pass a list"),
        (("a", {"when": [b""]}), 'Stats.hit argument 2, ["when"][0]: bytes is not JSON-shaped; pass text, or base64'),
        (("a" * 33 * 1024 * 1024,), "Stats.hit argument 1: 34,603,010 bytes encoded; at most 33,554,432"),
        (("a" * 2**24, "b" * 2**24), "Stats.hit arguments: 33,554,439 bytes encoded; at most 33,554,432"),
    ],
    ids=["a set", "bytes inside", "33 MiB", "32 MiB together"],
)
def test_what_is_not_json_shaped_is_refused_before_it_leaves(
    owner: Owner, arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(ShapeError) as caught:
        handle().hit(*arguments)
    assert str(caught.value).startswith(message)
    assert owner.asked == []
    assert handle().hit("a") == ["a", 1]


def test_arguments_of_the_deepest_kind_can_be_read_by_the_owner(owner: Owner) -> None:
    deep: list[Any] = []
    for _ in range(99):
        deep = [deep]
    assert handle().hit(deep) == [deep, 1]
    assert shape.encode(deep, "deep")


def test_a_handle_names_its_object() -> None:
    assert repr(handle()) == "<Stats/visits>"
    assert isinstance(handle(), Handle)
