"""What the page about cron jobs says of expressions, and of the nights in which clocks change."""

import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from melee.clock import ManualClock
from melee.errors import DefinitionError
from melee.jobs.cron import Schedule
from melee.testing import AppUnderTest
from snippets.cron.nights import NIGHTS
from snippets.cron.table import table
from tests.conftest import write_app
from tests.examples.copied import ROOT

PAGE = (ROOT / "docs" / "guide" / "cron.md").read_text(encoding="utf-8")
FIELDS = PAGE.partition("## Five fields")[2].partition("## Which eight")[0]

APP = """
from melee import App, Job

app = App(__name__)
ran = []


class Daily(Job):
    NAME = "daily"
    what: str

    def run(self, resources):
        ran.append(self.what)


app.jobs.cron("0 8 * * *", Daily(what="morning"))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_app(tmp_path / "app", APP)


@pytest.fixture
def app(folder: Path) -> Iterator[AppUnderTest]:
    with AppUnderTest(folder, clock=ManualClock(at(1, 12))) as app:
        yield app


def at(day: int, hour: int, minute: int = 0, second: int = 0) -> datetime:
    return datetime(2030, 1, day, hour, minute, second, tzinfo=UTC)


def next_after(expression: str, moment: datetime) -> datetime:
    return datetime.fromtimestamp(Schedule(expression).next_after(moment.timestamp()), UTC)


# The tables


@pytest.mark.parametrize("place", NIGHTS)
def test_a_table_of_the_nights_is_what_the_code_says_today(place: str) -> None:
    shown = (ROOT / "snippets" / "cron" / f"{place}.md").read_text(encoding="utf-8")
    assert shown == table(place), "run python -m snippets.cron.table"


def test_the_page_shows_each_table() -> None:
    shown = [f'--8<-- "snippets/cron/{place}.md"' for place in NIGHTS]
    assert [line for line in PAGE.splitlines() if line in shown] == shown


@pytest.mark.parametrize(
    ("expression", "moments"),
    [
        ("*/10 * * * *", [at(1, 12, 10), at(1, 12, 20)]),
        ("0 8 * * MON-FRI", [at(2, 8), at(3, 8), at(4, 8), at(7, 8)]),
        ("30 3 1 * *", [datetime(2030, 2, 1, 3, 30, tzinfo=UTC), datetime(2030, 3, 1, 3, 30, tzinfo=UTC)]),
        ("0 0 * * 0", [at(6, 0), at(13, 0)]),
    ],
)
def test_an_expression_of_the_page_matches_when_the_page_says(expression: str, moments: list[datetime]) -> None:
    assert f"| `{expression}` |" in FIELDS
    moment = at(1, 12)
    for wanted in moments:
        moment = next_after(expression, moment)
        assert moment == wanted


def test_the_table_of_expressions_holds_no_other() -> None:
    assert len(re.findall(r"^\| `[^`]+` \| (?:every|at) ", FIELDS, re.MULTILINE)) == 4


@pytest.mark.parametrize(
    ("expression", "moment"),
    [
        ("0 0 L * *", at(31, 0)),
        ("0 0 1 FEB *", datetime(2030, 2, 1, tzinfo=UTC)),
        ("0 0 * * MON#1", at(7, 0)),
        ("0 0 * * 7", at(6, 0)),
        ("0 0 * * SUN", at(6, 0)),
        ("0 0 13 * FRI", at(4, 0)),
        ("0 1,15 * * *", at(1, 15)),
        ("0 1-5 * * *", at(2, 1)),
    ],
)
def test_a_field_takes_what_the_page_says(expression: str, moment: datetime) -> None:
    assert next_after(expression, at(1, 12)) == moment


@pytest.mark.parametrize(
    "expression", ["at eight", "0 8 * * *  *", "0 0 30 2 *", "60 * * * *", "CRON_TZ=Mars 0 8 * * *"]
)
def test_what_is_no_expression_is_refused_when_the_app_starts(tmp_path: Path, expression: str) -> None:
    with pytest.raises(DefinitionError):
        Schedule(expression)


def test_without_a_zone_it_is_utc_and_an_offset_is_the_same_all_year() -> None:
    july = datetime(2030, 7, 1, tzinfo=UTC)
    assert next_after("0 8 * * MON", july).hour == 8
    assert next_after("CRON_TZ=Europe/Paris 0 8 * * MON", july).hour == 6
    fixed = next_after("CRON_TZ=+01:00 30 7 * * MON", july)
    assert f"{fixed:%H:%M}" == "06:30"
    assert f"{fixed.astimezone(ZoneInfo('Europe/Paris')):%H:%M}" == "08:30"


# When a job is enqueued


def test_the_first_time_is_the_next_one_after_the_expression_is_first_seen(app: AppUnderTest) -> None:
    assert app.jobs.run_pending() == 0
    app.clock.move_to(at(2, 7, 59, 59))
    assert app.jobs.run_pending() == 0
    app.clock.move_to(at(2, 8))
    assert app.jobs.run_pending() == 1


def test_several_that_were_missed_are_one_job(app: AppUnderTest) -> None:
    app.clock.move_to(at(5, 9))
    assert app.jobs.run_pending() == 1
    app.clock.move_to(at(6, 8))
    assert app.jobs.run_pending() == 1


def test_servers_that_share_a_database_enqueue_each_time_once(folder: Path, tmp_path: Path) -> None:
    ran = 0
    for day in range(2, 12):
        for _server in range(4):
            with AppUnderTest(folder, clock=ManualClock(at(day - 1, 12)), data=tmp_path) as app:
                app.clock.move_to(at(day, 8))
                ran += app.jobs.run_pending()
    assert ran == 10


def test_a_schedule_that_is_changed_begins_anew_and_the_old_row_is_left_alone(folder: Path, tmp_path: Path) -> None:
    with AppUnderTest(folder, clock=ManualClock(at(1, 12)), data=tmp_path):
        pass
    # Of another length, too: to Python, a file of the same second and length is the one it has compiled.
    (folder / "app.py").write_text(APP.replace("0 8", "0 9") + "# An hour later.\n")
    with AppUnderTest(folder, clock=ManualClock(at(1, 13)), data=tmp_path) as app:
        app.clock.move_to(at(2, 8, 30))
        assert app.jobs.run_pending() == 0
        app.clock.move_to(at(2, 9))
        assert app.jobs.run_pending() == 1
        with app.flask.app_context():
            rows = app.flask.db.query("SELECT expression FROM melee_cron ORDER BY expression")  # type: ignore[attr-defined]
    assert [row["expression"] for row in rows] == ["0 8 * * *", "0 9 * * *"]


def test_a_payload_is_stored_when_the_app_starts(app: AppUnderTest) -> None:
    for day in (2, 3):
        app.clock.move_to(at(day, 8))
        app.jobs.run_pending()
    assert sys.modules["app"].ran == ["morning", "morning"]


def test_one_class_on_one_expression_twice_is_refused_and_on_two_is_not(app: AppUnderTest) -> None:
    daily = app.jobs.classes["daily"]
    with pytest.raises(DefinitionError, match="is on this schedule already"):
        app.flask.jobs.cron("0 8 * * *", daily(what="evening"))  # type: ignore[attr-defined]
    app.flask.jobs.cron("0 20 * * *", daily(what="evening"))  # type: ignore[attr-defined]
    assert len(app.jobs.cron_jobs) == 2
