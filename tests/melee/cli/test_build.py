"""`melee build` says what is wrong with an app, in lines that an editor can jump to."""

from pathlib import Path

from tests.melee.cli.small_app import melee, write_app


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
