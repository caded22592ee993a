"""An id is never a path: every object has a file of its own, below the folder of all objects."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from melee.objects.files import delete_file, every_file, file_of, make_folder
from melee.objects.request import ObjectRef

HARD_IDS = ["../../x", "a/b", "a", "A", ".", "..", "CON", "é", "e\u0301", "\0", " ", "/etc/passwd", "a" * 1024]
FOLDER = Path("/srv/data/objects")
ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def test_no_hard_id_reaches_a_path_and_all_are_distinct_where_case_is_not(tmp_path: Path) -> None:
    files = [file_of(tmp_path, ObjectRef("BoardStats", id)) for id in HARD_IDS]
    assert len({str(file).lower() for file in files}) == len(HARD_IDS)
    for file in files:
        make_folder(file.parent)
        file.write_text("here")
    assert sorted(every_file(tmp_path)) == sorted(files)
    assert [folder.name for folder in tmp_path.iterdir()] == ["board_stats"]


@given(ids, ids)
def test_two_ids_share_a_file_only_if_they_are_one(one: str, other: str) -> None:
    assert (file_of(FOLDER, ObjectRef("A", one)) == file_of(FOLDER, ObjectRef("A", other))) == (one == other)


@given(ids)
def test_a_file_has_a_short_plain_name_two_folders_down(id: str) -> None:
    file = file_of(FOLDER, ObjectRef("BoardStats", id))
    assert file.parents[1] == FOLDER / "board_stats"
    assert file.parent.name == file.name[:2]
    assert file.name.isascii()
    assert len(file.stem) == 64
    assert file.stem.isalnum()


def test_two_classes_do_not_share_files() -> None:
    assert file_of(FOLDER, ObjectRef("A", "x")) != file_of(FOLDER, ObjectRef("B", "x"))


def test_a_folder_is_made_with_those_above_it_and_may_exist(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


def test_a_database_is_deleted_with_its_log(tmp_path: Path) -> None:
    for name in ("a.sqlite3", "a.sqlite3-wal", "a.sqlite3-shm", "b.sqlite3"):
        (tmp_path / name).touch()
    delete_file(tmp_path / "a.sqlite3")
    assert [file.name for file in tmp_path.iterdir()] == ["b.sqlite3"]


@pytest.mark.parametrize("folder", [".", "missing"])
def test_deleting_what_is_not_there_is_harmless(tmp_path: Path, folder: str) -> None:
    delete_file(tmp_path / folder / "a.sqlite3")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_deleted_is_named_in_the_log_and_ends_no_call(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite3").touch()
    (tmp_path / "a.sqlite3-wal").mkdir()
    with capture_logs() as lines:
        delete_file(tmp_path / "a.sqlite3")
    assert [(line["log_level"], line["file"]) for line in lines] == [("error", str(tmp_path / "a.sqlite3"))]
    assert "a.sqlite3-wal" in lines[0]["error"]
    assert not (tmp_path / "a.sqlite3").exists()
