"""The life of objects in a host: creation, calls, errors, transactions, destruction, unloading."""

import importlib
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from melee.clock import ManualClock
from melee.errors import (
    AlreadyRunning,
    ConstraintError,
    DatabaseError,
    Deadlock,
    DefinitionError,
    MeleeError,
    MigrationError,
    NoOwner,
    ObjectCallError,
    ObjectUnavailable,
    ShapeError,
    TransactionOpen,
)
from melee.objects import host as host_module
from melee.objects.durable import Durable
from melee.objects.files import every_file
from melee.objects.hosting import classes_below
from melee.objects.request import Call, ObjectRef
from melee.project import ObjectsConfig, Project
from melee.store.connection import Connection
from melee.testing import WorkerUnderTest
from tests.conftest import write_app
from tests.melee.objects.conftest import OpenHost

Migration = Callable[[str, str, str], Path]


class Counter(Durable):
    def __init__(self) -> None:
        self.calls_since_loaded = 0

    def setup(self) -> None:
        self.storage.put("count", 0)

    def add(self, by: int = 1) -> int:
        self.calls_since_loaded += 1
        self.storage.put("count", self.storage.get("count") + by)
        return self.value()

    def value(self) -> int:
        count: int = self.storage.get("count")
        return count

    def loaded_for(self) -> int:
        return self.calls_since_loaded

    def echo(self, value: Any) -> Any:
        return value

    def add_then_fail(self) -> None:
        self.add()
        raise KeyError("missing")

    def add_and_take_back(self) -> None:
        with self.storage.transaction():
            self.add()
            raise ValueError("no")

    def leave(self) -> None:
        raise SystemExit(3)

    def bad_result(self) -> object:
        return {"when": {1, 2}}

    def end(self) -> bool:
        self.add(100)
        return type(self).destroy(self.id)

    def end_another(self, id: str) -> bool:
        return Counter.destroy(id)


def test_an_object_exists_from_its_first_call(open_host: OpenHost) -> None:
    open_host(Counter)
    handle = Counter.get("a")
    assert Counter.count() == 0
    assert handle.add() == 1
    assert (Counter.count(), Counter.list()) == (1, ["a"])


def test_setup_runs_once_in_a_life_and_storage_outlives_a_restart(open_host: OpenHost) -> None:
    open_host(Counter)
    Counter.get("a").add(5)
    open_host(Counter)
    assert Counter.get("a").add() == 6


def test_attributes_are_gone_when_the_object_is_unloaded_and_storage_is_not(open_host: OpenHost) -> None:
    host = open_host(Counter)
    Counter.get("a").add()
    assert Counter.get("a").loaded_for() == 1
    assert host.unload(ObjectRef("Counter", "a"))
    assert not host.unload(ObjectRef("Counter", "a"))
    assert (Counter.get("a").loaded_for(), Counter.get("a").value()) == (0, 1)


def test_each_id_is_an_object_of_its_own(open_host: OpenHost) -> None:
    open_host(Counter)
    ids = ["a", "A", "../../x", "a/b", ".", "CON", "é", "e\u0301", "x" * 1024, " ", "\n", "名"]
    for number, id in enumerate(ids):
        Counter.get(id).add(number)
    assert [Counter.get(id).value() for id in ids] == list(range(len(ids)))
    assert Counter.list() == sorted(ids)


def test_no_id_reaches_a_path(open_host: OpenHost, tmp_path: Path) -> None:
    open_host(Counter)
    Counter.get("../../../../escaped").add()
    files = list(every_file(tmp_path / "data" / "objects"))
    assert len(files) == 1
    assert files[0].parent.parent.name == "counter"
    assert "escaped" not in str(files[0])


def test_a_setup_that_raises_leaves_no_object_and_no_file(open_host: OpenHost, tmp_path: Path) -> None:
    class Fragile(Durable):
        def setup(self) -> None:
            self.storage.put("a", 1)
            raise RuntimeError("not today")

        def hello(self) -> str:
            return "hello"

    open_host(Fragile)
    with pytest.raises(ObjectCallError, match=r"Fragile/x\.setup raised RuntimeError: not today"):
        Fragile.get("x").hello()
    assert Fragile.list() == []
    assert list((tmp_path / "data" / "objects").rglob("*.sqlite3-*")) == list(
        (tmp_path / "data" / "objects").glob("registry*-*")
    )
    assert list(every_file(tmp_path / "data" / "objects")) == []


