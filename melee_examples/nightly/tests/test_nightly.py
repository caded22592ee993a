"""The whiteboard under test: real pages, a real database, and a clock that the test
moves through nights of 23, 24 and 25 hours."""

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from melee.testing import AppUnderTest, ManualClock, WorkerUnderTest

FOLDER = Path(__file__).parents[1]
PARIS = "Europe/Paris"
NEW_YORK = "America/New_York"
HELSINKI = "Europe/Helsinki"
NOON = datetime(2025, 6, 2, 12, tzinfo=ZoneInfo(PARIS))


def on_the_wall(timezone: str, moment: str) -> datetime:
    return datetime.fromisoformat(moment).replace(tzinfo=ZoneInfo(timezone))


def whiteboard_app(at: datetime, **options: Any) -> AppUnderTest:
    clock = ManualClock(at)
    return AppUnderTest(FOLDER, clock=clock, timezone=str(at.tzinfo), **options)


def whiteboard_of(app: AppUnderTest) -> Any:
    return app.classes["Whiteboard"].get("main")


@pytest.fixture
def app() -> Iterator[AppUnderTest]:
    with whiteboard_app(NOON) as app:
        yield app


def page(app: AppUnderTest) -> str:
    return " ".join(app.client.get("/").text.split())


def write(app: AppUnderTest, text: str) -> str:
    answer = app.client.post("/lines", data={"text": text}, follow_redirects=True)
    return " ".join(answer.text.split())


def test_what_is_written_is_shown_until_three_in_the_morning(app: AppUnderTest) -> None:
    assert "It is clean." in page(app)
    write(app, "  The ladder is in the cellar ")
    write(app, "Tea is out")
    assert "<li>The ladder is in the cellar</li> <li>Tea is out</li>" in page(app)
    assert "2025-06-03 at 03:00</time>" in page(app)

    app.clock.move_to(on_the_wall(PARIS, "2025-06-03 02:59:59"))
    assert app.fire_due() == []
    app.clock.move(1)
    assert app.fire_due() == ["Whiteboard/main"]
    assert "It is clean." in page(app)
    assert "<td>2025-06-03</td><td>2</td>" in page(app)
    assert "2025-06-04 at 03:00</time>" in page(app)


# Each moment is in UTC, as somebody counted it who looked at the zone's table.
# --8<-- [start:nights]
@pytest.mark.parametrize(
    ("timezone", "begin", "at", "wiped_at"),
    [
        pytest.param(
            PARIS,
            "2025-03-28 12:00",
            time(3),
            ["2025-03-29 02:00", "2025-03-30 01:00", "2025-03-31 01:00"],
            id="Paris-three-when-clocks-go-forward",
        ),
        pytest.param(
            PARIS,
            "2025-10-24 12:00",
            time(3),
            ["2025-10-25 01:00", "2025-10-26 02:00", "2025-10-27 02:00"],
            id="Paris-three-when-clocks-go-back",
        ),
        pytest.param(
            NEW_YORK,
            "2025-03-07 12:00",
            time(3),
            ["2025-03-08 08:00", "2025-03-09 07:00", "2025-03-10 07:00"],
            id="New-York-three-when-clocks-go-forward",
        ),
        pytest.param(
            NEW_YORK,
            "2025-10-31 12:00",
            time(3),
            ["2025-11-01 07:00", "2025-11-02 08:00", "2025-11-03 08:00"],
            id="New-York-three-when-clocks-go-back",
        ),
        # There is no 02:30: the clocks go from 02:00 to 03:00.
        pytest.param(
            PARIS,
            "2025-03-29 12:00",
            time(2, 30),
            ["2025-03-30 01:30", "2025-03-31 00:30"],
            id="Paris-half-past-two-is-skipped",
        ),
        pytest.param(
            NEW_YORK,
            "2025-03-08 12:00",
            time(2, 30),
            ["2025-03-09 07:30", "2025-03-10 06:30"],
            id="New-York-half-past-two-is-skipped",
        ),
        # There are two 02:30: the clocks go from 03:00 to 02:00.
        pytest.param(
            PARIS,
            "2025-10-25 12:00",
            time(2, 30),
            ["2025-10-26 00:30", "2025-10-27 01:30"],
            id="Paris-half-past-two-comes-twice",
        ),
        # In New York it is half past one that comes twice.
        pytest.param(
            NEW_YORK,
            "2025-11-01 12:00",
            time(1, 30),
            ["2025-11-02 05:30", "2025-11-03 06:30"],
            id="New-York-half-past-one-comes-twice",
        ),
        # In Helsinki three o'clock itself is skipped, and comes twice.
        pytest.param(
            HELSINKI,
            "2025-03-29 12:00",
            time(3),
            ["2025-03-30 01:00", "2025-03-31 00:00"],
            id="Helsinki-three-is-skipped",
        ),
        pytest.param(
            HELSINKI,
            "2025-10-25 12:00",
            time(3),
            ["2025-10-26 00:00", "2025-10-27 01:00"],
            id="Helsinki-three-comes-twice",
        ),
    ],
)
def test_each_night_it_is_wiped_once_at_the_time_on_the_wall(
    monkeypatch: pytest.MonkeyPatch,
    timezone: str,
    begin: str,
    at: time,
    wiped_at: list[str],
) -> None:
    with whiteboard_app(on_the_wall(timezone, begin)) as app:
        monkeypatch.setattr("lib.whiteboard.WIPED_AT", at)
        whiteboard_of(app).lines()
        for moment in wiped_at:
            due = datetime.fromisoformat(moment).replace(tzinfo=UTC)
            app.clock.move_to(due - timedelta(seconds=1))
            assert app.fire_due() == []
            app.clock.move(1)
            assert app.fire_due() == ["Whiteboard/main"]
            # --8<-- [end:nights]


