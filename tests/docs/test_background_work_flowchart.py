"""The first flowchart of the page about background work is what happens when the feed's app runs."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.melee.server.served import ServerUnderTest
from tests.melee.upstream import answering, upstream

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guide" / "background-work.md").read_text(encoding="utf-8")
FEED = {"title": "News", "items": [{"url": "https://example.org/1", "title": "It rains"}]}


def drawn() -> set[tuple[str, str, str]]:
    """The arrows: from, label, to."""
    flowchart = PAGE.partition("```mermaid\n")[2].partition("```")[0]
    return set(re.findall(r'^ *(\w+)\b.* -- "(.+)" --> (\w+)', flowchart, re.MULTILINE))


def melee_objects(app: Path, *arguments: str) -> str:
    """What `melee objects` says, while the app runs."""
    command = [sys.executable, "-m", "melee", "objects", "--app", str(app), *arguments]
    return subprocess.check_output(command, text=True)


@pytest.mark.slow
def test_each_arrow_is_seen_when_the_app_runs(tmp_path: Path) -> None:
    app = shutil.copytree(ROOT / "melee_examples" / "feed", tmp_path / "feed", ignore=shutil.ignore_patterns("data"))
    seen = set()
    served = ServerUnderTest(app)
    with upstream(answering(json.dumps(FEED).encode())) as feed:
        served.environment["FEED_URL"] = feed.url
        with served:
            assert "Refresher" not in melee_objects(app)
            assert "It rains" not in served.ask().body
            assert re.search(r"^Refresher +main ", melee_objects(app), re.MULTILINE)
            seen.add(("child", "writes down", "storage"))
            served.wait_for("timer Refresher/main -> on_timer")
            seen.add(("timer", "wakes", "work"))
            # A call waits for the on_timer that runs.
            assert "It rains" in served.ask().body
            assert re.search(r"\bfeed\b", melee_objects(app, "show", "Refresher", "main"))
            seen.add(("work", "reads and writes", "storage"))
            # Every ten minutes.
            assert re.search(r"^Refresher +main .*\(in (9|10) min\)", melee_objects(app), re.MULTILINE)
            seen.add(("work", "sets again", "timer"))
    assert drawn() == seen