def test_an_init_that_raises_is_an_error_of_that_call_alone(open_host: OpenHost) -> None:
    class Picky(Durable):
        broken = True

        def __init__(self) -> None:
            if self.broken:
                raise OSError("no")

        def hello(self) -> str:
            return "hello"

    open_host(Picky)
    with pytest.raises(ObjectCallError, match="__init__ raised OSError: no"):
        Picky.get("x").hello()
    Picky.broken = False
    assert Picky.get("x").hello() == "hello"


def test_an_exception_keeps_what_earlier_statements_wrote(open_host: OpenHost) -> None:
    host = open_host(Counter)
    with pytest.raises(ObjectCallError) as raised:
        Counter.get("a").add_then_fail()
    error = raised.value
    assert (error.object, error.method, error.remote_type, error.message) == (
        "Counter/a",
        "add_then_fail",
        "KeyError",
        "'missing'",
    )
    assert 'raise KeyError("missing")' in error.remote_traceback
    host.unload(ObjectRef("Counter", "a"))
    assert Counter.get("a").value() == 1


def test_a_transaction_that_raises_keeps_nothing(open_host: OpenHost) -> None:
    open_host(Counter)
    with pytest.raises(ObjectCallError, match="ValueError: no"):
        Counter.get("a").add_and_take_back()
    assert Counter.get("a").value() == 0


def test_a_method_that_exits_does_not_end_the_host(open_host: OpenHost) -> None:
    open_host(Counter)
    with pytest.raises(ObjectCallError, match="SystemExit: 3"):
        Counter.get("a").leave()
    assert Counter.get("a").add() == 1


def test_values_are_copied_even_in_one_process(open_host: OpenHost) -> None:
    open_host(Counter)
    value = {"list": [1, 2.5, None, True, "é"]}
    echoed = Counter.get("a").echo(value)
    assert echoed == value
    assert echoed is not value


def test_what_is_not_json_shaped_is_refused_by_path_in_one_process_too(open_host: OpenHost) -> None:
    open_host(Counter)
    with pytest.raises(ShapeError) as argument:
        Counter.get("a").echo({"when": [b"x"]})
    assert str(argument.value).startswith('Counter.echo argument 1, ["when"][0]: bytes is not JSON-shaped')
    with pytest.raises(ShapeError, match=r'Counter\.bad_result result, \["when"\]: set is not JSON-shaped'):
        Counter.get("a").bad_result()
    assert Counter.get("a").echo(1) == 1


def test_a_misspelt_method_is_an_attribute_error(open_host: OpenHost) -> None:
    open_host(Counter)
    with pytest.raises(AttributeError, match="'CounterHandle' object has no attribute 'ad'"):
        Counter.get("a").ad()  # type: ignore[attr-defined]


def test_setup_and_on_timer_and_private_methods_cannot_be_called(open_host: OpenHost) -> None:
    open_host(Counter)
    offered = {name for name in dir(Counter.get("a")) if not name.startswith("_")}
    assert offered == {
        "add",
        "value",
        "loaded_for",
        "echo",
        "add_then_fail",
        "add_and_take_back",
        "leave",
        "bad_result",
        "end",
        "end_another",
    }


def test_a_request_for_a_method_or_a_class_the_app_does_not_have_is_refused(open_host: OpenHost) -> None:
    host = open_host(Counter)
    with pytest.raises(ObjectUnavailable, match="no such method"):
        host.ask(Call("Counter", "a", "setup", msgspec.Raw(b"[]")))
    with pytest.raises(ObjectUnavailable, match="no durable class Gone; it has Counter"):
        host.ask(Call("Gone", "a", "add", msgspec.Raw(b"[]")))


def test_without_a_host_a_call_says_how_to_get_one() -> None:
    with pytest.raises(NoOwner, match="melee dev"):
        Counter.get("a").add()


# Destroying.


def test_destroy_ends_data_and_file_and_the_next_call_begins_a_new_life(open_host: OpenHost, tmp_path: Path) -> None:
    open_host(Counter)
    Counter.get("a").add(7)
    assert Counter.destroy("a") is True
    assert Counter.destroy("a") is False
    assert Counter.list() == []
    assert list(every_file(tmp_path / "data" / "objects")) == []
    assert Counter.get("a").add() == 1


def test_an_object_can_destroy_itself_when_its_call_ends(open_host: OpenHost) -> None:
    open_host(Counter)
    Counter.get("a").add()
    assert Counter.get("a").end() is True
    assert Counter.list() == []
    assert Counter.get("a").value() == 0


