"""The feed under test: real pages, a real server to read from, and a clock that the
test moves."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from melee.testing import AppUnderTest, ManualClock, WorkerUnderTest
from structlog.testing import capture_logs

from .upstream import HARBOUR, ISLAND, Upstream, upstream

FOLDER = Path(__file__).parents[1]
TEN_MINUTES = 600


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    with upstream() as server:
        server.sends(HARBOUR)
        monkeypatch.setenv("FEED_URL", server.url)
        yield server


@pytest.fixture
def app(server: Upstream) -> Iterator[AppUnderTest]:
    with AppUnderTest(FOLDER) as app:
        yield app


def page(app: AppUnderTest) -> str:
    return " ".join(app.client.get("/").text.split())


def a_visitor_came(app: AppUnderTest) -> None:
    """The first call makes the object, and its first timer is due at once."""
    app.client.get("/")
    assert app.fire_due() == ["Refresher/main"]


def ten_minutes_pass(app: AppUnderTest) -> None:
    app.clock.move(TEN_MINUTES)
    assert app.fire_due() == ["Refresher/main"]


def test_the_first_visitor_is_told_that_nothing_has_been_read(
    app: AppUnderTest, server: Upstream
) -> None:
    assert "Nothing has been read yet." in page(app)
    assert server.asked == 0


def test_what_was_read_is_shown_with_its_age(app: AppUnderTest) -> None:
    a_visitor_came(app)

    assert "<h1>Notes from the harbour</h1>" in page(app)
    assert '<a href="https://harbour.example/1">The ferry sails again</a>' in page(app)
    assert "Read less than a minute ago." in page(app)


@pytest.mark.parametrize(
    ("age", "words"),
    [
        (timedelta(seconds=59), "Read less than a minute ago.<"),
        (timedelta(minutes=1), "Read 1 min ago.<"),
        (timedelta(minutes=20), "Read 20 min ago.<"),
        (
            timedelta(minutes=119),
            "Read 119 min ago. Since then it could not be read.",
        ),
        (timedelta(hours=50), "Read 50 hours ago. Since then it could not be read."),
    ],
)
def test_the_age_is_told_in_words(
    app: AppUnderTest, age: timedelta, words: str
) -> None:
    a_visitor_came(app)
    app.clock.move(age.total_seconds())

    assert words in page(app)


def test_no_visit_asks_the_other_server(app: AppUnderTest, server: Upstream) -> None:
    a_visitor_came(app)
    server.hangs = True
    for _ in range(20):
        assert "The ferry sails again" in page(app)

    assert server.asked == 1


def test_it_is_read_again_every_ten_minutes(
    app: AppUnderTest, server: Upstream
) -> None:
    a_visitor_came(app)
    server.sends(ISLAND)
    app.clock.move(TEN_MINUTES - 1)
    assert app.fire_due() == []
    assert "harbour" in page(app)

    app.clock.move(1)
    assert app.fire_due() == ["Refresher/main"]
    assert "Two seals on the pier" in page(app)
    assert "harbour" not in page(app)
    assert "Read less than a minute ago." in page(app)


def test_ten_minutes_that_passed_many_times_are_made_up_for_once(
    app: AppUnderTest, server: Upstream
) -> None:
    a_visitor_came(app)
    app.clock.move(100 * TEN_MINUTES)
    app.restart()

    assert app.fire_due() == ["Refresher/main"]
    assert server.asked == 2


def fails(server: Upstream) -> None:
    server.status = 500


def moves_away(server: Upstream) -> None:
    server.status = 404


def hangs(server: Upstream) -> None:
    server.hangs = True


def sends_a_page(server: Upstream) -> None:
    server.body = b"<html>Back soon!</html>"


def sends_nothing(server: Upstream) -> None:
    server.body = b""


def sends_half_a_character(server: Upstream) -> None:
    server.body = rb'{"title": "\ud800", "items": []}'


def sends_another_shape(server: Upstream) -> None:
    server.sends([HARBOUR])


def sends_no_items(server: Upstream) -> None:
    server.sends({"title": "Harbour"})


def sends_items_without_a_title(server: Upstream) -> None:
    server.sends({"title": "Harbour", "items": [{"url": "https://harbour.example"}]})


def sends_a_number_for_a_title(server: Upstream) -> None:
    server.sends({"title": 7, "items": []})


def sends_a_script_for_a_link(server: Upstream) -> None:
    item = {"url": "javascript:alert(1)", "title": "Click me"}
    server.sends({"title": "Harbour", "items": [item]})


def sends_a_title_that_is_empty(server: Upstream) -> None:
    server.sends({"title": "", "items": []})


def sends_a_title_without_an_end(server: Upstream) -> None:
    server.sends({"title": "x" * 20_000_000, "items": []})


def sends_more_than_fits(server: Upstream) -> None:
    server.sends({"title": "Harbour", "items": [], "more": "x" * 34_000_000})


def breaks_off(server: Upstream) -> None:
    server.breaks_off = True


# --8<-- [start:bad]
@pytest.mark.parametrize(
    "goes_bad",
    [
        fails,
        moves_away,
        hangs,
        sends_a_page,
        sends_nothing,
        sends_half_a_character,
        sends_another_shape,
        sends_no_items,
        sends_items_without_a_title,
        sends_a_number_for_a_title,
        sends_a_script_for_a_link,
        sends_a_title_that_is_empty,
        sends_a_title_without_an_end,
        sends_more_than_fits,
        breaks_off,
    ],
)
def test_what_was_read_last_stays_until_the_server_is_good_again(
    app: AppUnderTest, server: Upstream, monkeypatch: pytest.MonkeyPatch, goes_bad: Any
) -> None:
    a_visitor_came(app)
    goes_bad(server)
    for _ in range(3):
        with capture_logs() as lines, monkeypatch.context() as hurry:
            hurry.setattr("lib.refresher.TIMEOUT_SECONDS", 0.5)
            ten_minutes_pass(app)
        words = [line["event"] for line in lines if line["log_level"] == "warning"]
        assert words == ["the feed was not refreshed"]
    assert "The ferry sails again" in page(app)
    assert "Read 30 min ago. Since then it could not be read." in page(app)

    server.status, server.hangs, server.breaks_off = 200, False, False
    server.sends(ISLAND)
    ten_minutes_pass(app)
    assert "Two seals on the pier" in page(app)
    # --8<-- [end:bad]


def test_a_clock_that_is_set_back_neither_stops_it_nor_hurries_it(
    app: AppUnderTest, server: Upstream
) -> None:
    a_visitor_came(app)
    read_at = app.clock.now()
    app.clock.step_to(read_at - 3600)
    assert "Read less than a minute ago.<" in page(app)
    assert app.fire_due() == []

    app.clock.move(3600 + TEN_MINUTES - 1)
    assert app.fire_due() == []
    app.clock.move(1)
    assert app.fire_due() == ["Refresher/main"]
    assert server.asked == 2


def test_a_server_that_is_gone_is_asked_again(
    app: AppUnderTest, server: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lib.refresher.FEED_URL", "http://127.0.0.1:1/feed.json")
    a_visitor_came(app)
    assert "Nothing has been read yet." in page(app)

    monkeypatch.setattr("lib.refresher.FEED_URL", server.url)
    ten_minutes_pass(app)
    assert "The ferry sails again" in page(app)


def test_the_log_says_what_was_wrong(app: AppUnderTest, server: Upstream) -> None:
    a_visitor_came(app)
    server.status = 503
    with capture_logs() as lines:
        ten_minutes_pass(app)

    (line,) = [line for line in lines if line["log_level"] == "warning"]
    assert line["object"] == "Refresher/main"
    assert line["error"] == f"GET {server.url}: it answered 503"


def test_a_mistake_in_the_app_stops_the_timer(
    app: AppUnderTest, server: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_visitor_came(app)
    monkeypatch.setattr("lib.refresher.ITEMS_KEPT", "twenty")
    ten_minutes_pass(app)

    app.clock.move(100 * TEN_MINUTES)
    assert app.fire_due() == []
    assert server.asked == 2
    assert "The ferry sails again" in page(app)


def test_a_feed_without_items_says_so(app: AppUnderTest, server: Upstream) -> None:
    server.sends({"title": "Harbour", "items": []})
    a_visitor_came(app)

    assert "There is nothing in it." in page(app)


def test_of_a_long_feed_the_first_20_are_kept(
    app: AppUnderTest, server: Upstream
) -> None:
    items = [{"url": f"https://a.example/{n}", "title": f"No. {n}"} for n in range(500)]
    server.sends({"title": "Harbour", "items": items})
    a_visitor_came(app)

    shown = re.findall(r"No\. (\d+)", page(app))
    assert shown == [str(number) for number in range(20)]


def test_what_others_write_is_shown_as_text(
    app: AppUnderTest, server: Upstream
) -> None:
    script = "<script>alert(1)</script>"
    item = {"url": f'https://a.example/">{script}', "title": script}
    server.sends({"title": script, "items": [item]})
    a_visitor_came(app)

    assert "&lt;script&gt;alert(1)" in page(app)
    assert "<script>" not in page(app)


def test_the_feed_stays_when_the_object_is_unloaded_and_after_a_restart(
    app: AppUnderTest, server: Upstream
) -> None:
    a_visitor_came(app)
    assert app.evict("Refresher", "main")
    assert "The ferry sails again" in page(app)
    app.restart()
    assert "The ferry sails again" in page(app)
    assert server.asked == 1


def test_a_worker_killed_while_it_reads_keeps_the_feed_and_reads_again(
    server: Upstream, tmp_path: Path
) -> None:
    with AppUnderTest(FOLDER, data=tmp_path) as app:
        a_visitor_came(app)
    server.sends(ISLAND)
    server.hangs = True
    ten_minutes_later = ManualClock().now() + TEN_MINUTES
    with WorkerUnderTest(FOLDER, data=tmp_path, now=ten_minutes_later) as worker:
        assert server.hung.wait(timeout=30)
        worker.kill()

    server.hangs = False
    with AppUnderTest(FOLDER, data=tmp_path) as app:
        assert "The ferry sails again" in page(app)
        ten_minutes_pass(app)
        assert "Two seals on the pier" in page(app)
