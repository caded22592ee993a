"""Which changes of files start an app again."""

import signal
from collections.abc import Callable, Iterator
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


class Busy(Stop):
    """Nobody wants to stop, and between each two looks somebody does the next of these things."""

    def __init__(self, *things: Callable[[], object]) -> None:
        self.things = list(things)

    def comes_within_a_look(self) -> bool:
        if self.things:
            self.things.pop(0)()
        return False


def test_an_edit_that_takes_its_time_is_seen_when_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "app.py"
    halves = Busy(lambda: file.write_text(""), lambda: file.write_text("app ="), lambda: file.write_text("app = 1"))
    assert Sources(tmp_path, halves).wait_for_change() == "app.py"
    assert file.read_text() == "app = 1"


def test_a_file_that_came_and_went_is_no_change(tmp_path: Path) -> None:
    file = tmp_path / "app.py"
    passing = Busy(lambda: file.write_text(""), file.unlink, lambda: (tmp_path / "other.py").write_text(""))
    assert Sources(tmp_path, passing).wait_for_change() == "other.py"


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
