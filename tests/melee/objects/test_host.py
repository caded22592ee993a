"""The life of objects in a host: creation, calls, errors, and turns."""

import threading
from pathlib import Path

import msgspec
import pytest

from melee.errors import AlreadyRunning, ConstraintError, NoOwner, ObjectCallError, ObjectUnavailable, ShapeError
from melee.objects import running as running_module
from melee.objects.durable import Durable
from melee.objects.files import every_file
from melee.objects.request import Call, ObjectRef
from melee.testing import WorkerUnderTest
from tests.conftest import write_app
from tests.melee.objects.conftest import OpenHost
from tests.melee.objects.counter import Counter


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
    monkeypatch.setattr(running_module, "CALL_SECONDS", 0.01)
    thread = threading.Thread(target=Slow.get("a").wait)
    thread.start()
    entered.wait(30)
    with pytest.raises(ObjectUnavailable, match=r"its turn did not come within 0\.01 s"):
        Counter.get("a").add()
    leave.set()
    thread.join()


def test_a_second_host_on_the_folder_is_refused_and_told_who_has_it(tmp_path: Path, open_host: OpenHost) -> None:
    app = write_app(tmp_path / "app", "from melee import App\napp = App(__name__)\n")
    with WorkerUnderTest(app, data=tmp_path / "data") as worker:
        with pytest.raises(AlreadyRunning, match=f"in use by process {worker.process.pid}"):
            open_host(Counter)
        worker.kill()
        open_host(Counter)
        assert Counter.get("a").add() == 1