def test_an_object_can_destroy_another(open_host: OpenHost) -> None:
    open_host(Counter)
    Counter.get("b").add()
    assert Counter.get("a").end_another("b") is True
    assert Counter.list() == ["a"]


def test_an_object_destroyed_while_its_timer_is_due_leaves_no_ghost(open_host: OpenHost, clock: ManualClock) -> None:
    class Ticking(Durable):
        fired: list[str] = []  # noqa: RUF012 - shared by the class on purpose

        def arm(self) -> None:
            self.timer(after=0.001)

        def on_timer(self) -> None:
            self.fired.append(self.id)

    host = open_host(Ticking)
    for number in range(500):
        id = str(number)
        Ticking.get(id).arm()
        clock.move(0.001)
        Ticking.destroy(id)
        host.fire_due()
    assert (Ticking.fired, Ticking.count(), host.next_wake_at()) == ([], 0, None)


# Who waits for whom.


class Caller(Durable):
    def ask(self, id: str) -> Any:
        return Answerer.get(id).answer(self.id)

    def ask_myself(self) -> Any:
        return Caller.get(self.id).ask("x")

    def ask_in_transaction(self) -> None:
        with self.storage.transaction():
            self.storage.put("a", 1)
            self.ask("x")

    def list_in_transaction(self) -> None:
        with self.storage.transaction():
            Answerer.list()

    def kept(self) -> Any:
        return self.storage.get("a")


class Answerer(Durable):
    def answer(self, caller: str) -> str:
        return f"hello {caller}"


class Boomerang(Durable):
    def throw(self, id: str) -> Any:
        return Returner.get(id).back(self.id)


class Returner(Durable):
    def back(self, id: str) -> Any:
        return Boomerang.get(id).throw(self.id)


class InSetup(Durable):
    def setup(self) -> None:
        Answerer.get("x").answer("setup")

    def hello(self) -> str:
        return "hello"


def test_an_object_may_call_another(open_host: OpenHost) -> None:
    open_host(Caller, Answerer)
    assert Caller.get("a").ask("b") == "hello a"


def test_a_call_that_would_wait_for_itself_is_a_deadlock_that_names_the_chain(open_host: OpenHost) -> None:
    open_host(Caller, Answerer, Boomerang, Returner)
    with pytest.raises(Deadlock) as round_trip:
        Boomerang.get("A").throw("B")
    assert round_trip.value.chain == ["Boomerang/A", "Returner/B", "Boomerang/A"]
    assert "Boomerang/A → Returner/B → Boomerang/A" in str(round_trip.value)
    with pytest.raises(Deadlock):
        Caller.get("a").ask_myself()
    assert Caller.get("a").ask("b") == "hello a"


def test_a_timer_that_calls_its_own_object_is_a_deadlock(open_host: OpenHost) -> None:
    seen: list[BaseException] = []

    class Selfish(Durable):
        def arm(self) -> None:
            self.timer(after=0)

        def on_timer(self) -> None:
            try:
                Selfish.get(self.id).arm()
            except MeleeError as error:
                seen.append(error)

    host = open_host(Selfish)
    Selfish.get("a").arm()
    host.fire_due()
    assert [type(error) for error in seen] == [Deadlock]


def test_nothing_leaves_an_object_from_inside_a_transaction(open_host: OpenHost) -> None:
    open_host(Caller, Answerer)
    with pytest.raises(ObjectCallError, match=r"Caller/a calls Answerer/x\.answer inside a transaction") as raised:
        Caller.get("a").ask_in_transaction()
    assert raised.value.remote_type == TransactionOpen.__name__
    assert isinstance(raised.value.__cause__, TransactionOpen)
    assert Caller.get("a").kept() is None
    with pytest.raises(ObjectCallError, match=r"Answerer/\*\.list inside a transaction"):
        Caller.get("a").list_in_transaction()


def test_setup_cannot_ask_others_before_its_object_is_on_disk(open_host: OpenHost) -> None:
    open_host(InSetup, Answerer)
    with pytest.raises(ObjectCallError, match="TransactionOpen"):
        InSetup.get("a").hello()
    assert InSetup.count() == 0


