"""An example in the hands of a reader: its folder copied elsewhere, tested there, and run with `melee dev`."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(file.parent for file in (ROOT / "melee_examples").glob("*/app.py"))
MADE_AT_RUN_TIME = shutil.ignore_patterns("data", ".melee", "__pycache__", ".pytest_cache")


def copy_of(example: Path, folder: Path) -> Path:
    """Copies an example to a path with a space in it."""
    return shutil.copytree(example, folder / "somewhere else" / example.name, ignore=MADE_AT_RUN_TIME)


def run_its_tests(
    folder: Path, *selected: str, python: str | Path = sys.executable
) -> subprocess.CompletedProcess[str]:
    command = [python, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", *selected]
    # A reader has none of the plugins that these tests here need.
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False, env=environment
    )


@contextmanager
def melee_dev(folder: Path, **environment: str) -> Iterator[str]:
    """Runs `melee dev` in a folder, on a free port; stops it as Ctrl-C does."""
    command = [sys.executable, "-m", "melee", "dev", "--port", "0"]
    given = os.environ | {"PYTHONUNBUFFERED": "1"} | environment
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=given) as process:
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
