"""`melee build` says what is wrong with an app, in lines that an editor can jump to."""

import os
import resource
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.melee.cli.small_app import PATIENCE_SECONDS, command, environment, melee, write_app


def test_a_correct_app_builds_in_silence(tmp_path: Path) -> None:
    folder = write_app(tmp_path / "small")
    said = melee("build", folder)
    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")
    assert "def hit(self)" in (folder / ".melee" / "objects.py").read_text()


def test_a_mistake_is_one_line_on_standard_output_and_exit_code_1(tmp_path: Path) -> None:
    folder = write_app(tmp_path / "small")
    (folder / "lib" / "wor\nker.py").write_text("import threading\n\nthreading.Thread()\n")
    said = melee("build", folder)
    assert (said.returncode, said.stderr) == (1, "")
    assert said.stdout.startswith(r"lib/wor\nker.py:3:1: threading.Thread: a thread ends with ")
    assert said.stdout.count("\n") == 1


def test_a_folder_that_is_no_app_is_one_line(tmp_path: Path) -> None:
    said = melee("build", tmp_path)
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr == f"melee: {tmp_path} is not an app: it has no app.py; name the folder of an app, or go there\n"


def test_an_app_without_an_app_is_one_line(tmp_path: Path) -> None:
    folder = write_app(tmp_path / "small")
    (folder / "app.py").write_text("import lib.stats\n")
    said = melee("build", folder)
    problem = "app.py defines no `app`; write `app = App(__name__)`"
    assert (said.returncode, said.stdout, said.stderr) == (1, f"app.py:1:1: {problem}\n", "")


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch, Path.exists], ids=["empty", "file", "missing"])
def test_whatever_is_no_folder_of_an_app_is_one_line(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / "it")
    said = melee("build", tmp_path / "it")
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr.startswith(f"melee: {tmp_path}/it is not an app: it has no app.py; name the folder")
    assert said.stderr.count("\n") == 1


def test_ctrl_c_ends_it_in_silence_and_leaves_nothing(tmp_path: Path) -> None:
    folder = write_app(tmp_path / "small")
    os.mkfifo(folder / "melee.toml")
    pipe, error = subprocess.DEVNULL, subprocess.PIPE
    building = subprocess.Popen(command("build", folder), stdout=pipe, stderr=error, env=environment())
    # It opens when the build reads it.
    with building, (folder / "melee.toml").open("w"):
        building.send_signal(signal.SIGINT)
        said = building.communicate(timeout=PATIENCE_SECONDS)[1]
    assert (building.returncode, said) == (130, b"")
    assert not (folder / ".melee").exists()


def test_a_full_disk_is_one_line_and_leaves_the_handles_as_they_were(tmp_path: Path) -> None:
    folder = write_app(tmp_path / "small")
    handles = folder / ".melee" / "objects.py"
    assert melee("build", folder).returncode == 0
    before = handles.read_text()
    (folder / "lib" / "stats.py").write_text((folder / "lib" / "stats.py").read_text().replace("def hit", "def knock"))
    said = subprocess.run(
        command("build", folder),
        capture_output=True,
        text=True,
        env=environment() | {"PYTHONDONTWRITEBYTECODE": "1"},
        # No file may become longer than that.
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)),
    )
    assert (said.returncode, said.stdout, said.stderr) == (1, "", f"melee: {handles}: File too large\n")
    assert handles.read_text() == before
    assert list(handles.parent.iterdir()) == [handles]


def test_a_folder_for_the_handles_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    folder = write_app(tmp_path / "small")
    (folder / ".melee").touch()
    said = melee("build", folder)
    assert (said.returncode, said.stdout, said.stderr) == (1, "", f"melee: {folder}/.melee: File exists\n")
