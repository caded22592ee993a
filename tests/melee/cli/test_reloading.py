"""Which changes of files start an app again."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from melee.cli.reloading import Sources, Stop


@pytest.fixture
def stop() -> Iterator[Stop]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield Stop()
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_wish_to_stop_ends_the_wait_and_the_next_signal_is_left_to_the_system(tmp_path: Path, stop: Stop) -> None:
    sources = Sources(tmp_path, stop)
    signal.raise_signal(signal.SIGTERM)
    assert sources.wait_for_change() == ""
    stop.wait()
    assert signal.getsignal(signal.SIGTERM) is signal.getsignal(signal.SIGINT) is signal.SIG_DFL


@pytest.mark.parametrize(
    "name", ["app.py", "lib/a.py", "db/001_a.sql", "db/objects/a/001_a.sql", "templates/a/b.html", "melee.toml"]
)
def test_a_source_is_seen_in_a_folder_made_a_moment_ago(tmp_path: Path, stop: Stop, name: str) -> None:
    sources = Sources(tmp_path, stop)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("")
    seen = sources.wait_for_change()
    assert name == seen or name.startswith(f"{seen}/")


@pytest.mark.parametrize(
    "name", ["data/a.py", "tests/a.py", ".melee/objects.py", ".venv/a.py", "venv/site-packages/a.py", "notes.txt"]
)
def test_what_is_no_source_is_not_seen(tmp_path: Path, stop: Stop, name: str) -> None:
    sources = Sources(tmp_path, stop)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("")
    (tmp_path / "app.py").write_text("")
    assert sources.wait_for_change() == "app.py"


@pytest.mark.parametrize("change", ["edit", "delete", "rename"])
def test_every_kind_of_change_is_seen(tmp_path: Path, stop: Stop, change: str) -> None:
    file = tmp_path / "app.py"
    file.write_text("")
    sources = Sources(tmp_path, stop)
    if change == "edit":
        file.write_text("app = None")
    elif change == "delete":
        file.unlink()
    else:
        file.rename(tmp_path / "zoo.py")
    assert sources.wait_for_change() == "app.py"
