"""What may cross a process boundary crosses unchanged; everything else is refused by name and path."""

import math
from collections import OrderedDict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import IntEnum
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from melee import shape
from melee.errors import ShapeError

WHERE = "Stats.hit argument 1"
ANY_SHAPE = "pass str, int, float, bool, None, lists, and dicts with str keys"
MIB = 1024 * 1024

texts = st.text(st.characters(exclude_categories=["Cs"]))
leaves = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
json_shaped = st.recursive(leaves | texts, lambda inside: st.lists(inside) | st.dictionaries(texts, inside))
too_large = st.integers(min_value=2**63) | st.integers(max_value=-(2**63) - 1)
not_finite = st.sampled_from([math.nan, math.inf, -math.inf])
other_kinds = st.binary() | st.tuples(st.integers()) | st.sets(st.integers()) | st.decimals() | st.datetimes()
others = too_large | not_finite | other_kinds | st.dictionaries(st.integers(), texts, min_size=1)


class Text(str):
    __slots__ = ()


class Level(IntEnum):
    HIGH = 1


class Point(NamedTuple):
    x: int
    y: int


def refusal(value: Any) -> str:
    with pytest.raises(ShapeError) as caught:
        shape.encode(value, WHERE)
    return str(caught.value)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def same(one: Any, other: Any) -> bool:
    """Equal and of the same types all the way down; 1, 1.0 and True are three values."""
    return repr(one) == repr(other)


@given(json_shaped)
def test_what_is_json_shaped_comes_out_as_it_went_in(value: Any) -> None:
    assert same(shape.decode(shape.encode(value, WHERE)), value)


@given(others, st.lists(st.integers(0, 3) | st.text("abc", max_size=3), max_size=5))
def test_what_is_not_json_shaped_is_refused_wherever_it_hides(value: Any, path: list[int | str]) -> None:
    for step in reversed(path):
        value = [None] * step + [value] if isinstance(step, int) else {"before": 1, step: value}
    inside = "".join(f'["{step}"]' if isinstance(step, str) else f"[{step}]" for step in path)
    assert refusal(value).startswith(f"{WHERE}, {inside}" if inside else f"{WHERE}: ")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (math.nan, "nan is not a number JSON knows; pass None or a string"),
        (-math.inf, "-inf is not a number JSON knows; pass None or a string"),
        ({1: "a"}, "the dict key 1 is of type int; keys must be str"),
        ({None: "a"}, "the dict key None is of type NoneType; keys must be str"),
        (b"a", "bytes is not JSON-shaped; pass text, or base64 of it"),
        ({1}, "set is not JSON-shaped; pass a list"),
        (frozenset(), "frozenset is not JSON-shaped; pass a list"),
        ((1, 2), "tuple is not JSON-shaped; pass a list"),
        (Point(1, 2), f"Point is not JSON-shaped; {ANY_SHAPE}"),
        (Decimal("1.5"), "Decimal is not JSON-shaped; pass str(value)"),
        (UUID(int=1), "UUID is not JSON-shaped; pass str(value)"),
        (datetime(2030, 1, 1, tzinfo=UTC), "datetime is not JSON-shaped; pass an ISO string or a number"),
        (date(2030, 1, 1), "date is not JSON-shaped; pass an ISO string"),
        (timedelta(1), "timedelta is not JSON-shaped; pass value.total_seconds()"),
        (2**63, "an int of 64 bits is beyond -2**63 to 2**63 - 1; pass it as a string"),
        (-(2**63) - 1, "an int of 64 bits is beyond -2**63 to 2**63 - 1; pass it as a string"),
        pytest.param(
            10**5000,
            "an int of 16610 bits is beyond -2**63 to 2**63 - 1; pass it as a string",
            id="an int that str() refuses",
        ),
        ("a\ud800", "the text has a lone surrogate at 1; decode it as UTF-8 first"),
        ({"\udfff": 1}, "the text has a lone surrogate at 0; decode it as UTF-8 first"),
        (Text("a"), "Text is not JSON-shaped; pass a plain str"),
        (Level.HIGH, "Level is not JSON-shaped; pass a plain int"),
        (OrderedDict(a=1), "OrderedDict is not JSON-shaped; pass a plain dict"),
        ({Text("a"): 1}, "the dict key 'a' is of type Text; keys must be str"),
        (object, f"type is not JSON-shaped; {ANY_SHAPE}"),
    ],
)
def test_a_refusal_says_what_to_pass_instead(value: Any, problem: str) -> None:
    assert refusal(value) == f"{WHERE}: {problem}"


def test_a_refusal_names_the_path_to_the_value() -> None:
    value = {"when": [0, {"at": datetime(2030, 1, 1, tzinfo=UTC)}]}
    assert refusal(value) == (
        f'{WHERE}, ["when"][1]["at"]: datetime is not JSON-shaped; pass an ISO string or a number'
    )


def test_the_smallest_and_the_largest_int_cross() -> None:
    assert shape.decode(shape.encode([-(2**63), 2**63 - 1], WHERE)) == [-(2**63), 2**63 - 1]


def test_a_hundred_levels_cross_and_one_more_is_refused() -> None:
    assert same(shape.decode(shape.encode(nested(100), WHERE)), nested(100))
    assert refusal(nested(101)) == f"{WHERE}, [0][0][0]: more than 100 levels deep; pass something flatter"


def test_a_list_that_contains_itself_is_refused_as_too_deep() -> None:
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    assert refusal({"a": cyclic}) == f'{WHERE}, ["a"][0][0]: more than 100 levels deep; pass something flatter'


def test_a_value_of_33_mib_is_refused_by_its_size() -> None:
    problem = "34,603,010 bytes encoded; at most 33,554,432 may cross at once"
    assert refusal("a" * 33 * MIB) == f"{WHERE}: {problem}"


def test_32_mib_cross_and_one_byte_more_does_not() -> None:
    fits = "a" * (32 * MIB - 2)
    assert len(shape.encode(fits, WHERE)) == 32 * MIB
    with pytest.raises(ShapeError, match="33,554,433 bytes encoded"):
        shape.encode(fits + "a", WHERE)


def test_what_crossed_is_a_copy() -> None:
    value = {"days": [1]}
    copied = shape.decode(shape.encode(value, WHERE))
    copied["days"].append(2)
    assert value == {"days": [1]}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (7, "int is not str; pass text such as str(value)"),
        (None, "NoneType is not str; pass text such as str(value)"),
        (Text("a"), "Text is not str; pass text such as str(value)"),
        ("\ud800", "the text has a lone surrogate at 0; decode it as UTF-8 first"),
    ],
)
def test_a_name_must_be_plain_text(value: Any, problem: str) -> None:
    with pytest.raises(ShapeError) as caught:
        shape.check_text(value, "Stats id")
    assert str(caught.value) == f"Stats id: {problem}"
    assert shape.check_text("é\0", "Stats id") == "é\0"
