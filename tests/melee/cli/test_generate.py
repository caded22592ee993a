"""`melee generate job`: what it writes works as it is, and nothing of an app's own is lost."""

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from click.testing import CliRunner, Result

from melee.cli.main import main
from tests.conftest import write_app

APP = "from melee import App\n\napp = App(__name__)\n"
IMPORT, CALL = "from jobs.send_welcome import SendWelcome", "app.jobs.register(SendWelcome)"


def generate(folder: Path, name: str = "send_welcome") -> Result:
    return CliRunner().invoke(main, ["generate", "job", name, "--app", str(folder)], catch_exceptions=False)


def app_after(folder: Path, source: str) -> str:
    """What becomes of an app.py."""
    write_app(folder, dedent(source))
    assert generate(folder).exit_code == 0
    return (folder / "app.py").read_text()


def files(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.slow
def test_the_generated_app_builds_is_clean_and_passes_its_test(tmp_path: Path) -> None:
    folder = write_app(tmp_path / "app", APP)
    for name in ("send_welcome", "SendDigest", "re-index"):
        assert generate(folder, name).exit_code == 0
    users = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    for command in (
        ["pytest", "-q", "-W", "error", "-p", "no:cacheprovider"],
        ["ruff", "check", "--no-cache", "."],
        ["ruff", "format", "--no-cache", "--check", "."],
        ["ruff", "check", "--no-cache", "--select", "I,UP,B,SIM,RUF", "."],
        ["mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "."],
        ["melee", "build"],
    ):
        ended = subprocess.run(
            [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, timeout=120, env=users
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        if command[0] == "pytest":
            assert "3 passed" in ended.stdout


def test_the_class_its_registration_and_a_test_are_written(tmp_path: Path) -> None:
    folder = write_app(tmp_path, APP)
    said = generate(folder)
    assert said.stdout.splitlines() == [
        "jobs/send_welcome.py: write in run what it does",
        "app.py: registers it",
        "tests/test_send_welcome.py: python -m pytest runs it",
    ]
    assert files(folder).keys() == {"app.py", "jobs/__init__.py", "jobs/send_welcome.py", "tests/test_send_welcome.py"}
    assert 'NAME = "send_welcome"' in files(folder)["jobs/send_welcome.py"]
    assert files(folder)["app.py"] == f"from melee import App\n\n{IMPORT}\n\napp = App(__name__)\n{CALL}\n"


@pytest.mark.parametrize("name", ["send_welcome", "send-welcome", "SendWelcome"])
def test_a_name_may_be_written_as_one_likes(tmp_path: Path, name: str) -> None:
    assert generate(write_app(tmp_path, APP), name).exit_code == 0
    assert "class SendWelcome(Job):" in files(tmp_path)["jobs/send_welcome.py"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "is no name for a job"),
        ("9lives", "is no name for a job"),
        ("send welcome", "is no name for a job"),
        ("../escape", "is no name for a job"),
        ("_send", "is no name for a job"),
        ("begrüßen", "is no name for a job"),
        ("a\nb", "is no name for a job"),
        ("a" * 61, "is no name for a job"),
        ("import", "means something else in Python or in melee"),
        ("none", "means something else in Python or in melee"),
        ("job", "means something else in Python or in melee"),
    ],
)
def test_a_name_that_cannot_be_one_is_a_line_and_changes_nothing(tmp_path: Path, name: str, problem: str) -> None:
    folder = write_app(tmp_path, APP)
    said = generate(folder, name)
    assert (said.exit_code, said.stdout) == (1, "")
    assert problem in said.stderr
    assert said.stderr.count("\n") == 1
    assert files(folder) == {"app.py": APP}


@pytest.mark.parametrize("file", ["jobs/send_welcome.py", "tests/test_send_welcome.py"])
def test_a_file_that_exists_is_not_overwritten_and_nothing_else_changes(tmp_path: Path, file: str) -> None:
    folder = write_app(tmp_path, APP)
    (folder / file).parent.mkdir()
    (folder / file).write_text("mine")
    said = generate(folder)
    assert (said.exit_code, said.stdout) == (1, "")
    assert said.stderr.startswith(f"melee: {folder / file} exists and is not overwritten; ")
    assert files(folder) == {"app.py": APP, file: "mine"}


def test_the_same_again_changes_nothing(tmp_path: Path) -> None:
    generate(write_app(tmp_path, APP))
    before = files(tmp_path)
    assert generate(tmp_path).exit_code == 1
    assert files(tmp_path) == before


def test_a_registration_that_is_there_is_not_written_twice(tmp_path: Path) -> None:
    generate(write_app(tmp_path, APP))
    before = files(tmp_path)
    for file in ("jobs/send_welcome.py", "tests/test_send_welcome.py"):
        (tmp_path / file).unlink()
    assert generate(tmp_path).exit_code == 0
    assert files(tmp_path) == before


def test_a_module_that_hides_the_folder_is_named(tmp_path: Path) -> None:
    (write_app(tmp_path, APP) / "jobs.py").write_text("")
    said = generate(tmp_path)
    assert (said.exit_code, said.stderr) == (
        1,
        f"melee: {tmp_path / 'jobs.py'} hides the folder jobs/ from Python; rename it\n",
    )


@pytest.mark.parametrize(
    ("imports", "imports_after"),
    [
        ("from melee import App\n", f"from melee import App\n\n{IMPORT}\n"),
        # Among the app's own, in the order of their names.
        ("from lib.a import A\n", f"{IMPORT}\nfrom lib.a import A\n"),
        ("from jobs.a import A\nfrom jobs.z import Z\n", f"from jobs.a import A\n{IMPORT}\nfrom jobs.z import Z\n"),
        ("# Of ours.\nfrom lib import (\n    a,\n)\n", f"{IMPORT}\n# Of ours.\nfrom lib import (\n    a,\n)\n"),
        # It is there already.
        (f"{IMPORT}\n", f"{IMPORT}\n"),
    ],
)
def test_the_import_goes_where_it_belongs(tmp_path: Path, imports: str, imports_after: str) -> None:
    above = "" if "App" in imports else "from melee import App\n\n"
    below = "\napp = App(__name__)\n"
    assert app_after(tmp_path, above + imports + below) == f"{above}{imports_after}{below}{CALL}\n"


@pytest.mark.parametrize(
    ("made", "made_after"),
    [
        ("app = App(__name__)", f"app = App(__name__)\n{CALL}"),
        ("app: App = App(\n    __name__\n)  # a\n# x\n", f"app: App = App(\n    __name__\n)  # a\n{CALL}\n# x\n"),
        # After those that are registered already.
        (
            "app = App(__name__)\napp.jobs.register(A)\nx = 1\n",
            f"app = App(__name__)\napp.jobs.register(A)\n{CALL}\nx = 1\n",
        ),
    ],
)
def test_the_registration_goes_below_the_app(tmp_path: Path, made: str, made_after: str) -> None:
    above = "from melee import App\n"
    assert app_after(tmp_path, above + made) == f"{above}\n{IMPORT}\n{made_after}"


@pytest.mark.parametrize(
    "source",
    [
        "from melee import App\n\ndef make():\n    return App(__name__)\n\napp = make()\n",
        "from melee import App\nif True:\n    app = App(__name__)\n",
        "from melee import App\napp = App(__name__)\napp = App(__name__)\n",
        "from melee import App; app = App(__name__); x = 1\n",
        "from lib.making import app\n",
        "from flask import Flask\napp = Flask(__name__)\n",
        "from melee import App\nSendWelcome = 1\napp = App(__name__)\n",
        "from melee import App\nfrom lib.other import SendWelcome\napp = App(__name__)\n",
        "from melee import App\r\n\r\napp = App(__name__)\r\n",
        "# coding: latin-1\n# \xe9\nfrom melee import App\napp = App(__name__)\n",
        "this is no Python",
    ],
)
def test_where_it_is_not_clear_what_is_right_the_lines_are_told_and_app_py_stays(tmp_path: Path, source: str) -> None:
    (tmp_path / "app.py").write_bytes(source.encode("latin-1"))
    said = generate(tmp_path)
    assert said.exit_code == 0
    assert said.stdout.splitlines()[1:4] == [
        "app.py: add these two lines, the second below the one that makes the app",
        f"    {IMPORT}",
        f"    {CALL}",
    ]
    assert (tmp_path / "app.py").read_bytes() == source.encode("latin-1")
    assert (tmp_path / "jobs" / "send_welcome.py").is_file()
