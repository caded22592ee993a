"""Objects seen from outside, whether or not the app runs."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from melee.clock import ManualClock
from melee.errors import NoSuchObject, ShapeError
from melee.objects.files import file_of, make_folder
from melee.objects.inspection import opened, tables, values
from melee.objects.record import Record
from melee.objects.request import ObjectRef
from melee.objects.storage import ObjectConnection, Storage

A = ObjectRef("Stats", "../a")


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    """The storage of the object A, committed and still open in its app."""
    file = file_of(tmp_path, A)
    make_folder(file.parent)
    with closing(ObjectConnection(file)) as connection:
        Record(connection, ManualClock()).create(A)
        storage = Storage(connection)
        storage.put("k", {"a": 1})
        storage.run("CREATE TABLE days (x)")
        storage.run("INSERT INTO days VALUES (1), (2)")
        connection.commit()
        yield storage


@pytest.mark.usefixtures("storage")
def test_an_object_is_read_while_its_app_has_it_open(tmp_path: Path) -> None:
    with opened(tmp_path, A) as connection:
        assert tables(connection) == {"days": 2}
        assert values(connection) == {"k": '{"a":1}'}


@pytest.mark.usefixtures("storage")
@pytest.mark.parametrize("missing", [ObjectRef("Stats", "b"), ObjectRef("Other", "../a")])
def test_an_object_that_is_not_there_is_named_with_those_that_are(tmp_path: Path, missing: ObjectRef) -> None:
    with pytest.raises(NoSuchObject) as caught, opened(tmp_path, missing):
        pytest.fail("it was opened")
    assert str(caught.value) == f"there is no object {missing}; there is Stats/../a"


def test_what_cannot_be_an_id_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ShapeError, match="Stats id: 0 characters"), opened(tmp_path, ObjectRef("Stats", "")):
        pytest.fail("it was opened")
