"""An app whose requests and objects do what a server must bear."""

import itertools
import os
from pathlib import Path

from tests.melee.gate import WAIT_AT

APP = (
    WAIT_AT
    + '''
import os
import time

from flask import request, url_for
from lib.counter import Counter
from melee import App
from melee.errors import ObjectError

app = App(__name__)


@app.get("/")
def version():
    return "version 1"


@app.get("/client")
def client():
    return f"{request.remote_addr} {request.scheme} {url_for('version', _external=True)}"


@app.get("/hit/<id>")
def hit(id):
    try:
        return str(Counter.get(id).hit())
    except ObjectError as error:
        return type(error).__name__, 500


@app.get("/wait")
def wait():
    wait_at(request.args["gate"])
    return "waited"


@app.get("/hang")
def hang():
    """For ever, and so does a process that it forks, which the build step would not let it."""
    getattr(os, "fork")()
    wait_at(request.args["gate"])
    return "let go"


@app.get("/sleep/<float:seconds>")
def sleep(seconds):
    time.sleep(seconds)
    return "slept"


@app.get("/ask/<id>/<method>")
def ask(id, method):
    return str(getattr(Counter.get(id), method)())


@app.get("/endless")
def endless():
    Counter.get("a").endless(request.args["gate"])


@app.get("/arm/<id>/<float:seconds>")
def arm(id, seconds):
    return str(Counter.get(id).arm(seconds))
'''
)

COUNTER = (
    WAIT_AT
    + '''
import time

from melee import Durable, now


class Counter(Durable):
    def hit(self):
        self.storage.put("count", self.count() + 1)
        return self.count()

    def count(self):
        return self.storage.get("count", 0)

    def note(self):
        self.log.info("noted", count=self.count())

    def arm(self, seconds):
        """The moment it is set to."""
        due_at = now().timestamp() + seconds
        self.storage.put("due_at", due_at)
        self.timer(at=due_at)
        return due_at

    def on_timer(self):
        self.storage.put("fired", self.fired() + 1)
        self.storage.put("late_seconds", now().timestamp() - self.storage.get("due_at"))

    def fired(self):
        return self.storage.get("fired", 0)

    def late_seconds(self):
        return self.storage.get("late_seconds")

    def endless(self, gate):
        wait_at(gate)
        while True:
            time.sleep(1)
'''
)

_later = itertools.count(1)


def write_app(folder: Path, config: str = "") -> Path:
    """Writes the app into a folder that need not exist, and returns it.

    Args:
        config: what its `melee.toml` says.
    """
    (folder / "lib").mkdir(parents=True)
    (folder / "app.py").write_text(APP)
    (folder / "lib" / "counter.py").write_text(COUNTER)
    (folder / "melee.toml").write_text(config)
    return folder


def edit(file: Path, before: str, after: str) -> None:
    """Changes a file, surely in another second or to another length: Python would run the compiled one otherwise."""
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))
    status = file.stat()
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + next(_later) * 1_000_000_000))