def test_an_init_that_asks_another_object_creates_nothing_half(open_host: OpenHost) -> None:
    class Curious(Durable):
        asks = True

        def __init__(self) -> None:
            if self.asks:
                Answerer.get("x").answer("init")

        def setup(self) -> None:
            self.storage.put("set up", True)

        def is_set_up(self) -> bool:
            return bool(self.storage.get("set up"))

    host = open_host(Curious, Answerer)
    with pytest.raises(ObjectCallError, match="TransactionOpen"):
        Curious.get("a").is_set_up()
    assert Curious.list() == []
    Curious.asks = False
    assert Curious.get("a").is_set_up()
    # Once it exists, an `__init__` may ask others.
    host.unload(ObjectRef("Curious", "a"))
    Curious.asks = True
    assert Curious.get("a").is_set_up()


# Many callers, many objects.


def test_threads_take_turns_and_no_call_is_lost(open_host: OpenHost) -> None:
    open_host(Counter)
    threads = [threading.Thread(target=lambda: [Counter.get("a").add() for _ in range(25)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter.get("a").value() == 200


def test_a_call_whose_turn_does_not_come_has_not_run(open_host: OpenHost, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, leave = threading.Event(), threading.Event()

    class Slow(Durable):
        def wait(self) -> None:
            entered.set()
            leave.wait(30)

    open_host(Slow, Counter)
    # The real wait is 30 s; nothing else is replaced.
    monkeypatch.setattr(host_module, "CALL_SECONDS", 0.01)
    thread = threading.Thread(target=Slow.get("a").wait)
    thread.start()
    entered.wait(30)
    with pytest.raises(ObjectUnavailable, match=r"its turn did not come within 0\.01 s"):
        Counter.get("a").add()
    leave.set()
    thread.join()


def test_idle_objects_close_and_their_log_moves_into_the_file(
    open_host: OpenHost, clock: ManualClock, tmp_path: Path
) -> None:
    host = open_host(Counter, config=ObjectsConfig(idle_seconds=60))
    Counter.get("a").add()
    clock.move(30)
    Counter.get("b").add()
    clock.move(30)
    host.unload_idle()
    assert not host.unload(ObjectRef("Counter", "a"))
    assert host.unload(ObjectRef("Counter", "b"))
    assert list((tmp_path / "data" / "objects" / "counter").rglob("*-wal")) == []


def test_a_log_that_grew_behind_a_reader_shrinks_when_the_reader_is_gone(open_host: OpenHost) -> None:
    class Writer(Durable):
        def write(self, times: int, letter: str) -> None:
            for number in range(times):
                self.storage.put(str(number), letter * 1_000_000)

    host = open_host(Writer)
    Writer.get("a").write(1, "a")
    (file,) = every_file(host.folder)
    reader = Connection(file, read_only=True)
    reader.begin()
    reader.own("SELECT count(*) AS n FROM _melee_values")
    for letter in "bcd":
        Writer.get("a").write(10, letter)
    log = file.with_name(f"{file.name}-wal")
    assert log.stat().st_size > 30_000_000
    reader.close()
    for letter in "efg":
        Writer.get("a").write(1, letter)
    assert log.stat().st_size < 10_000_000
    host.unload(ObjectRef("Writer", "a"))
    assert not log.exists()


def test_no_more_objects_stay_open_than_the_limit(open_host: OpenHost, tmp_path: Path) -> None:
    open_host(Counter, config=ObjectsConfig(open_at_most=3))
    for number in range(10):
        Counter.get(str(number)).add()
    assert len(list((tmp_path / "data" / "objects" / "counter").rglob("*-wal"))) == 3
    assert [Counter.get(str(number)).value() for number in range(10)] == [1] * 10


def test_a_second_host_on_the_folder_is_refused_and_told_who_has_it(tmp_path: Path, open_host: OpenHost) -> None:
    app = write_app(tmp_path / "app", "from melee import App\napp = App(__name__)\n")
    with WorkerUnderTest(app, data=tmp_path / "data") as worker:
        with pytest.raises(AlreadyRunning, match=f"in use by process {worker.process.pid}"):
            open_host(Counter)
        worker.kill()
        open_host(Counter)
        assert Counter.get("a").add() == 1


# Migrations.


def test_migrations_run_in_order_before_the_first_call_after_a_deploy(
    open_host: OpenHost, migration: Migration
) -> None:
    class Diary(Durable):
        def write(self, text: str) -> None:
            self.storage.run("INSERT INTO entries (text) VALUES (?)", text)

        def entries(self) -> list[dict[str, Any]]:
            return self.storage.query("SELECT * FROM entries")

    migration("diary", "001_entries.sql", "CREATE TABLE entries (text TEXT NOT NULL);")
    open_host(Diary)
    Diary.get("a").write("one")
    migration("diary", "002_mood.sql", "ALTER TABLE entries ADD COLUMN mood TEXT NOT NULL DEFAULT 'fine';")
    open_host(Diary)
    assert Diary.get("a").entries() == [{"text": "one", "mood": "fine"}]


def test_a_migration_that_fails_makes_its_objects_unusable_and_no_others(
    open_host: OpenHost, migration: Migration
) -> None:
    class Broken(Durable):
        def hello(self) -> str:
            return "hello"

    file = migration("broken", "001_a.sql", "CREATE TABLE a (b);\nCREATE TABLE c (d);\nINSERT INTO nowhere VALUES (1);")
    open_host(Broken, Counter)
    with pytest.raises(MigrationError) as raised:
        Broken.get("x").hello()
    assert raised.value.file == f"{file}:3"
    assert raised.value.statement == "INSERT INTO nowhere VALUES (1);"
    assert "no such table: nowhere" in str(raised.value)
    assert (Broken.count(), Counter.get("a").add()) == (0, 1)
    file.write_text("CREATE TABLE a (b);")
    assert Broken.get("x").hello() == "hello"


def test_an_edited_migration_is_said_at_the_first_call_and_loses_nothing(
    open_host: OpenHost, migration: Migration
) -> None:
    original = "CREATE TABLE a (b);"
    file = migration("counter", "001_a.sql", original)
    open_host(Counter)
    Counter.get("a").add(3)
    file.write_text("CREATE TABLE a (b, c);")
    open_host(Counter)
    with pytest.raises(MigrationError, match="edited after it ran"):
        Counter.get("a").value()
    file.write_text(original)
    assert Counter.get("a").value() == 3


def test_a_damaged_file_is_an_error_of_that_object_alone(open_host: OpenHost, tmp_path: Path) -> None:
    open_host(Counter)
    Counter.get("a").add()
    open_host(Counter)
    (file,) = every_file(tmp_path / "data" / "objects")
    file.write_bytes(b"not a database, by any means " * 100)
    with pytest.raises(DatabaseError, match="file is not a database"):
        Counter.get("a").value()
    assert Counter.get("b").add() == 1


def test_a_folder_that_cannot_be_made_is_an_error_of_that_call_alone(open_host: OpenHost, tmp_path: Path) -> None:
    open_host(Counter)
    (tmp_path / "data" / "objects" / "counter").write_text("a file where a folder should be")
    with pytest.raises(ObjectUnavailable, match="its file cannot be opened"):
        Counter.get("a").add()
    (tmp_path / "data" / "objects" / "counter").unlink()
    assert Counter.get("a").add() == 1


def test_a_broken_constraint_reaches_the_method_by_its_kind(open_host: OpenHost) -> None:
    class Unique(Durable):
        def setup(self) -> None:
            self.storage.run("CREATE TABLE names (name TEXT UNIQUE)")

        def add_twice(self, name: str) -> str:
            self.storage.run("INSERT INTO names VALUES (?)", name)
            try:
                self.storage.run("INSERT INTO names VALUES (?)", name)
            except ConstraintError:
                return "twice"
            return "once"

    open_host(Unique)
    assert Unique.get("a").add_twice("x") == "twice"


def test_a_class_imported_under_a_longer_name_is_not_one_of_the_apps(tmp_path: Path) -> None:
    lib = tmp_path / "shop" / "lib"
    lib.mkdir(parents=True)
    (lib / "stats.py").write_text("from melee import Durable\nclass Stats(Durable):\n    pass\n")
    (tmp_path / "shop" / "app.py").write_text("from melee import App\nimport lib.stats\napp = App(__name__)\n")
    sys.path.insert(0, str(tmp_path))
    try:
        importlib.import_module("shop.lib.stats")
        Project.at(tmp_path / "shop").load()
        assert [cls.__module__ for cls in classes_below(tmp_path / "shop").values()] == ["lib.stats"]
    finally:
        sys.path.remove(str(tmp_path))


def test_two_classes_that_would_share_a_folder_are_refused(tmp_path: Path) -> None:
    write_app(
        tmp_path,
        "from melee import App, Durable\n"
        "app = App(__name__)\n"
        "class HTTPLog(Durable):\n    pass\n"
        "class HttpLog(Durable):\n    pass\n",
    )
    Project.at(tmp_path).load()
    with pytest.raises(DefinitionError, match="would share its data"):
        classes_below(tmp_path)
