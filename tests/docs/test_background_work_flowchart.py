"""The first flowchart of the page about background work is what happens when the feed's app is served."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.melee.server.served import ServerUnderTest
from tests.melee.server.served_app import edit
from tests.melee.upstream import answering, upstream

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guide" / "background-work.md").read_text(encoding="utf-8")
FEED = {"title": "News", "items": [{"url": "https://example.org/1", "title": "It rains"}]}
Arrow = tuple[str, str, str]

EVENTS = {
    "there is no object": [],
    "a request is answered, and there is an object without a feed": [("child", "writes down", "storage")],
    "the app wakes for the timer, which fires": [("timer", "wakes", "work")],
    "the object has a feed": [("work", "writes", "storage")],
    "it has another timer": [("work", "sets again", "timer")],
}
"""What happens, in this order, and which arrows say so."""


def drawn() -> list[Arrow]:
    """From, label, to."""
    flowchart = PAGE.partition("```mermaid\n")[2].partition("```")[0]
    arrows = [line for line in flowchart.splitlines() if "--" in line or "-." in line or "==" in line]
    matches = [re.match(r'^ *(\w+)\b.* -- "(.+)" --> (\w+)', arrow) for arrow in arrows]
    assert all(matches), f"an arrow without a label says nothing: {arrows}"
    return [(match[1], match[2], match[3]) for match in matches if match]


class Trace:
    """What is seen of a run of the feed's app, from its log and its files.

    Attributes:
        events: those of `EVENTS` that were seen, in order.
    """

    def __init__(self, app: Path) -> None:
        self._app = app
        self.events: list[str] = []

    def follow(self, served: ServerUnderTest) -> None:
        if "Refresher" not in self._objects():
            self.events.append("there is no object")
        if served.ask().status == 200 and re.search(r"^Refresher +main ", self._objects(), re.MULTILINE):
            assert not self._feed(), "it was read before the timer could fire"
            self.events.append("a request is answered, and there is an object without a feed")
        served.wait_for("feed sleeps; next timer or job: 20")
        served.wait_for("feed wakes: a timer or job is due")
        served.wait_for("timer Refresher/main -> on_timer")
        self.events.append("the app wakes for the timer, which fires")
        # It sleeps when on_timer has ended.
        next_timer = served.wait_for("feed sleeps; next timer or job: ")
        if self._feed() == [FEED["title"]]:
            self.events.append("the object has a feed")
        if "next timer or job: 20" in next_timer:
            self.events.append("it has another timer")

    def _feed(self) -> list[str]:
        kept = self._objects("show", "Refresher", "main")
        return re.findall(r'^feed .*"title": ?"(News)"', kept, re.MULTILINE)

    def _objects(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "melee", "objects", "--app", str(self._app), *arguments]
        return subprocess.check_output(command, text=True)


@pytest.mark.slow
def test_each_arrow_is_seen_when_the_app_is_served(tmp_path: Path) -> None:
    app = shutil.copytree(ROOT / "melee_examples" / "feed", tmp_path / "feed", ignore=shutil.ignore_patterns("data"))
    (app / "melee.toml").write_text("[server]\nsleep_after_seconds = 1\n")
    # Far enough away to sleep before, so that nothing but the timer can wake it.
    edit(app / "lib" / "refresher.py", "after=0", "after=8")
    served = ServerUnderTest(app)
    trace = Trace(app)
    with upstream(answering(json.dumps(FEED).encode())) as feed:
        served.environment["FEED_URL"] = feed.url
        with served:
            trace.follow(served)
    assert trace.events == list(EVENTS)
    assert sorted(drawn()) == sorted(arrow for event in trace.events for arrow in EVENTS[event])
