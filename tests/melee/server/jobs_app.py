"""An app whose requests enqueue jobs, which write down what became of them."""

from pathlib import Path

from tests.melee.gate import WAIT_AT

APP = (
    WAIT_AT
    + '''
import os

from flask import request
from lib.counter import Counter
from melee import App, Job

VERSION = 1
app = App(__name__)


@app.jobs.register
class Note(Job):
    """Writes a line into a file, and calls an object."""

    NAME = "note"
    words: str

    def run(self, resources):
        Counter.get("jobs").hit()
        note(self.words)


@app.jobs.register
class Wait(Job):
    NAME = "wait"
    gate: str

    def run(self, resources):
        wait_at(self.gate)
        Counter.get("jobs").hit()
        note("waited")


@app.jobs.register
class Fail(Job):
    NAME = "fail"
    QUEUE = "failing"
    MAX_ATTEMPTS = 1

    def run(self, resources):
        raise ValueError("no route")


def note(words):
    with open(os.path.join(app.root_path, "noted"), "a") as file:
        file.write(f"{words} {VERSION}\\n")


@app.get("/")
def index():
    return f"version {VERSION}"


@app.get("/count")
def count():
    return str(Counter.get("jobs").count())


@app.get("/note/<words>")
def enqueue(words):
    seconds = request.args.get("in", 0, float)
    return str(app.jobs.enqueue_in(Note(words=words), seconds))


@app.get("/wait")
def wait():
    return str(app.jobs.enqueue(Wait(gate=request.args["gate"])))


@app.get("/fail")
def fail():
    return str(app.jobs.enqueue(Fail()))


@app.get("/stats")
def stats():
    found = app.jobs.stats()
    return f"{found.queued} {found.running} {found.failed}"


@app.get("/undone")
def undone():
    try:
        with app.db.transaction():
            app.jobs.enqueue(Note(words="undone"))
            raise ValueError
    except ValueError:
        return "undone"
'''
)

COUNTER = """
from melee import Durable


class Counter(Durable):
    def hit(self):
        self.storage.put("count", self.count() + 1)
        return self.count()

    def count(self):
        return self.storage.get("count", 0)
"""


def write_jobs_app(folder: Path, config: str = "", more: str = "") -> Path:
    """Writes the app into a folder that need not exist, and returns it.

    Args:
        config: what its `melee.toml` says.
        more: what its `app.py` ends with.
    """
    (folder / "lib").mkdir(parents=True)
    (folder / "app.py").write_text(APP + more)
    (folder / "lib" / "counter.py").write_text(COUNTER)
    (folder / "melee.toml").write_text(config)
    return folder


def noted(folder: Path) -> list[str]:
    """What jobs have written down, with the version of the app that ran them."""
    file = folder / "noted"
    return file.read_text().splitlines() if file.exists() else []
