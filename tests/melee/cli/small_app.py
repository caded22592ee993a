"""An app of a few lines, written into a test's folder, and `melee dev` serving it in a process of its own."""

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import IO, Self

APP = """
from flask import abort
from lib.stats import Stats
from melee import App

app = App(__name__)

@app.get("/")
def index():
    return f"{Stats.get('visits').hit()} visits"

@app.get("/timer/<float:seconds>/<what>")
def timer(seconds, what):
    Stats.get("visits").wake(seconds, what)
    return "set"
"""

STATS = """
from melee import Durable

class Stats(Durable):
    def hit(self):
        self.storage.run("UPDATE hits SET n = n + 1")
        return self.storage.first("SELECT n FROM hits")["n"]

    def wake(self, seconds, what):
        self.storage.put("what", what)
        self.timer(after=seconds)

    def on_timer(self):
        if self.storage.get("what") == "raise":
            raise RuntimeError("the dog ate it")
"""

SCHEMA = "CREATE TABLE hits (n INTEGER NOT NULL);\nINSERT INTO hits VALUES (0);\n"

PATIENCE_SECONDS = 60


def write_app(folder: Path) -> Path:
    """Writes the small app into a folder that need not exist, and returns it."""
    (folder / "lib").mkdir(parents=True)
    (folder / "db" / "objects" / "stats").mkdir(parents=True)
    (folder / "app.py").write_text(APP)
    (folder / "lib" / "stats.py").write_text(STATS)
    (folder / "db" / "objects" / "stats" / "001_hits.sql").write_text(SCHEMA)
    return folder


def melee(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end; its warnings are errors."""
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=PATIENCE_SECONDS, env=environment()
    )


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "melee", *map(str, arguments)]


def environment() -> dict[str, str]:
    """As a user has it: one that keeps Python from writing compiled files would hide what becomes of them."""
    users = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return users | {"PYTHONWARNINGS": "error", "PYTHONUNBUFFERED": "1"}


class DevServer:
    """`melee dev` on a free port, read line by line; killed at the end of `with`, should it still run.

    Attributes:
        printed: every line so far, standard error among it.
        url: where it serves; known from its first line.
        environment: of the process.
    """

    subcommand = "dev"
    said = r"http://\S+/"
    """What its first line has to say."""

    def __init__(self, app: Path | str, *options: str) -> None:
        self._command = command(self.subcommand, app, "--port", "0", *options)
        self.environment = environment()
        self._lines: queue.Queue[str | None] = queue.Queue()
        self.printed: list[str] = []
        self.url = ""
        self.process: subprocess.Popen[str]

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            self._command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment,
            # A terminal's Ctrl-C goes to the whole group.
            start_new_session=True,
        )
        assert self.process.stdout
        self._reader = threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True)
        self._reader.start()
        try:
            found = re.search(self.said, self.wait_for("Ctrl-C stops it"))
            assert found
            self.url = found[0]
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join(PATIENCE_SECONDS)
        assert self.process.stdout
        self.process.stdout.close()

    def wait_for(self, text: str) -> str:
        """The next line that contains the text."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                problem = f"it did not print {text!r} within {PATIENCE_SECONDS} s, but:\n"
                raise AssertionError(problem + "".join(self.printed)) from None
            if line is None:
                raise AssertionError(f"it ended without printing {text!r}, but:\n" + "".join(self.printed))
            if text in line:
                return line

    def get(self, path: str = "") -> tuple[int, str]:
        """Status and body of a page."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=PATIENCE_SECONDS) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def get_until(self, text: str) -> str:
        """Loads the first page again and again until it contains the text."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while text not in (body := self._body()):
            assert time.monotonic() < deadline, f"{text!r} never came, the last was {body!r}"
        return body

    def stop(self, number: int = signal.SIGINT) -> int:
        """Sends a signal and returns the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(timeout=PATIENCE_SECONDS)
        self._reader.join(PATIENCE_SECONDS)
        return code

    def _body(self) -> str:
        try:
            return self.get()[1]
        except (ConnectionError, urllib.error.URLError) as error:
            # A request that was under way when the process replaced itself.
            return str(error)

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self.printed.append(line)
            self._lines.put(line)
        self._lines.put(None)
