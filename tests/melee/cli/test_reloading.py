"""Which changes of files start an app again."""

from pathlib import Path

import pytest

from melee.cli.reloading import Sources


@pytest.mark.parametrize(
    "name", ["app.py", "lib/a.py", "db/001_a.sql", "db/objects/a/001_a.sql", "templates/a/b.html", "melee.toml"]
)
def test_a_source_is_seen_in_a_folder_made_a_moment_ago(tmp_path: Path, name: str) -> None:
    sources = Sources(tmp_path)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("")
    seen = sources.wait_for_change()
    assert name == seen or name.startswith(f"{seen}/")


@pytest.mark.parametrize(
    "name", ["data/a.py", "tests/a.py", ".melee/objects.py", ".venv/a.py", "venv/site-packages/a.py", "notes.txt"]
)
def test_what_is_no_source_is_not_seen(tmp_path: Path, name: str) -> None:
    sources = Sources(tmp_path)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("")
    (tmp_path / "app.py").write_text("")
    assert sources.wait_for_change() == "app.py"


@pytest.mark.parametrize("change", ["edit", "delete", "rename"])
def test_every_kind_of_change_is_seen(tmp_path: Path, change: str) -> None:
    file = tmp_path / "app.py"
    file.write_text("")
    sources = Sources(tmp_path)
    if change == "edit":
        file.write_text("app = None")
    elif change == "delete":
        file.unlink()
    else:
        file.rename(tmp_path / "zoo.py")
    assert sources.wait_for_change() == "app.py"
