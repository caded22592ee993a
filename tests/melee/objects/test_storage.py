"""An object's own storage: keys with values beside SQL, in one transaction until the host commits."""

import math
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from melee.clock import ManualClock
from melee.errors import DatabaseError, DatabaseFull, ShapeError, StatementRefused
from melee.objects.record import Record
from melee.objects.request import ObjectRef
from melee.objects.storage import ObjectConnection, Storage
from melee.store.connection import Connection

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[ObjectConnection]:
    with closing(ObjectConnection(tmp_path / "a.sqlite3")) as opened:
        Record(opened, ManualClock()).create(ObjectRef("A", "1"))
        opened.commit()
        yield opened


@pytest.fixture
def storage(connection: ObjectConnection) -> Storage:
    return Storage(connection)


def committed(connection: ObjectConnection) -> list[str]:
    with closing(Connection(connection.path, read_only=True)) as reader:
        return [row["key"] for row in reader.own("SELECT key FROM _melee_values ORDER BY key")]


@pytest.mark.parametrize("value", [None, False, 0, 1.5, "é", [], {"a": [1, {"b": None}]}, 2**63 - 1])
def test_a_value_comes_out_as_it_went_in(storage: Storage, value: Any) -> None:
    storage.put("k", value)
    assert repr(storage.get("k", "default")) == repr(value)


def test_a_value_is_replaced_and_is_a_copy(storage: Storage) -> None:
    value = [1]
    storage.put("k", value)
    value.append(2)
    storage.get("k").append(3)
    assert storage.get("k") == [1]
    storage.put("k", "other")
    assert storage.get("k") == "other"


def test_what_is_not_there_is_the_default(storage: Storage) -> None:
    assert storage.get("k") is None
    assert storage.get("k", 7) == 7


def test_delete_says_whether_there_was_one(storage: Storage) -> None:
    storage.put("k", None)
    assert storage.delete("k") is True
    assert storage.delete("k") is False
    assert storage.get("k", "gone") == "gone"


def test_keys_come_in_order_by_prefix(storage: Storage) -> None:
    for key in ("b", "a:2", "a:1", "A:1", "a%", "é", "e\u0301"):
        storage.put(key, 0)
    assert storage.keys() == sorted(["b", "a:2", "a:1", "A:1", "a%", "é", "e\u0301"])
    assert storage.keys("a:") == ["a:1", "a:2"]
    assert storage.keys("a%") == ["a%"]


@given(st.sets(texts), texts)
@example({"a\0b", "ac"}, "a\0")
def test_keys_of_a_prefix_are_those_that_begin_with_it(keys: set[str], prefix: str) -> None:
    with closing(ObjectConnection(Path(":memory:"))) as connection:
        Record(connection, ManualClock()).create(ObjectRef("A", "1"))
        storage = Storage(connection)
        for key in keys:
            storage.put(key, key)
        assert storage.keys(prefix) == sorted((key for key in keys if key.startswith(prefix)), key=str.encode)
        assert all(storage.get(key) == key for key in keys)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("k", {"a": {1}}, 'storage.put("k") value, ["a"]: set is not JSON-shaped; pass a list'),
        ("k", math.nan, 'storage.put("k") value: nan is not a number JSON knows; pass None or a string'),
        (7, 1, "storage key: int is not str; pass text such as str(value)"),
        ("\ud800", 1, "storage key: the text has a lone surrogate at 0; decode it as UTF-8 first"),
    ],
)
def test_what_is_not_json_shaped_is_refused_by_name(storage: Storage, key: Any, value: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=f"^{re.escape(message)}$"):
        storage.put(key, value)
    assert storage.keys() == []


@pytest.mark.parametrize("statement", ["SELECT * FROM _melee_object", "DELETE FROM _melee_values", "COMMIT"])
def test_what_melee_keeps_beside_it_is_out_of_reach(storage: Storage, statement: str) -> None:
    with pytest.raises(StatementRefused):
        storage.run(statement)


def test_statements_gather_until_they_are_committed(storage: Storage, connection: ObjectConnection) -> None:
    storage.put("a", 1)
    storage.put("b", 1)
    assert connection.in_transaction
    assert committed(connection) == []
    connection.commit()
    assert committed(connection) == ["a", "b"]


def test_an_error_keeps_what_earlier_statements_wrote(storage: Storage, connection: ObjectConnection) -> None:
    storage.put("a", 1)
    with pytest.raises(DatabaseError):
        storage.run("NONSENSE")
    connection.commit()
    assert committed(connection) == ["a"]


def put_and_fail(storage: Storage, key: str) -> None:
    with storage.transaction():
        storage.put(key, 1)
        raise KeyError(key)


def test_a_transaction_that_fails_takes_back_its_own_and_no_more(
    storage: Storage, connection: ObjectConnection
) -> None:
    storage.put("before", 1)
    with storage.transaction():
        storage.put("outer", 1)
        with pytest.raises(KeyError):
            put_and_fail(storage, "inner")
        assert connection.transactions_open == 1
    assert connection.transactions_open == 0
    connection.commit()
    assert committed(connection) == ["before", "outer"]


def test_a_timer_set_in_a_transaction_that_fails_is_not_set(storage: Storage, connection: ObjectConnection) -> None:
    record = Record(connection, ManualClock())
    record.set_timer(1_893_456_000)
    set_at = record.read()

    def set_and_fail() -> None:
        with storage.transaction():
            record.set_timer(None)
            put_and_fail(storage, "k")

    with storage.transaction():
        with pytest.raises(KeyError):
            set_and_fail()
        assert record.read() == set_at
    assert record.read() == set_at


def test_after_a_rollback_by_sqlite_every_statement_raises_its_error(
    storage: Storage, connection: ObjectConnection
) -> None:
    storage.run("CREATE TABLE a (x)")
    storage.run("CREATE TRIGGER t BEFORE INSERT ON a BEGIN SELECT RAISE(ROLLBACK, 'all is gone'); END")
    connection.commit()
    storage.put("lost", 1)
    with pytest.raises(DatabaseError, match="all is gone") as caught:
        storage.run("INSERT INTO a VALUES (1)")
    assert connection.lost is caught.value
    for use in (lambda: storage.put("k", 1), storage.keys, lambda: storage.query("SELECT 1 AS a")):
        with pytest.raises(DatabaseError, match="all is gone"):
            use()
    with pytest.raises(DatabaseError, match="all is gone"), storage.transaction():
        pytest.fail("a transaction began on writes that are gone")
    assert committed(connection) == []


def test_giving_up_takes_back_what_was_not_committed(storage: Storage, connection: ObjectConnection) -> None:
    storage.put("k", 1)
    connection.give_up(DatabaseFull("COMMIT", "database or disk is full"))
    assert not connection.in_transaction
    with pytest.raises(DatabaseFull):
        storage.get("k")
    assert committed(connection) == []
