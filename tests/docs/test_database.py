"""The snippets and the promises of the page about the app's database."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from werkzeug.exceptions import Conflict

from melee.store import connection
from melee.store.database import Database
from melee.testing import AppUnderTest
from melee_examples.signup.tests.mail_service import mail_service
from snippets.database.back_up import back_up

ROOT = Path(__file__).parents[2]
SHOP = ROOT / "snippets" / "database"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[AppUnderTest]:
    with AppUnderTest(SHOP, data=tmp_path) as app:
        app.client.post("/items/tea")
        yield app


def db(shop: AppUnderTest) -> Database:
    """In an app context."""
    app: Any = shop.flask
    database: Database = app.db
    return database


def rows(shop: AppUnderTest, sql: str) -> list[tuple[object, ...]]:
    """What another process reads now."""
    with closing(apsw.Connection(str(shop.project.database))) as database:
        return database.execute(sql).fetchall()


def test_a_sale_changes_both_tables_or_none(shop: AppUnderTest) -> None:
    assert [shop.client.post("/items/1/sell").status_code for _ in range(11)] == [200] * 10 + [409]
    assert rows(shop, "SELECT stock, (SELECT count(*) FROM sales) FROM items") == [(0, 10)]
    assert shop.client.post("/items/7/sell").status_code == 409


@pytest.mark.parametrize("raised", [ValueError("no"), Conflict()], ids=["an error", "abort"])
def test_what_raises_inside_a_transaction_takes_it_back(shop: AppUnderTest, raised: Exception) -> None:
    def sell_all_and_fail() -> None:
        with db(shop).transaction():
            db(shop).run("DELETE FROM items")
            raise raised

    with shop.flask.app_context(), pytest.raises(type(raised)):
        sell_all_and_fail()
    assert rows(shop, "SELECT name FROM items") == [("tea",)]


def test_between_a_select_and_an_update_nobody_else_can_write(shop: AppUnderTest) -> None:
    with closing(apsw.Connection(str(shop.project.database))) as other, shop.flask.app_context():
        with db(shop).transaction():
            db(shop).first("SELECT stock FROM items")
            with pytest.raises(apsw.BusyError):
                other.execute("UPDATE items SET stock = 0")
        other.execute("UPDATE items SET stock = 0")


def test_a_value_is_stored_as_it_is_and_never_run(shop: AppUnderTest) -> None:
    name = "'); DROP TABLE items; --"
    assert shop.client.post(f"/items/{name}").status_code == 201
    assert rows(shop, "SELECT name FROM items ORDER BY id") == [("tea",), (name,)]


def test_a_duplicate_is_an_error_that_can_be_caught(shop: AppUnderTest) -> None:
    answer = shop.client.post("/items/tea")
    assert (answer.status_code, "already" in answer.text) == (409, True)


def test_whoever_cannot_write_in_time_is_told_so(shop: AppUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0)
    with closing(apsw.Connection(str(shop.project.database))) as other:
        other.execute("BEGIN IMMEDIATE")
        assert shop.client.post("/items/coffee").status_code == 503
        other.execute("ROLLBACK")
    assert shop.client.post("/items/coffee").status_code == 201


def test_a_reader_does_not_wait_for_a_writer(shop: AppUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0)
    with closing(apsw.Connection(str(shop.project.database))) as other, shop.flask.app_context():
        other.execute("BEGIN IMMEDIATE")
        other.execute("DELETE FROM items")
        assert db(shop).query("SELECT name FROM items") == [{"name": "tea"}]
        other.execute("ROLLBACK")


def test_writers_that_wait_for_each_other_all_get_through(shop: AppUnderTest) -> None:
    def sell() -> None:
        statuses.append(shop.flask.test_client().post("/items/1/sell").status_code)

    statuses: list[int] = []
    buyers = [threading.Thread(target=sell) for _ in range(10)]
    for buyer in buyers:
        buyer.start()
    for buyer in buyers:
        buyer.join()
    assert statuses == [200] * 10


def test_a_copy_made_while_the_app_runs_has_its_last_write(shop: AppUnderTest, tmp_path: Path) -> None:
    with shop.flask.app_context():
        db(shop).run("UPDATE items SET stock = 3")
        assert back_up(shop.project.database, tmp_path / "copy.sqlite3") == "ok"
    with closing(apsw.Connection(str(tmp_path / "copy.sqlite3"))) as copy:
        assert copy.execute("SELECT stock FROM items").fetchall() == [(3,)]


def test_a_copy_of_the_file_alone_lacks_what_is_not_in_it_yet(shop: AppUnderTest, tmp_path: Path) -> None:
    with shop.flask.app_context():
        db(shop).run("UPDATE items SET stock = 3")
        (tmp_path / "copy.sqlite3").write_bytes(shop.project.database.read_bytes())
        with closing(apsw.Connection(str(tmp_path / "copy.sqlite3"))) as copy:
            assert copy.execute("SELECT stock FROM items").fetchall() == [(10,)]


def test_a_path_where_no_database_is_fails_and_makes_none(tmp_path: Path) -> None:
    with pytest.raises(apsw.CantOpenError):
        back_up(tmp_path / "ap.sqlite3", tmp_path / "copy.sqlite3")
    assert not (tmp_path / "ap.sqlite3").exists()


def test_a_backup_is_put_back_in_the_place_of_the_file_without_those_beside_it(tmp_path: Path) -> None:
    with AppUnderTest(SHOP, data=tmp_path / "data") as shop:
        shop.client.post("/items/tea")
        assert back_up(shop.project.database, tmp_path / "copy.sqlite3") == "ok"
        shop.client.post("/items/coffee")
        database = shop.project.database
    for beside in ("-wal", "-shm"):
        database.with_name(database.name + beside).unlink(missing_ok=True)
    shutil.copy(tmp_path / "copy.sqlite3", database)
    with AppUnderTest(SHOP, data=tmp_path / "data") as shop:
        assert rows(shop, "SELECT name FROM items") == [("tea",)]


def test_a_copy_of_the_data_folder_has_both_databases_and_the_timers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signup = ROOT / "melee_examples" / "signup"
    with AppUnderTest(signup, data=tmp_path / "data") as app:
        app.client.post("/signup", data={"email": "ada@example.org"})
    shutil.copytree(tmp_path / "data", tmp_path / "elsewhere")
    with mail_service() as service:
        monkeypatch.setenv("MAIL_URL", service.url)
        with AppUnderTest(signup, data=tmp_path / "elsewhere") as app:
            assert rows(app, "SELECT email FROM users") == [("ada@example.org",)]
            app.clock.move(60)
            assert app.fire_due() == ["Outbox/mails"]
    assert list(service.mails.values()) == ["ada@example.org"]
