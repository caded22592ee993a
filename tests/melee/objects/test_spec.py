"""What a class offers is read from the class; what cannot be called is refused when the class is defined."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from melee.errors import DefinitionError
from melee.objects.durable import Durable, DurableClass
from melee.objects.spec import ClassSpec, MethodSpec, ParameterSpec, read_spec


class Plain(Durable):
    """A class with everything that may stand in one."""

    KEPT_DAYS = 30

    def __init__(self) -> None:
        self.cache = 0

    def setup(self) -> None: ...

    def on_timer(self) -> None: ...

    def count_days(self, day: str, /, times: "int | None" = None, tags: list[str] = []) -> dict[str, int]:  # noqa: B006
        """Counts days."""
        return {day: times or 0}

    def get(self, key, default=None):  # type: ignore[no-untyped-def]
        return default

    def _private(self, *anything: Any, **more: Any) -> None: ...

    @staticmethod
    def helper() -> None: ...

    @property
    def size(self) -> int:
        return 0


class Derived(Plain):
    def more(self) -> None: ...

    def get(self, key: str) -> int:  # type: ignore[override]
        return 1


def test_public_methods_are_read_in_their_order_and_nothing_else_is() -> None:
    assert Plain.spec == ClassSpec(
        "Plain",
        __name__,
        (
            MethodSpec(
                "count_days",
                (
                    ParameterSpec("day", "str", ""),
                    ParameterSpec("times", "int | None", "None"),
                    ParameterSpec("tags", "list[str]", "[]"),
                ),
                "dict[str, int]",
                "Counts days.",
            ),
            MethodSpec("get", (ParameterSpec("key", "", ""), ParameterSpec("default", "", "None")), "", ""),
        ),
    )


def test_a_class_offers_what_its_ancestors_do_in_its_own_version() -> None:
    assert [method.name for method in Derived.spec.methods] == ["count_days", "get", "more"]
    assert Derived.spec.methods[1].result == "int"


def test_what_durable_itself_has_is_not_offered() -> None:
    assert read_spec(type("Empty", (Durable,), {}), Durable).methods == ()


def define(name: str, value: Any) -> str:
    with pytest.raises(DefinitionError) as caught:
        DurableClass("Stats", (Durable,), {"__module__": __name__, name: value})
    return str(caught.value)


async def _async(self: Any) -> None: ...


def _generator(self: Any) -> Iterator[int]:
    yield 1


async def _async_generator(self: Any) -> Any:
    yield 1


def _keyword_only(self: Any, *, day: str) -> None: ...


def _any_number(self: Any, *days: str) -> None: ...


def _any_name(self: Any, **days: str) -> None: ...


def _with_a_default(self: Any, day: Any = int) -> None: ...


def _with_a_tuple(self: Any, day: tuple[int, ...] = (1,)) -> None: ...


def _with_nan(self: Any, day: float = float("nan")) -> None: ...


def _taking_one(self: Any, day: str) -> None: ...


@pytest.mark.parametrize("name", ["id", "storage", "timer", "cancel_timer", "log"])
@pytest.mark.parametrize("value", [lambda self: None, 5, property(lambda self: None)])
def test_a_name_that_every_object_has_is_refused(name: str, value: Any) -> None:
    problem = f"Stats.{name}: `{name}` is what every durable object has from melee; choose another name"
    assert define(name, value).endswith(problem)


@pytest.mark.parametrize(
    ("method", "problem"),
    [
        (_async, "async methods and generators cannot be called from elsewhere; write a plain one"),
        (_generator, "async methods and generators cannot be called from elsewhere; write a plain one"),
        (_async_generator, "async methods and generators cannot be called from elsewhere; write a plain one"),
        (_keyword_only, "parameter day: str is not positional, as what crosses must be; take a plain parameter"),
        (_any_number, "parameter *days: str is not positional, as what crosses must be; take a plain parameter"),
        (_any_name, "parameter **days: str is not positional, as what crosses must be; take a plain parameter"),
        (_with_a_tuple, "the default of day: tuple is not JSON-shaped; pass a list"),
        (_with_nan, "the default of day: nan is not a number JSON knows; pass None or a string"),
    ],
)
def test_a_method_that_cannot_be_called_from_elsewhere_is_refused_with_its_place(
    method: Callable[..., Any], problem: str
) -> None:
    place = f"{__file__}:{method.__code__.co_firstlineno}"
    assert define("hit", method) == f"{place}: Stats.hit: {problem}"


def test_a_default_that_is_no_value_is_refused() -> None:
    assert "the default of day: type is not JSON-shaped; pass str, int" in define("hit", _with_a_default)


@pytest.mark.parametrize("name", ["setup", "on_timer", "__init__"])
def test_what_melee_calls_takes_no_arguments(name: str) -> None:
    assert define(name, _taking_one).endswith(f"Stats.{name}: melee calls {name} without arguments; take none")


@pytest.mark.parametrize("name", ["setup", "on_timer"])
def test_what_melee_calls_is_a_plain_method_too(name: str) -> None:
    assert re.search(rf"Stats\.{name}: async methods and generators", define(name, _async))


def test_private_methods_may_be_anything() -> None:
    made = DurableClass("Stats", (Durable,), {"__module__": __name__, "_hit": _keyword_only, "_wait": _async})
    assert made.spec.methods == ()