def test_a_whiteboard_made_in_the_hour_that_comes_twice_waits_for_the_next_night(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    second_two_ten = datetime(2025, 10, 26, 2, 10, fold=1, tzinfo=ZoneInfo(PARIS))
    with whiteboard_app(second_two_ten) as app:
        monkeypatch.setattr("lib.whiteboard.WIPED_AT", time(2, 30))
        whiteboard_of(app).lines()
        app.clock.move_to(on_the_wall(PARIS, "2025-10-27 02:29:59"))
        assert app.fire_due() == []
        app.clock.move(1)
        assert app.fire_due() == ["Whiteboard/main"]


def test_the_page_says_what_the_clocks_show_when_a_time_is_skipped() -> None:
    with whiteboard_app(on_the_wall(HELSINKI, "2025-03-29 12:00")) as app:
        shown = '<time datetime="2025-03-30T04:00:00+03:00">2025-03-30 at 04:00</time>'
        assert shown in page(app)


def test_a_clock_that_is_set_back_wipes_no_night_twice(app: AppUnderTest) -> None:
    whiteboard_of(app).lines()
    app.clock.move_to(on_the_wall(PARIS, "2025-06-03 03:00"))
    assert app.fire_due() == ["Whiteboard/main"]

    app.clock.step_to(on_the_wall(PARIS, "2025-06-03 02:30"))
    app.clock.move_to(on_the_wall(PARIS, "2025-06-04 02:59:59"))
    assert app.fire_due() == []
    app.clock.move(1)
    assert app.fire_due() == ["Whiteboard/main"]


def test_one_made_before_three_is_wiped_the_same_night() -> None:
    with whiteboard_app(on_the_wall(PARIS, "2025-06-03 01:00")) as app:
        whiteboard_of(app).lines()
        app.clock.move(2 * 3600)
        assert app.fire_due() == ["Whiteboard/main"]


def test_nights_that_passed_while_nothing_ran_are_made_up_for_once(
    app: AppUnderTest,
) -> None:
    write(app, "Tea is out")
    app.clock.move_to(on_the_wall(PARIS, "2025-06-09 08:30"))
    app.restart()

    assert app.fire_due() == ["Whiteboard/main"]
    assert whiteboard_of(app).nights() == [{"ended_on": "2025-06-09", "lines": 1}]
    app.clock.move_to(on_the_wall(PARIS, "2025-06-10 03:00"))
    assert app.fire_due() == ["Whiteboard/main"]


def test_two_wipes_on_one_date_add_up(app: AppUnderTest) -> None:
    write(app, "Tea is out")
    # Nothing ran at three. What that night missed comes at one in the next.
    app.clock.move_to(on_the_wall(PARIS, "2025-06-04 01:00"))
    app.fire_due()
    write(app, "Tea is back")
    app.clock.move_to(on_the_wall(PARIS, "2025-06-04 03:00"))
    app.fire_due()

    assert whiteboard_of(app).nights() == [{"ended_on": "2025-06-04", "lines": 2}]


def test_the_last_seven_nights_are_shown(app: AppUnderTest) -> None:
    whiteboard_of(app).lines()
    for day in range(3, 13):
        app.clock.move_to(on_the_wall(PARIS, f"2025-06-{day:02} 03:00"))
        app.fire_due()

    shown = [night["ended_on"] for night in whiteboard_of(app).nights()]
    assert shown == [f"2025-06-{day:02}" for day in range(12, 5, -1)]


def test_a_worker_killed_while_it_wipes_wipes_again_and_counts_each_line_once(
    tmp_path: Path,
) -> None:
    three = on_the_wall(PARIS, "2025-06-03 03:00")
    with whiteboard_app(NOON, data=tmp_path) as app:
        write(app, "Tea is out")
    with WorkerUnderTest(
        FOLDER, data=tmp_path, dies_at="ran", now=three.timestamp()
    ) as worker:
        assert worker.has_died()

    with whiteboard_app(three, data=tmp_path) as app:
        assert whiteboard_of(app).lines() == ["Tea is out"]
        assert app.fire_due() == ["Whiteboard/main"]
        assert whiteboard_of(app).lines() == []
        assert whiteboard_of(app).nights() == [{"ended_on": "2025-06-03", "lines": 1}]


@pytest.mark.parametrize("text", ["", "   ", "x" * 141])
def test_a_line_that_is_empty_or_too_long_is_refused_with_a_message(
    app: AppUnderTest, text: str
) -> None:
    refused = app.client.post("/lines", data={"text": text})

    assert refused.status_code == 422
    assert (
        f"Write 1 to 140 characters; this line has {len(text.strip())}." in refused.text
    )
    assert f'value="{text.strip()}"' in refused.text
    assert 'aria-invalid="true"' in refused.text
    assert "It is clean." in refused.text


def test_a_form_that_is_too_large_to_show_again_is_not_read(app: AppUnderTest) -> None:
    refused = app.client.post("/lines", data={"text": "x" * 20_000})

    assert refused.status_code == 413
    assert "xxx" not in refused.text


def test_what_people_write_is_shown_as_text(app: AppUnderTest) -> None:
    assert "<li>&lt;script&gt;" in write(app, "<script>alert(1)</script>")
