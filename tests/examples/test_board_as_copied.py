"""The board in the hands of a reader: its folder copied elsewhere, tested there, and run with `melee dev`."""

import os
import re
import shutil
import signal
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

ROOT = Path(__file__).parents[2]
BOARD = ROOT / "melee_examples" / "board"
MADE_AT_RUN_TIME = shutil.ignore_patterns("data", ".melee", "__pycache__", ".pytest_cache")


@dataclass(frozen=True)
class Fault:
    """A mistake in a file of the board, and the test of the board that must fail because of it."""

    file: str
    right: str
    wrong: str
    caught_by: str


FAULTS = {
    "a day has 86400 seconds": Fault(
        "lib/stats.py",
        "return datetime.combine(tomorrow, time(0), tzinfo=here.tzinfo)",
        "today = datetime.combine(here, time(0), tzinfo=here.tzinfo)\n"
        "    return datetime.fromtimestamp(today.timestamp() + 86_400, here.tzinfo)",
        "test_a_day_lasts_until_the_next_local_midnight[clocks-go-forward-in-Paris]",
    ),
    "a day goes too early": Fault(
        "lib/stats.py", "KEPT_DAYS = 30", "KEPT_DAYS = 29", "test_a_day_is_kept_for_the_30_days_after_it"
    ),
    "a day goes too late": Fault(
        "lib/stats.py", "KEPT_DAYS = 30", "KEPT_DAYS = 31", "test_a_day_is_kept_for_the_30_days_after_it"
    ),
    "the timer is not set again": Fault(
        "lib/stats.py",
        "oldest.isoformat())\n        self.timer(at=next_midnight())",
        "oldest.isoformat())",
        "test_the_timer_fires_at_each_midnight",
    ),
    "the date is that of UTC": Fault(
        "lib/stats.py",
        "now().date().isoformat()",
        "(now() - now().utcoffset()).date().isoformat()",
        "test_midnight_is_that_of_the_apps_time_zone",
    ),
    "what people write is HTML": Fault(
        "templates/note.html",
        "<p>{{ note.text }}",
        "<p>{{ note.text|safe }}",
        "test_what_people_write_is_shown_as_text",
    ),
    "forms of other sites pass": Fault(
        "app.py", "origin.netloc != request.host", "not origin", "test_a_form_of_another_site_is_refused"
    ),
    "a note may be empty": Fault(
        "app.py",
        "not 1 <= len(text)",
        "not 0 <= len(text)",
        "test_a_note_that_is_empty_or_too_long_is_refused_with_a_message",
    ),
}


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return shutil.copytree(BOARD, tmp_path / "somewhere else" / "board", ignore=MADE_AT_RUN_TIME)


def run_its_tests(
    folder: Path, *selected: str, python: str | Path = sys.executable
) -> subprocess.CompletedProcess[str]:
    command = [python, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", *selected]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
def test_its_own_tests_pass_where_it_was_copied(copied: Path) -> None:
    run = run_its_tests(copied)

    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"\d\d passed", run.stdout)
    assert not (copied / "data").exists()


@pytest.mark.slow
def test_what_its_readme_installs_is_all_that_it_needs(copied: Path, tmp_path: Path) -> None:
    named = re.findall(r"^pip install (\S+)$", (copied / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert named == ["melee-runtime", "pytest"]
    venv.create(tmp_path / "new", with_pip=True)
    python = tmp_path / "new" / "bin" / "python"
    # The package as it is in this repository, not as it was when it was last published.
    packages = [ROOT if name == "melee-runtime" else name for name in named]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True, timeout=300)

    run = run_its_tests(copied, python=python)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_its_own_tests_catch_a_fault(copied: Path, fault: Fault) -> None:
    source = (copied / fault.file).read_text(encoding="utf-8")
    assert fault.right in source
    (copied / fault.file).write_text(source.replace(fault.right, fault.wrong), encoding="utf-8")

    run = run_its_tests(copied, f"tests/test_board.py::{fault.caught_by}")
    assert run.returncode == pytest.ExitCode.TESTS_FAILED, run.stdout + run.stderr
    assert f"FAILED tests/test_board.py::{fault.caught_by}" in run.stdout
    assert re.search(r"^E +(AssertionError: )?assert ", run.stdout, re.MULTILINE), run.stdout


def test_the_count_goes_on_when_melee_dev_starts_again(copied: Path) -> None:
    with melee_dev(copied) as url:
        for views in range(1, 6):
            assert f"0 open, {views} views today." in page(url)

    with melee_dev(copied) as url:
        assert "0 open, 6 views today." in page(url)


def test_a_note_survives_that_melee_dev_starts_again(copied: Path) -> None:
    with melee_dev(copied) as url:
        form = urlencode({"text": "Water the plants"}).encode()
        assert "Water the plants" in page(Request(f"{url}notes", form, {"Origin": url.rstrip("/")}))

    with melee_dev(copied) as url:
        assert "Water the plants" in page(f"{url}admin")


def test_the_files_that_its_pages_name_are_served(copied: Path) -> None:
    with melee_dev(copied) as url:
        files = re.findall(r'href="/(static/[^"]+)"', page(url))

        assert sorted(files) == ["static/board.css", "static/board.svg"]
        for file in files:
            assert page(url + file) == (copied / file).read_text(encoding="utf-8")


@contextmanager
def melee_dev(folder: Path) -> Iterator[str]:
    """Runs `melee dev` in a folder, on a free port; stops it as Ctrl-C does."""
    command = [sys.executable, "-m", "melee", "dev", "--port", "0"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout
            address = re.search(r"http://\S+", process.stdout.readline())
            assert address, "melee dev ended before it listened"
            yield address[0]
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)
    assert process.returncode == 0


def page(address: str | Request) -> str:
    with urlopen(address, timeout=30) as response:
        text: str = response.read().decode()
        return text
