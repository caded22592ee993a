"""Ids are any text; a class has one name in paths; a request goes to who owns the objects."""

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from melee.errors import NoOwner, ShapeError
from melee.objects.request import (
    Call,
    Count,
    Destroy,
    ListIds,
    ObjectRef,
    Request,
    ask,
    check_id,
    owned_by,
    owner,
    underscored,
)

REQUESTS: list[Request] = [
    Call("Stats", "visits", "hit", msgspec.Raw(b"[1]")),
    Destroy("Stats", "visits"),
    ListIds("Stats"),
    Count("Stats"),
]


class _Echo:
    """An owner that answers with its own name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def ask(self, request: Request) -> bytes:
        return f'"{self._name}: {request.method}"'.encode()


@pytest.mark.parametrize("id", ["../../x", "a/b", ".", "CON", "A", "a", "é", "e\u0301", "\0", " ", "\n", "a" * 1024])
def test_any_text_from_1_to_1024_characters_is_an_id(id: str) -> None:
    assert check_id("Stats", id) == id


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=1024))
def test_any_text_whatever_is_an_id(id: str) -> None:
    assert check_id("Stats", id) == id


@pytest.mark.parametrize(
    ("id", "problem"),
    [
        ("", "0 characters; it must have 1 to 1,024"),
        ("a" * 1025, "1,025 characters; it must have 1 to 1,024"),
        (7, "int is not str; pass text such as str(value)"),
        (None, "NoneType is not str; pass text such as str(value)"),
        (b"a", "bytes is not str; pass text such as str(value)"),
        ("\ud800", "the text has a lone surrogate at 0; decode it as UTF-8 first"),
    ],
)
def test_what_is_no_id_is_refused(id: Any, problem: str) -> None:
    with pytest.raises(ShapeError, match=f"^Stats id: {re.escape(problem)}$"):
        check_id("Stats", id)


@pytest.mark.parametrize(
    ("name", "in_paths"),
    [
        ("Stats", "stats"),
        ("BoardStats", "board_stats"),
        ("HTTPCache", "http_cache"),
        ("Top10List", "top10_list"),
        ("already_low", "already_low"),
        ("A", "a"),
        ("ABTest", "ab_test"),
    ],
)
def test_a_class_is_underscored_in_paths(name: str, in_paths: str) -> None:
    assert underscored(name) == in_paths


def test_an_object_is_written_as_class_and_id() -> None:
    assert str(ObjectRef("Stats", "visits")) == "Stats/visits"


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: str(request.method))
def test_a_request_survives_the_wire(request_: Request) -> None:
    again = msgspec.json.decode(msgspec.json.encode(request_), type=Request)
    assert again == request_
    assert (again.class_name, again.id, again.method) == (request_.class_name, request_.id, request_.method)


@pytest.mark.parametrize(
    ("request_", "attempt"),
    [*zip(REQUESTS, ["Stats/visits.hit", "Stats/visits.destroy", "Stats/*.list", "Stats/*.count"], strict=True)],
)
def test_a_process_of_no_running_app_is_told_how_to_start_one(request_: Request, attempt: str) -> None:
    with pytest.raises(NoOwner, match=f"^{re.escape(attempt)} has nowhere to go: .*melee dev"):
        ask(request_)


def test_the_owner_entered_last_is_asked_until_it_is_left() -> None:
    with owned_by(_Echo("outer")):
        with owned_by(inner := _Echo("inner")):
            assert ask(Count("Stats")) == b'"inner: count"'
            assert owner() is inner
        assert ask(Count("Stats")) == b'"outer: count"'
    assert owner() is None
    with pytest.raises(NoOwner):
        ask(Count("Stats"))
