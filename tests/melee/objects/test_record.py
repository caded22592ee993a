"""The object's own row: who it is, when its timer is due, and how the last one went."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from melee.clock import ManualClock
from melee.objects.record import Record, State, read_state
from melee.objects.request import ObjectRef
from melee.store.connection import Connection

REF = ObjectRef("Stats", "../../é")
DUE = 1_893_456_000.25


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    with closing(Connection(tmp_path / "a.sqlite3")) as opened:
        yield opened


@pytest.fixture
def record(connection: Connection, clock: ManualClock) -> Record:
    made = Record(connection, clock)
    made.create(REF)
    return made


def test_a_file_without_an_object_has_no_state(connection: Connection, clock: ManualClock) -> None:
    assert read_state(connection) is None
    with pytest.raises(LookupError, match="read before it was created"):
        Record(connection, clock).read()


def test_a_new_object_knows_who_it_is_and_has_no_timer(record: Record) -> None:
    assert record.read() == State(REF, None, 0, "", None, False)
    assert record.changed


def test_setting_a_timer_replaces_the_one_before(record: Record) -> None:
    record.changed = False
    record.set_timer(DUE)
    record.set_timer(DUE + 60)
    assert (record.read().due_at, record.read().times_set) == (DUE + 60, 2)
    assert record.changed


def test_cancelling_counts_as_a_change(record: Record) -> None:
    record.set_timer(DUE)
    record.set_timer(None)
    assert (record.read().due_at, record.read().times_set) == (None, 2)


def test_the_timer_that_fired_is_cleared_when_it_ends(record: Record) -> None:
    record.set_timer(DUE)
    record.end_timer(record.read(), "")
    assert record.read().due_at is None


@pytest.mark.parametrize("again", [DUE, DUE + 60])
def test_a_timer_set_while_another_fired_stays_even_at_the_same_moment(record: Record, again: float) -> None:
    record.set_timer(DUE)
    fired = record.read()
    record.set_timer(again)
    record.end_timer(fired, "")
    assert record.read().due_at == again


def test_an_error_of_the_timer_is_kept_with_its_moment_until_one_goes_well(record: Record, clock: ManualClock) -> None:
    record.set_timer(DUE)
    clock.move(5)
    record.end_timer(record.read(), "ValueError: no such day")
    failed = record.read()
    assert (failed.timer_error, failed.timer_error_at, failed.due_at) == ("ValueError: no such day", clock.now(), None)
    record.set_timer(DUE)
    record.end_timer(record.read(), "")
    assert (record.read().timer_error, record.read().timer_error_at) == ("", None)


def test_a_destroyed_object_has_no_timer(record: Record) -> None:
    record.set_timer(DUE)
    record.mark_destroyed()
    assert (record.read().destroyed, record.read().due_at) == (True, None)


def test_the_row_rolls_back_with_the_data(connection: Connection, clock: ManualClock) -> None:
    record = Record(connection, clock)
    connection.begin()
    record.create(REF)
    connection.rollback()
    assert read_state(connection) is None
