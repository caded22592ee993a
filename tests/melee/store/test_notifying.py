"""Who acts on what was written learns of it when it is kept, and not before."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from melee.store.connection import Connection
from melee.store.notifying import NotifyingDatabase


@pytest.fixture
def database(tmp_path: Path) -> Iterator[NotifyingDatabase]:
    connection = Connection(tmp_path / "a.sqlite3")
    database = NotifyingDatabase(connection)
    database.run("CREATE TABLE t (n)")
    yield database
    connection.close()


def fail(database: NotifyingDatabase, act: Callable[[], None]) -> None:
    try:
        with database.transaction():
            database.after_commit(act)
            raise ZeroDivisionError
    except ZeroDivisionError:
        return


def test_outside_of_a_transaction_it_is_kept_already(database: NotifyingDatabase) -> None:
    heard: list[str] = []
    database.after_commit(lambda: heard.append("a"))
    assert heard == ["a"]


def test_in_a_transaction_it_is_kept_when_the_outermost_ends(database: NotifyingDatabase) -> None:
    heard: list[str] = []
    with database.transaction():
        database.after_commit(lambda: heard.append("a"))
        with database.transaction():
            database.after_commit(lambda: heard.append("b"))
        assert heard == []
    assert heard == ["a", "b"]
    with database.transaction():
        pass
    assert heard == ["a", "b"]


def test_what_is_rolled_back_is_never_kept(database: NotifyingDatabase) -> None:
    heard: list[str] = []
    with database.transaction():
        database.after_commit(lambda: heard.append("a"))
        fail(database, lambda: heard.append("b"))
    assert heard == ["a"]
    fail(database, lambda: heard.append("c"))
    database.after_commit(lambda: heard.append("d"))
    assert heard == ["a", "d"]
