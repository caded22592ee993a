"""The mails: when they go out, and what happens when they cannot."""

from typing import Any

import pytest
from melee.testing import AppUnderTest

from .conftest import emails, sign_up
from .mail_service import MailService, fails, sends, sends_late


# --8<-- [start:signup]
def test_whoever_signs_up_is_welcomed(app: AppUnderTest, service: MailService) -> None:
    answer = app.client.post("/signup", data={"email": "ada@example.org"})
    assert answer.status_code == 201
    assert service.mails == {}

    assert app.jobs.run_pending() == 1
    assert list(service.mails.values()) == ["ada@example.org"]
    # --8<-- [end:signup]
    assert app.jobs.run_pending() == 0


# --8<-- [start:enqueued]
def test_a_job_waits_for_each_who_signs_up(app: AppUnderTest) -> None:
    # Only while the app is there can its modules be imported.
    from jobs.send_welcome import SendWelcome

    for name in ("ada", "bob"):
        sign_up(app, f"{name}@example.org")
    first, second = app.jobs.enqueued(SendWelcome)
    assert first.user_id != second.user_id
    # --8<-- [end:enqueued]


# --8<-- [start:together]
def test_a_user_whose_job_cannot_be_stored_is_no_user(
    app: AppUnderTest, monkeypatch: Any
) -> None:
    def fail(_job: object) -> bool:
        raise OSError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(app.flask.jobs, "enqueue", fail)  # type: ignore[attr-defined]
        broken.setattr(app.flask, "testing", False)
        assert sign_up(app, "ada@example.org").status_code == 500
    assert emails(app) == []

    assert sign_up(app, "ada@example.org").status_code == 201
    # --8<-- [end:together]


# --8<-- [start:retry]
def test_a_mail_that_fails_is_tried_again_after_5_and_20_seconds(
    app: AppUnderTest, service: MailService
) -> None:
    service.behave = fails
    sign_up(app, "ada@example.org")
    assert app.jobs.run_pending() == 1
    for seconds in (5, 20):
        app.clock.move(seconds - 0.1)
        assert app.jobs.run_pending() == 0
        app.clock.move(0.1)
        assert app.jobs.run_pending() == 1

    service.behave = sends
    app.clock.move(80)
    assert app.jobs.run_pending() == 1
    assert list(service.mails.values()) == ["ada@example.org"]
    assert list(service.asked.values()) == [4]
    # --8<-- [end:retry]


def test_every_try_has_the_key_of_its_user_and_no_other(
    app: AppUnderTest, service: MailService
) -> None:
    service.behave = fails
    for name in ("ada", "bob"):
        sign_up(app, f"{name}@example.org")
    for seconds in (0, 5):
        app.clock.move(seconds)
        assert app.jobs.run_pending() == 2

    assert list(service.asked.values()) == [2, 2]
    assert all(key.startswith("welcome-") for key in service.asked)


def test_a_mail_that_was_sent_twice_arrives_once(
    app: AppUnderTest, service: MailService, monkeypatch: Any
) -> None:
    service.behave = sends_late
    sign_up(app, "ada@example.org")
    with monkeypatch.context() as hurry:
        hurry.setattr("jobs.send_welcome.MAIL_SECONDS", 0.5)
        assert app.jobs.run_pending() == 1
    assert service.hung.wait(timeout=30)

    service.behave = sends
    app.clock.move(5)
    assert app.jobs.run_pending() == 1
    assert list(service.mails.values()) == ["ada@example.org"]
    assert list(service.asked.values()) == [2]


# --8<-- [start:given_up]
def test_a_mail_that_fails_five_times_is_failed_and_kept(
    app: AppUnderTest, service: MailService
) -> None:
    service.behave = fails
    sign_up(app, "ada@example.org")
    for seconds in (0, 5, 20, 80, 320):
        app.clock.move(seconds)
        assert app.jobs.run_pending() == 1

    [job] = app.jobs.failed()
    assert (job.status, job.attempts) == ("failed", 5)
    assert "it answered 500" in (job.last_error or "")

    service.behave = sends
    app.jobs.retry_failed()
    assert app.jobs.run_pending() == 1
    assert list(service.mails.values()) == ["ada@example.org"]
    # --8<-- [end:given_up]


@pytest.mark.parametrize("people", [["ada", "bob"], ["bob", "ada"]])
def test_a_mail_that_fails_does_not_hold_up_the_others(
    app: AppUnderTest, service: MailService, people: list[str]
) -> None:
    from jobs.send_welcome import SendWelcome

    for name in people:
        sign_up(app, f"{name}@example.org")
    [first, _second] = app.jobs.enqueued(SendWelcome)
    bad = f"welcome-{first.user_id}"
    service.behave = lambda key: "fail" if key == bad else "send"

    assert app.jobs.run_pending() == 2
    assert list(service.mails.values()) == [f"{people[1]}@example.org"]


def test_a_user_who_is_gone_gets_no_mail(
    app: AppUnderTest, service: MailService
) -> None:
    sign_up(app, "ada@example.org")
    with app.flask.app_context():
        app.flask.db.run("DELETE FROM users")  # type: ignore[attr-defined]

    assert app.jobs.run_pending() == 1
    assert (service.asked.total(), app.jobs.failed()) == (0, [])


def test_a_job_survives_a_restart(app: AppUnderTest, service: MailService) -> None:
    sign_up(app, "ada@example.org")
    app.restart()

    assert app.jobs.run_pending() == 1
    assert list(service.mails.values()) == ["ada@example.org"]
