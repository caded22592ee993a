"""An app with jobs and objects in this process, the console in front of it, and a client."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from melee.testing import AppUnderTest
from tests.conftest import write_app
from tests.melee.console.visitor import Visitor

APP = """
from flask import Flask
from melee import App, Durable, Job

app = App(__name__)

class Stats(Durable):
    def hit(self):
        self.log.info("hit")

    def wake(self, seconds):
        self.timer(after=seconds)

    def on_timer(self):
        raise RuntimeError("the dog ate <b>it</b>")

@app.jobs.register
class SendWelcome(Job):
    NAME = "send_welcome"
    user_id: int = 0
    key: str | None = None

    def unique_key(self):
        return self.key

    def run(self, resources): ...

class WriteReport(Job):
    NAME = "write_report"
    about: str

    def run(self, resources): ...

app.jobs.cron("CRON_TZ=America/New_York 30 8 * * MON-FRI", WriteReport(about="daily"))
app.jobs.cron("0 12 * * *", WriteReport(about="noon"))

@app.get("/")
def index():
    return "the app"

@app.before_request
def refuse():
    from flask import request
    if request.path != "/":
        return "refused by the app", 418

@app.after_request
def mark(response):
    response.headers["Content-Security-Policy"] = "default-src *"
    return response

@app.errorhandler(404)
def missing(error):
    return "the app's own 404", 404

app.jinja_env.autoescape = False
app.jinja_env.globals["range"] = None
"""


@pytest.fixture
def under(tmp_path: Path) -> Iterator[AppUnderTest]:
    folder = write_app(tmp_path / "small", APP)
    with AppUnderTest(folder, timezone="Europe/Paris") as under:
        yield under


@pytest.fixture
def visitor(under: AppUnderTest) -> Visitor:
    return Visitor(under.flask)
