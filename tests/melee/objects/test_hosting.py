"""From an app's folder to its objects: what the folder says is what they have."""

import importlib
import os
import sys
from pathlib import Path

import pytest

from melee import now
from melee.errors import DefinitionError
from melee.objects.hosting import classes_below, write_handles
from melee.objects.spec import ClassSpec
from melee.project import Project
from melee.testing import AppUnderTest
from tests.conftest import write_app
from tests.melee.cli import small_app


def test_what_melee_toml_says_is_what_the_app_has(tmp_path: Path) -> None:
    folder = small_app.write_app(tmp_path / "small")
    (folder / "melee.toml").write_text('[app]\ntimezone = "Asia/Tokyo"\n[objects]\nopen_at_most = 1\n')
    with AppUnderTest(folder) as app:
        assert now().isoformat() == "2030-01-01T09:00:00+09:00"
        app.client.get("/")
        app.classes["Stats"].get("other").hit()  # type: ignore[attr-defined]
        assert not app.evict("Stats", "visits")
        assert app.evict("Stats", "other")


def test_a_class_imported_under_a_longer_name_is_not_one_of_the_apps(tmp_path: Path) -> None:
    shop = write_app(tmp_path / "shop", "from melee import App\nimport lib.stats\napp = App(__name__)\n")
    (shop / "lib").mkdir()
    (shop / "lib" / "stats.py").write_text("from melee import Durable\nclass Stats(Durable):\n    pass\n")
    sys.path.insert(0, str(tmp_path))
    try:
        importlib.import_module("shop.lib.stats")
        Project.at(shop).load()
        assert [cls.__module__ for cls in classes_below(shop).values()] == ["lib.stats"]
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


def test_the_handles_are_written_once_and_anew_when_a_class_changed(tmp_path: Path) -> None:
    stats = "from melee import App, Durable\napp = App(__name__)\nclass Stats(Durable):\n"
    project = Project.at(write_app(tmp_path, f"{stats}    def hit(self): ...\n"))

    def specs() -> list[ClassSpec]:
        return [cls.spec for cls in classes_below(tmp_path).values()]

    project.load()
    write_handles(project, specs())
    assert "def hit(self)" in project.handles_file.read_text()
    # A tool that watches the folder is not told of a change that is none.
    os.utime(project.handles_file, (0, 0))
    write_handles(project, specs())
    assert project.handles_file.stat().st_mtime == 0
    write_app(tmp_path, f"{stats}    def hit_twice(self): ...\n")
    project.load()
    write_handles(project, specs())
    assert "def hit_twice(self)" in project.handles_file.read_text()
    assert "def hit(self)" not in project.handles_file.read_text()
