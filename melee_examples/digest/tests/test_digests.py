"""The digests: when they go out, what is in them, and what happens when they cannot."""

from datetime import UTC, datetime
from typing import Any

from melee.testing import AppUnderTest

from .conftest import paris, share
from .mail_service import MailService, fails, sends, sends_late


# --8<-- [start:morning]
def test_on_a_working_day_the_digest_goes_out_at_eight(
    app: AppUnderTest, service: MailService
) -> None:
    share(app, "tea")
    app.clock.move_to(paris(day=2, hour=7, minute=59))
    assert app.jobs.run_pending() == 0

    app.clock.move_to(paris(day=2, hour=8))
    assert app.jobs.run_pending() == 1
    assert service.subjects == ["The daily digest: 1 new"]
    # --8<-- [end:morning]


def test_it_holds_what_is_new_since_the_last_one(
    app: AppUnderTest, service: MailService
) -> None:
    for day, title in enumerate(["tea", "pots", "cups"], start=2):
        share(app, title)
        app.clock.move_to(paris(day))
        app.jobs.run_pending()
    assert [text.split()[0] for text in service.texts] == ["tea", "pots", "cups"]


def test_with_nothing_new_there_is_no_mail(
    app: AppUnderTest, service: MailService
) -> None:
    app.clock.move_to(paris(day=2))
    assert app.jobs.run_pending() == 1
    assert service.asked.total() == 0


# --8<-- [start:weekend]
def test_on_a_weekend_there_is_none_and_on_monday_there_are_two(
    app: AppUnderTest, service: MailService
) -> None:
    app.clock.move_to(paris(day=4))
    app.jobs.run_pending()
    share(app, "tea")
    for day in (5, 6):
        app.clock.move_to(paris(day, hour=23))
        assert app.jobs.run_pending() == 0

    app.clock.move_to(paris(day=7))
    assert app.jobs.run_pending() == 2
    assert sorted(service.subjects) == [
        "The daily digest: 1 new",
        "The weekly digest: 1 new",
    ]
    # --8<-- [end:weekend]


# --8<-- [start:summer]
def test_in_summer_the_daily_one_follows_the_clocks_and_the_weekly_one_does_not(
    app: AppUnderTest, service: MailService
) -> None:
    sent: dict[str, str] = {}
    app.clock.move_to(datetime(2030, 7, 1, tzinfo=UTC))
    app.jobs.run_pending()
    for minute in range(0, 24 * 60, 30):
        app.clock.move_to(datetime(2030, 7, 1, minute // 60, minute % 60, tzinfo=UTC))
        share(app, f"tea{minute}")
        before = len(service.subjects)
        app.jobs.run_pending()
        for subject in service.subjects[before:]:
            sent[subject.split()[1]] = f"{minute // 60:02}:{minute % 60:02} UTC"

    assert sent == {"daily": "06:00 UTC", "weekly": "06:30 UTC"}
    # --8<-- [end:summer]


# --8<-- [start:missed]
def test_mornings_that_were_missed_are_made_up_for_by_one_digest(
    app: AppUnderTest, service: MailService
) -> None:
    share(app, "tea")
    app.clock.move_to(paris(day=4, hour=9))
    app.restart()
    assert app.jobs.run_pending() == 1
    assert service.subjects == ["The daily digest: 1 new"]

    app.clock.move_to(paris(day=6, hour=9))
    assert app.jobs.run_pending() == 0
    # --8<-- [end:missed]


# --8<-- [start:again]
def test_a_second_try_sends_the_same_links_with_the_same_key(
    app: AppUnderTest, service: MailService, monkeypatch: Any
) -> None:
    share(app, "tea")
    service.behave = sends_late
    app.clock.move_to(paris(day=2))
    with monkeypatch.context() as hurry:
        hurry.setattr("jobs.send_digest.MAIL_SECONDS", 0.5)
        assert app.jobs.run_pending() == 1
    share(app, "pots")

    service.behave = sends
    app.clock.move(5)
    assert app.jobs.run_pending() == 1
    assert len(service.mails) == 1
    assert service.texts[0] == service.texts[1]

    app.clock.move_to(paris(day=3))
    app.jobs.run_pending()
    assert service.texts[2].split()[0] == "pots"
    # --8<-- [end:again]


def test_while_a_digest_fails_the_next_morning_adds_no_second_one(
    app: AppUnderTest, service: MailService
) -> None:
    from jobs.send_digest import SendDigest

    share(app, "tea")
    service.behave = fails
    for day in (2, 3):
        app.clock.move_to(paris(day))
        assert app.jobs.run_pending() == 1
    assert app.jobs.enqueued(SendDigest) == [SendDigest(period="daily")]


def test_a_digest_that_failed_for_good_is_sent_the_next_morning(
    app: AppUnderTest, service: MailService
) -> None:
    share(app, "tea")
    service.behave = fails
    app.clock.move_to(paris(day=2))
    for seconds in (0, 5, 20, 80, 320):
        app.clock.move(seconds)
        assert app.jobs.run_pending() == 1
    share(app, "pots")

    service.behave = sends
    for day in (3, 4):
        app.clock.move_to(paris(day))
        assert app.jobs.run_pending() == 1
    assert [text.split()[0] for text in service.texts[5:]] == ["tea", "pots"]
