"""The registry may be early, never late."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from melee.errors import DatabaseError
from melee.objects.registry import Registry
from melee.objects.request import ObjectRef
from melee.store.connection import Connection

A, B, C = ObjectRef("A", "1"), ObjectRef("A", "2"), ObjectRef("C", "../x")
NOW = 1_893_456_000.0

moments = st.none() | st.integers(0, 5).map(lambda seconds: NOW + seconds)
steps = st.lists(st.tuples(st.sampled_from(["expect", "settle"]), st.sampled_from([A, B]), moments), max_size=12)


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with closing(Registry(tmp_path / "registry.sqlite3")) as opened:
        yield opened


def test_what_is_expected_exists_and_is_unsettled(registry: Registry) -> None:
    registry.expect([(A, NOW), (C, None)])
    assert registry.ids("A") == ["1"]
    assert registry.count("C") == 1
    assert set(registry.unsettled()) == {A, C}
    assert registry.next_wake_at() == NOW


def test_an_expected_earlier_timer_wakes_earlier_and_a_later_one_does_not_wake_later(registry: Registry) -> None:
    registry.settle([(A, NOW)])
    registry.expect([(A, NOW + 60)])
    assert registry.next_wake_at() == NOW
    registry.expect([(A, NOW - 60)])
    assert registry.next_wake_at() == NOW - 60
    registry.expect([(A, None)])
    assert registry.next_wake_at() == registry.due_no_later_than(A) == NOW - 60


@pytest.mark.parametrize("true_now", [NOW + 60, None])
def test_what_is_settled_is_what_the_object_says(registry: Registry, true_now: float | None) -> None:
    registry.expect([(A, NOW)])
    registry.settle([(A, true_now)])
    assert registry.next_wake_at() == registry.due_no_later_than(A) == true_now
    assert registry.unsettled() == []


@given(steps)
def test_no_sequence_of_changes_wakes_later_than_expected(
    sequence: list[tuple[Literal["expect", "settle"], ObjectRef, float | None]],
) -> None:
    promised: dict[ObjectRef, float | None] = {}
    with closing(Registry(Path(":memory:"))) as registry:
        for what, ref, due_at in sequence:
            if what == "expect":
                registry.expect([(ref, due_at)])
                known = [moment for moment in (promised.get(ref), due_at) if moment is not None]
                promised[ref] = min(known, default=None)
            else:
                registry.settle([(ref, due_at)])
                promised[ref] = due_at
            for each, moment in promised.items():
                known_to_registry = registry.due_no_later_than(each)
                if moment is not None:
                    assert known_to_registry is not None
                    assert known_to_registry <= moment
                    assert each in registry.due(moment, 10)
            wanted = [moment for moment in promised.values() if moment is not None]
            assert registry.next_wake_at() == min(wanted, default=None)


def test_due_are_those_whose_moment_has_come_the_longest_overdue_first(registry: Registry) -> None:
    registry.settle([(A, NOW), (B, NOW - 1), (C, NOW + 1)])
    assert registry.due(NOW, 10) == [B, A]
    assert registry.due(NOW, 1) == [B]
    assert registry.due(NOW - 2, 10) == []


def test_a_try_that_ends_the_process_comes_again_at_once_then_after_ever_longer_waits(registry: Registry) -> None:
    registry.settle([(A, NOW)])
    waits = []
    for _ in range(14):
        registry.try_at(A, NOW)
        wake_at = registry.next_wake_at()
        assert wake_at is not None
        waits.append(wake_at - NOW)
    assert waits == [0, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600, 600]


def test_a_try_does_not_forget_when_the_timer_is_due(registry: Registry) -> None:
    registry.settle([(A, NOW)])
    for _ in range(3):
        registry.try_at(A, NOW)
    assert registry.due_no_later_than(A) == NOW
    registry.expect([(A, NOW + 1)])
    assert registry.next_wake_at() == NOW + 1


def test_one_that_failed_comes_behind_those_that_never_did(registry: Registry) -> None:
    registry.settle([(A, NOW - 100), (B, NOW)])
    registry.try_at(A, NOW - 50)
    assert registry.due(NOW, 10) == [B, A]


def test_a_try_that_ended_well_starts_anew(registry: Registry) -> None:
    registry.settle([(A, NOW)])
    for _ in range(5):
        registry.try_at(A, NOW)
    registry.settle([(A, NOW)])
    registry.try_at(A, NOW)
    assert registry.next_wake_at() == NOW


def test_trying_one_that_is_not_there_makes_none(registry: Registry) -> None:
    registry.try_at(A, NOW)
    assert registry.count("A") == 0


def test_what_is_forgotten_is_gone(registry: Registry) -> None:
    registry.settle([(A, NOW), (B, NOW + 1)])
    registry.forget(A)
    assert registry.ids("A") == ["2"]
    assert registry.due_no_later_than(A) is None
    assert registry.next_wake_at() == NOW + 1


def test_ids_come_in_order_and_apart_by_class(registry: Registry) -> None:
    ids = ["b", "a", "A", "é", "e\u0301", "../x", "\0"]
    registry.settle([*((ObjectRef("A", id), None) for id in ids), (C, None)])
    assert registry.ids("A") == sorted(ids)
    assert registry.count("A") == len(ids)


def test_a_write_that_fails_leaves_no_half_of_it(registry: Registry) -> None:
    with pytest.raises(DatabaseError):
        registry.expect([(A, NOW), (ObjectRef("A", "\ud800"), NOW)])
    assert registry.count("A") == 0
    registry.expect([(A, NOW)])
    assert registry.count("A") == 1


def test_it_is_there_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "registry.sqlite3"
    with closing(Registry(path)) as registry:
        registry.expect([(A, NOW)])
        registry.settle([(B, None)])
        registry.mark_filled()
    with closing(Registry(path)) as registry:
        assert not registry.is_new
        assert registry.ids("A") == ["1", "2"]
        assert registry.unsettled() == [A]


def test_one_that_was_not_filled_to_the_end_is_filled_from_the_start(tmp_path: Path) -> None:
    path = tmp_path / "registry.sqlite3"
    with closing(Registry(path)) as registry:
        registry.settle([(A, NOW)])
    with closing(Registry(path)) as registry:
        assert registry.is_new
        assert registry.ids("A") == []


def test_a_file_of_another_version_is_out_of_date(tmp_path: Path) -> None:
    path = tmp_path / "registry.sqlite3"
    with closing(Connection(path)) as connection:
        connection.own("PRAGMA user_version = 99")
    with pytest.raises(Registry.OutOfDate, match=f"{path} has version 99, this is 1"):
        Registry(path)
