"""A start makes the index agree with the files, whatever the last run left behind."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import structlog
from structlog.testing import capture_logs

from melee.clock import ManualClock
from melee.objects.files import file_of, make_folder
from melee.objects.record import Record
from melee.objects.recovery import open_registry
from melee.objects.registry import Registry
from melee.objects.request import ObjectRef
from melee.objects.shard import Shard, shard_of
from melee.store.connection import Connection

A, B = ObjectRef("A", "1"), ObjectRef("A", "../../é")
NOW = 1_893_456_000.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "objects"


@pytest.fixture
def logged() -> Iterator[list[structlog.typing.EventDict]]:
    with capture_logs() as lines:
        yield lines


def make_object(folder: Path, ref: ObjectRef, due_at: float | None, destroyed: bool = False) -> Path:
    path = file_of(folder, ref)
    make_folder(path.parent)
    with closing(Connection(path)) as connection:
        record = Record(connection, ManualClock())
        record.create(ref)
        record.set_timer(due_at)
        if destroyed:
            record.mark_destroyed()
    return path


def index(folder: Path, *rows: tuple[ObjectRef, float | None], settled: bool) -> None:
    make_folder(folder)
    with closing(Registry(folder / "registry.sqlite3")) as registry:
        if settled:
            registry.settle(rows)
        else:
            registry.expect(rows)
        registry.mark_filled()


def found_by(folder: Path, shard: Shard) -> list[str]:
    with closing(open_registry(folder, shard)) as registry:
        return registry.ids("A")


def found(folder: Path) -> dict[ObjectRef, float | None]:
    with closing(open_registry(folder, Shard())) as registry:
        assert registry.unsettled() == []
        return {ref: registry.due_no_later_than(ref) for ref in (A, B) if ref.id in registry.ids("A")}


def test_a_new_app_has_an_empty_registry(folder: Path, logged: list[structlog.typing.EventDict]) -> None:
    assert found(folder) == {}
    assert (folder / "registry.sqlite3").is_file()
    assert logged == []


def test_a_lost_registry_is_rebuilt_from_the_files(folder: Path, logged: list[structlog.typing.EventDict]) -> None:
    make_object(folder, A, NOW)
    make_object(folder, B, None)
    assert found(folder) == {A: NOW, B: None}
    assert [(line["event"], line["objects"]) for line in logged] == [
        ("the registry of objects was rebuilt from their files", 2)
    ]


@pytest.mark.parametrize("content", [b"", b"no database " * 500])
def test_an_unreadable_registry_is_rebuilt(folder: Path, content: bytes) -> None:
    make_object(folder, A, NOW)
    (folder / "registry.sqlite3").write_bytes(content)
    assert found(folder) == {A: NOW}


def test_a_rebuild_that_was_interrupted_is_begun_anew(folder: Path) -> None:
    make_object(folder, A, NOW)
    with closing(Registry(folder / "registry.sqlite3")) as registry:
        registry.settle([(B, NOW)])
    assert found(folder) == {A: NOW}


def test_a_registry_of_another_version_is_rebuilt(folder: Path) -> None:
    make_object(folder, A, NOW)
    with closing(Connection(folder / "registry.sqlite3")) as connection:
        connection.own("PRAGMA user_version = 99")
    assert found(folder) == {A: NOW}


def test_a_rebuild_leaves_out_and_names_a_file_that_cannot_be_read(
    folder: Path, logged: list[structlog.typing.EventDict]
) -> None:
    make_object(folder, A, NOW)
    broken = make_object(folder, B, NOW)
    broken.write_bytes(b"no database " * 500)
    assert found(folder) == {A: NOW}
    assert [line["file"] for line in logged if "cannot be read" in line["event"]] == [str(broken)]


def test_a_destroyed_object_does_not_come_back_by_a_rebuild(folder: Path) -> None:
    make_object(folder, A, NOW, destroyed=True)
    make_object(folder, B, NOW)
    assert found(folder) == {B: NOW}


@pytest.mark.parametrize("expected", [NOW - 60, NOW, NOW + 60, None])
def test_what_was_being_committed_is_as_the_objects_file_says(folder: Path, expected: float | None) -> None:
    make_object(folder, A, NOW)
    index(folder, (A, expected), settled=False)
    assert found(folder) == {A: NOW}


def test_a_creation_that_was_not_committed_leaves_nothing(folder: Path) -> None:
    path = file_of(folder, A)
    make_folder(path.parent)
    with closing(Connection(path)) as connection:
        connection.execute("CREATE TABLE half (x)", ())
    index(folder, (A, NOW), settled=False)
    assert found(folder) == {}
    assert not path.exists()


def test_an_end_that_was_committed_is_carried_through(folder: Path) -> None:
    path = make_object(folder, A, None, destroyed=True)
    index(folder, (A, NOW), settled=False)
    assert found(folder) == {}
    assert not path.exists()


def test_a_settled_row_is_believed_without_opening_a_file(folder: Path) -> None:
    index(folder, (A, NOW), settled=True)
    assert found(folder) == {A: NOW}


def test_one_file_that_cannot_be_read_keeps_no_other_object_from_starting(
    folder: Path, logged: list[structlog.typing.EventDict]
) -> None:
    broken = make_object(folder, A, NOW)
    broken.write_bytes(b"no database " * 500)
    make_object(folder, B, NOW + 5)
    index(folder, (A, NOW), (B, None), settled=False)
    with closing(open_registry(folder, Shard())) as registry:
        assert registry.unsettled() == [A]
        assert registry.due_no_later_than(B) == NOW + 5
        assert registry.next_wake_at() == NOW
    assert [line["file"] for line in logged] == [str(broken)]
    assert broken.exists()


def test_looking_into_files_leaves_nothing_beside_them(folder: Path) -> None:
    make_object(folder, A, NOW)
    make_object(folder, B, None)
    before = sorted((folder / "a").rglob("*"))
    found(folder)
    assert sorted((folder / "a").rglob("*")) == before


def test_each_shard_finds_its_own_objects(folder: Path) -> None:
    refs = [ObjectRef("A", str(number)) for number in range(20)]
    for ref in refs:
        make_object(folder, ref, NOW)
    for number in range(3):
        owned = sorted(ref.id for ref in refs if shard_of(ref, 3) == number)
        assert owned
        assert found_by(folder, Shard(number, 3)) == owned
    names = {file.name for file in folder.glob("*.sqlite3")}
    assert names == {"registry-0-of-3.sqlite3", "registry-1-of-3.sqlite3", "registry-2-of-3.sqlite3"}


def test_files_of_other_shards_are_not_opened(folder: Path, logged: list[structlog.typing.EventDict]) -> None:
    file_of_another = make_object(folder, A, NOW)
    file_of_another.write_bytes(b"no database " * 500)
    assert found_by(folder, Shard(1 - shard_of(A, 2), 2)) == []
    assert logged == []


def test_a_registry_that_is_not_of_this_layout_is_never_believed_again(folder: Path) -> None:
    make_object(folder, A, NOW)
    assert found_by(folder, Shard()) == ["1"]
    owner = Shard(shard_of(A, 2), 2)
    assert found_by(folder, owner) == ["1"]
    # The two workers make an object, of which the registry of the one worker would not know.
    make_object(folder, B, NOW - 60)
    assert found(folder) == {A: NOW, B: NOW - 60}
    assert [file.name for file in folder.glob("registry*")] == ["registry.sqlite3"]


def test_a_worker_of_another_layout_goes_on_with_the_registry_that_was_deleted(folder: Path) -> None:
    """Their shards do not overlap, so both may serve."""
    make_folder(folder)
    with closing(open_registry(folder, Shard(2, 3))) as serving:
        assert found_by(folder, Shard(0, 2)) == []
        serving.expect([(A, NOW)])
        serving.settle([(A, NOW)])
        assert serving.ids("A") == ["1"]
    assert [file.name for file in folder.glob("registry*")] == ["registry-0-of-2.sqlite3"]


def test_a_registry_that_cannot_be_deleted_keeps_the_worker_from_starting(folder: Path) -> None:
    (folder / "registry-0-of-2.sqlite3" / "x").mkdir(parents=True)
    with pytest.raises(OSError, match="registry-0-of-2"):
        open_registry(folder, Shard())
