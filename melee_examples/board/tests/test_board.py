"""The board under test: real pages, real databases, and a clock that the test moves."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from melee.testing import AppUnderTest, ManualClock

BOARD = Path(__file__).parents[1]
UTC = ZoneInfo("UTC")
PARIS = ZoneInfo("Europe/Paris")
BEIRUT = ZoneInfo("Asia/Beirut")


# --8<-- [start:kit]
def board(at: datetime) -> AppUnderTest:
    return AppUnderTest(BOARD, clock=ManualClock(at), timezone=str(at.tzinfo))


def visits_of(app: AppUnderTest) -> Any:
    return app.classes["Stats"].get("visits")
    # --8<-- [end:kit]


@pytest.fixture
def app() -> Iterator[AppUnderTest]:
    with board(datetime(2025, 1, 1, 12, 0, tzinfo=UTC)) as app:
        yield app


@pytest.fixture
def visits(app: AppUnderTest) -> Any:
    return visits_of(app)


def test_each_look_at_the_board_counts(app: AppUnderTest) -> None:
    assert "0 open, 1 views today." in app.client.get("/").text
    assert "0 open, 2 views today." in app.client.get("/").text


def test_a_day_without_a_look_has_no_views(visits: Any) -> None:
    assert visits.today() == 0


def test_looking_at_the_admin_page_does_not_count(
    app: AppUnderTest, visits: Any
) -> None:
    app.client.get("/admin")

    assert visits.today() == 0


def test_the_count_survives_a_restart(app: AppUnderTest, visits: Any) -> None:
    visits.hit()
    app.restart()
    visits.hit()

    assert visits.today() == 2


def test_the_count_survives_that_the_object_is_unloaded(
    app: AppUnderTest, visits: Any
) -> None:
    visits.hit()
    assert app.evict("Stats", "visits")
    visits.hit()

    assert visits.today() == 2


def test_the_count_begins_anew_at_midnight(app: AppUnderTest, visits: Any) -> None:
    visits.hit()

    app.clock.move_to(datetime(2025, 1, 2, tzinfo=UTC))
    assert visits.today() == 0

    visits.hit()
    assert visits.today() == 1


def test_the_timer_fires_at_each_midnight(app: AppUnderTest, visits: Any) -> None:
    visits.hit()
    for day in (2, 3, 4):
        midnight = datetime(2025, 1, day, tzinfo=UTC)
        app.clock.move_to(midnight.timestamp() - 1)
        assert app.fire_due() == []
        app.clock.move_to(midnight)
        assert app.fire_due() == ["Stats/visits"]


def test_midnights_that_passed_while_nothing_ran_are_made_up_for_once(
    app: AppUnderTest, visits: Any
) -> None:
    visits.hit()
    app.clock.move_to(datetime(2025, 1, 9, 8, 30, tzinfo=UTC))
    app.restart()

    assert app.fire_due() == ["Stats/visits"]
    app.clock.move_to(datetime(2025, 1, 10, tzinfo=UTC))
    assert app.fire_due() == ["Stats/visits"]


# --8<-- [start:midnight]
def test_midnight_is_that_of_the_apps_time_zone() -> None:
    with board(datetime(2025, 1, 1, 23, 59, 59, tzinfo=PARIS)) as app:
        visits_of(app).hit()
        app.clock.move(1)

        assert app.fire_due() == ["Stats/visits"]
        assert visits_of(app).today() == 0
        # --8<-- [end:midnight]


@pytest.mark.parametrize(
    ("day_begins", "midnight", "hours"),
    [
        pytest.param(
            datetime(2025, 3, 30, tzinfo=PARIS),
            1_743_372_000,
            23,
            id="clocks-go-forward-in-Paris",
        ),
        pytest.param(
            datetime(2025, 10, 26, tzinfo=PARIS),
            1_761_519_600,
            25,
            id="clocks-go-back-in-Paris",
        ),
        # The clocks of Beirut went from 24:00 to 01:00: that day has no 00:00.
        pytest.param(
            datetime(2025, 3, 29, tzinfo=BEIRUT),
            1_743_285_600,
            24,
            id="the-next-day-has-no-midnight",
        ),
        pytest.param(
            datetime(2025, 3, 30, 1, tzinfo=BEIRUT),
            1_743_368_400,
            23,
            id="this-day-had-no-midnight",
        ),
    ],
)
def test_a_day_lasts_until_the_next_local_midnight(
    day_begins: datetime, midnight: int, hours: int
) -> None:
    assert midnight - day_begins.timestamp() == hours * 3600
    with board(day_begins) as app:
        visits_of(app).hit()

        app.clock.move_to(midnight - 1)
        assert app.fire_due() == []
        assert visits_of(app).today() == 1

        app.clock.move_to(midnight)
        assert app.fire_due() == ["Stats/visits"]
        assert visits_of(app).today() == 0


def test_a_day_is_kept_for_the_30_days_after_it(app: AppUnderTest, visits: Any) -> None:
    first_of_january = datetime(2025, 1, 1, 12, 0, tzinfo=UTC)
    visits.hit()

    app.clock.move_to(datetime(2025, 1, 31, tzinfo=UTC))
    app.fire_due()
    # To see what is left of a day, the test sets the clock back to it.
    app.clock.step_to(first_of_january)
    assert visits.today() == 1

    app.clock.step_to(datetime(2025, 2, 1, tzinfo=UTC))
    app.fire_due()
    app.clock.step_to(first_of_january)
    assert visits.today() == 0


def test_a_note_is_shown_until_it_is_closed(app: AppUnderTest) -> None:
    added = app.client.post(
        "/notes", data={"text": "  Water the plants "}, follow_redirects=True
    )
    assert added.request.path == "/"
    assert "<p>Water the plants</p>" in added.text
    assert "1 open, 1 views today." in added.text

    closed = app.client.post("/notes/1/close", follow_redirects=True)
    assert "Water the plants" not in closed.text
    assert "Nothing is open." in closed.text


def test_the_newest_note_stands_first(app: AppUnderTest) -> None:
    app.client.post("/notes", data={"text": "older"})
    app.client.post("/notes", data={"text": "newer"})

    page = app.client.get("/").text
    assert page.index("newer") < page.index("older")


def test_reloading_after_adding_does_not_add_again(app: AppUnderTest) -> None:
    added = app.client.post("/notes", data={"text": "once"})

    assert (added.status_code, added.location) == (303, "/")


def test_what_people_write_is_shown_as_text(app: AppUnderTest) -> None:
    app.client.post("/notes", data={"text": '"><script>alert(1)</script>'})

    for path in ("/", "/admin"):
        page = app.client.get(path).text
        assert "<script>" not in page
        assert "<p>&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;</p>" in page
        assert '"Close: &#34;&gt;' in page or '"Delete: &#34;&gt;' in page


@pytest.mark.parametrize("text", ["", "   ", "x" * 281])
def test_a_note_that_is_empty_or_too_long_is_refused_with_a_message(
    app: AppUnderTest, text: str
) -> None:
    refused = app.client.post("/notes", data={"text": text})

    assert refused.status_code == 422
    assert (
        f"Write 1 to 280 characters; this note has {len(text.strip())}." in refused.text
    )
    assert f'value="{text.strip()}"' in refused.text
    assert 'aria-invalid="true"' in refused.text
    assert "Nothing is open." in refused.text


def test_a_form_that_is_too_large_to_show_again_is_not_read(app: AppUnderTest) -> None:
    refused = app.client.post("/notes", data={"text": "x" * 20_000})

    assert refused.status_code == 413
    assert "xxx" not in refused.text


def test_a_note_may_have_280_characters(app: AppUnderTest) -> None:
    app.client.post("/notes", data={"text": "é" * 280})

    assert "é" * 280 in app.client.get("/").text


def test_a_form_of_another_site_is_refused(app: AppUnderTest) -> None:
    for origin in ("https://elsewhere.example", "null", "http://[", ""):
        refused = app.client.post(
            "/notes", data={"text": "spam"}, headers={"Origin": origin}
        )
        assert refused.status_code == 403

    app.client.post(
        "/notes", data={"text": "mine"}, headers={"Origin": "http://localhost"}
    )
    page = app.client.get("/").text
    assert "mine" in page
    assert "spam" not in page


def test_the_admin_page_shows_closed_notes_too(app: AppUnderTest) -> None:
    assert "Nobody has written a note yet." in app.client.get("/admin").text
    app.client.post("/notes", data={"text": "still open"})
    app.client.post("/notes", data={"text": "done"})
    app.client.post("/notes/2/close")

    page = app.client.get("/admin").text
    assert "still open" in page
    assert "done" in page
    assert 'closed <time datetime="2025-01-01T12:00+00:00">2025-01-01</time>' in page


def test_a_closed_note_can_be_reopened(app: AppUnderTest) -> None:
    app.client.post("/notes", data={"text": "not done yet"})
    app.client.post("/notes/1/close")

    reopened = app.client.post("/admin/notes/1/reopen", follow_redirects=True)
    assert reopened.request.path == "/admin"
    assert 'class="closed"' not in reopened.text
    assert "not done yet" in app.client.get("/").text


def test_a_deleted_note_is_gone(app: AppUnderTest) -> None:
    app.client.post("/notes", data={"text": "a mistake"})

    deleted = app.client.post("/admin/notes/1/delete", follow_redirects=True)
    assert deleted.request.path == "/admin"
    assert "a mistake" not in deleted.text


def test_a_second_click_on_close_or_delete_changes_nothing(app: AppUnderTest) -> None:
    app.client.post("/notes", data={"text": "one"})
    app.client.post("/notes/1/close")
    app.clock.move(600)
    app.client.post("/notes/1/close")
    assert (
        '2025-01-01T12:00+00:00">2025-01-01</time></span>'
        in app.client.get("/admin").text
    )

    app.client.post("/admin/notes/1/delete")
    assert app.client.post("/admin/notes/1/delete").status_code == 303
