"""The app under test: real pages, a real mail service, and a clock that the test
moves."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from melee.errors import ObjectCallError, OutcomeUnknown
from melee.testing import (
    COMMIT_POINTS,
    AppUnderTest,
    ManualClock,
    WorkerUnderTest,
)
from structlog.testing import capture_logs
from werkzeug.test import TestResponse

from .mail_service import MailService, mail_service

FOLDER = Path(__file__).parents[1]
MIDNIGHT = ManualClock().now()


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[MailService]:
    with mail_service() as service:
        monkeypatch.setenv("MAIL_URL", service.url)
        yield service


@pytest.fixture
def app(service: MailService) -> Iterator[AppUnderTest]:
    with AppUnderTest(FOLDER) as app:
        yield app


@pytest.fixture
def members(app: AppUnderTest) -> Any:
    return members_of(app)


def members_of(app: AppUnderTest | WorkerUnderTest) -> Any:
    return app.classes["Members"].get("all")


def sign_up(app: AppUnderTest, email: str) -> TestResponse:
    return app.client.post("/signup", data={"email": email})


def seconds_pass(app: AppUnderTest, seconds: float) -> list[str]:
    app.clock.move(seconds)
    return app.fire_due()


def rounds(app: AppUnderTest, count: int) -> list[Any]:
    """Lets it try so often; returns what it said in the log."""
    with capture_logs() as lines:
        for _ in range(count):
            assert seconds_pass(app, 5) == ["Members/all"]
    return [line for line in lines if line["log_level"] != "info"]


def test_whoever_signs_up_is_thanked_and_mailed(
    app: AppUnderTest, service: MailService, members: Any
) -> None:
    assert 'action="/signup"' in app.client.get("/").text
    signed_up = sign_up(app, " ada@example.org ")
    assert (signed_up.status_code, signed_up.location) == (303, "/thanks")
    assert "A mail to you is on its way." in app.client.get("/thanks").text
    assert members.number() == 1
    assert (members.pending(), service.mails) == (1, {})

    seconds_pass(app, 1)
    assert list(service.mails.values()) == ["ada@example.org"]
    assert members.pending() == 0


def test_the_visitor_does_not_wait_for_the_mail_service(
    app: AppUnderTest, service: MailService
) -> None:
    service.behave = lambda _key: "hang"
    assert sign_up(app, "ada@example.org").status_code == 303
    assert not service.asked


@pytest.mark.parametrize(
    "email",
    ["", "  ", "ada", "@", "ada@", "@example.org", "a b@c.org", f"{'a' * 250}@b.org"],
)
def test_what_is_no_address_is_refused_with_a_message(
    app: AppUnderTest, members: Any, email: str
) -> None:
    refused = sign_up(app, email)

    assert refused.status_code == 422
    assert "Write an address such as ada@example.org." in refused.text
    assert f'value="{email.strip()}"' in refused.text
    assert (members.number(), members.pending()) == (0, 0)


def test_a_form_without_the_field_is_refused(app: AppUnderTest) -> None:
    assert app.client.post("/signup").status_code == 422


@pytest.mark.parametrize("again", ["ada@example.org", "ADA@example.org"])
def test_nobody_signs_up_twice(app: AppUnderTest, members: Any, again: str) -> None:
    sign_up(app, "ada@example.org")
    refused = sign_up(app, again)

    assert refused.status_code == 422
    assert f"{again} is signed up already." in refused.text
    assert "1 signed up so far." in refused.text
    assert (members.number(), members.pending()) == (1, 1)


def test_what_people_write_is_shown_as_text(app: AppUnderTest) -> None:
    for _ in range(2):
        answer = sign_up(app, '"><script>@example.org')

    assert "<script>" not in answer.text
    assert "&#34;&gt;&lt;script&gt;@example.org is signed up already." in answer.text


def test_a_mail_goes_out_a_second_later_though_the_next_look_is_a_minute_away(
    app: AppUnderTest, members: Any
) -> None:
    members.pending()
    assert seconds_pass(app, 0) == ["Members/all"]
    assert seconds_pass(app, 59) == []
    assert seconds_pass(app, 1) == ["Members/all"]

    sign_up(app, "ada@example.org")
    assert seconds_pass(app, 0.9) == []
    assert seconds_pass(app, 0.1) == ["Members/all"]


# --8<-- [start:crowd]
def test_a_crowd_without_an_end_does_not_hold_the_mails_off(
    app: AppUnderTest, service: MailService
) -> None:
    for number in range(20):
        sign_up(app, f"{number}@example.org")
        seconds_pass(app, 0.5)

    assert len(service.mails) >= 18
    # --8<-- [end:crowd]


def test_20_jobs_are_done_at_once_the_oldest_first(
    app: AppUnderTest, service: MailService, members: Any
) -> None:
    people = [f"{number}@example.org" for number in range(50)]
    for email in people:
        members.push("welcome", {"email": email})
    for done in (20, 40, 50):
        rounds(app, 1)
        assert list(service.mails.values()) == people[:done]
        assert members.pending() == 50 - done

    assert seconds_pass(app, 59) == []
    assert seconds_pass(app, 1) == ["Members/all"]


def test_a_failure_is_counted_and_the_job_tried_again_five_seconds_later(
    app: AppUnderTest, service: MailService, members: Any
) -> None:
    service.behave = lambda _key: "fail"
    members.push("welcome", {"email": "ada@example.org"})
    for attempts in (1, 2):
        lines = rounds(app, 1)
        assert [line["event"] for line in lines] == ["a job failed"]
        assert (lines[0]["log_level"], lines[0]["attempts"]) == ("warning", attempts)
        assert lines[0]["object"] == "Members/all"
        assert "it answered 500" in lines[0]["error"]
        assert seconds_pass(app, 4.9) == []

    service.behave = lambda _key: "send"
    assert rounds(app, 1) == []
    assert list(service.mails.values()) == ["ada@example.org"]
    assert list(service.asked.values()) == [3]


def test_a_job_that_always_fails_is_given_up_after_five_attempts(
    app: AppUnderTest, service: MailService, members: Any
) -> None:
    service.behave = lambda _key: "fail"
    members.push("welcome", {"email": "ada@example.org"})
    lines = rounds(app, 5)
    assert [line["event"] for line in lines] == [
        *["a job failed"] * 5,
        "a job is given up",
    ]
    assert (lines[-1]["log_level"], lines[-1]["attempts"]) == ("error", 5)
    assert members.pending() == 0
    assert list(service.asked.values()) == [5]


def test_a_job_that_fails_does_not_hold_up_the_others(
    app: AppUnderTest, service: MailService, members: Any
) -> None:
    members.push("welcome", {"no": "address"})
    members.push("welcome", {"email": "bob@example.org"})
    lines = rounds(app, 5)

    assert list(service.mails.values()) == ["bob@example.org"]
    assert lines[0]["error"] == "KeyError('email')"
    assert members.pending() == 0


def test_a_job_of_an_unknown_kind_is_named_in_the_log_and_dropped(
    app: AppUnderTest, members: Any
) -> None:
    members.push("farewell", {"email": "ada@example.org"})
    (line,) = rounds(app, 1)

    assert line["event"] == "nobody knows this kind of job"
    assert (line["log_level"], line["kind"]) == ("warning", "farewell")
    assert members.pending() == 0


# --8<-- [start:hang]
def test_while_the_service_hangs_each_round_waits_for_one_answer_only(
    app: AppUnderTest, service: MailService, members: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr("lib.members.MAIL_SECONDS", 0.2)
    for name in ("ada", "bob", "eve"):
        members.push("welcome", {"email": f"{name}@example.org"})
    service.behave = lambda _key: "hang"
    lines = rounds(app, 1)
    assert "no whole answer within 0.2 s" in lines[0]["error"]
    assert (service.asked.total(), members.pending()) == (1, 3)

    service.behave = lambda _key: "send"
    rounds(app, 1)
    assert len(service.mails) == 3
    # --8<-- [end:hang]


def test_nobody_listening_costs_the_oldest_job_an_attempt(
    app: AppUnderTest, members: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr("lib.members.MAIL_URL", "http://127.0.0.1:1/")
    for name in ("ada", "bob"):
        members.push("welcome", {"email": f"{name}@example.org"})
    lines = rounds(app, 5)

    assert len(lines) == 6
    assert len({line["key"] for line in lines}) == 1
    assert members.pending() == 1


def test_an_answer_that_comes_too_late_costs_a_second_try_and_no_second_mail(
    app: AppUnderTest, service: MailService, members: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr("lib.members.MAIL_SECONDS", 0.2)
    service.behave = lambda _key: "send late"
    members.push("welcome", {"email": "ada@example.org"})
    rounds(app, 1)
    service.behave = lambda _key: "send"
    rounds(app, 1)

    assert list(service.mails.values()) == ["ada@example.org"]
    assert list(service.asked.values()) == [2]
    assert members.pending() == 0


def test_an_answer_that_comes_twice_is_one(
    app: AppUnderTest, service: MailService, members: Any
) -> None:
    service.behave = lambda _key: "answer twice"
    for name in ("ada", "bob"):
        members.push("welcome", {"email": f"{name}@example.org"})

    assert rounds(app, 1) == []
    assert list(service.asked.values()) == [1, 1]


def test_each_job_has_a_key_of_its_own_and_keeps_it(
    app: AppUnderTest, service: MailService, members: Any
) -> None:
    service.behave = lambda _key: "fail"
    for _ in range(3):
        members.push("welcome", {"email": "ada@example.org"})
    rounds(app, 2)

    assert list(service.asked.values()) == [2, 2, 2]


def test_jobs_survive_a_restart(
    app: AppUnderTest, service: MailService, members: Any
) -> None:
    sign_up(app, "ada@example.org")
    assert app.evict("Members", "all")
    app.restart()
    seconds_pass(app, 1)

    assert list(service.mails.values()) == ["ada@example.org"]


def test_a_member_whose_job_cannot_be_written_is_no_member(
    app: AppUnderTest, members: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lib.members.SOON_SECONDS", -1)
    with pytest.raises(ObjectCallError, match="after=-1 is negative"):
        members.join("ada@example.org")
    assert (members.number(), members.pending()) == (0, 0)

    monkeypatch.undo()
    assert members.join("ada@example.org")
    assert (members.number(), members.pending()) == (1, 1)


# --8<-- [start:whole]
@pytest.mark.parametrize("point", COMMIT_POINTS)
def test_a_kill_at_any_moment_leaves_a_member_with_a_job_or_neither(
    service: MailService, tmp_path: Path, point: str
) -> None:
    with AppUnderTest(FOLDER, data=tmp_path) as app:
        members_of(app).join("ada@example.org")
        seconds_pass(app, 1)
    with WorkerUnderTest(
        FOLDER, data=tmp_path, dies_at=point, now=MIDNIGHT + 1
    ) as worker:
        with suppress(OutcomeUnknown):
            members_of(worker).join("bob@example.org")
        assert worker.has_died()

    with AppUnderTest(FOLDER, data=tmp_path) as app:
        is_kept = point not in ("ran", "index written")
        assert members_of(app).number() == 1 + is_kept
        assert members_of(app).pending() == is_kept
        # --8<-- [end:whole]


# --8<-- [start:killed]
def test_a_worker_killed_while_it_mails_mails_again_with_the_same_key(
    service: MailService, tmp_path: Path
) -> None:
    with AppUnderTest(FOLDER, data=tmp_path) as app:
        sign_up(app, "ada@example.org")
    service.behave = lambda _key: "send late"
    with WorkerUnderTest(FOLDER, data=tmp_path, now=MIDNIGHT + 1) as worker:
        assert service.hung.wait(timeout=30)
        worker.kill()

    service.behave = lambda _key: "send"
    with AppUnderTest(FOLDER, data=tmp_path) as app:
        seconds_pass(app, 1)
    assert list(service.asked.values()) == [2]
    assert list(service.mails.values()) == ["ada@example.org"]
    # --8<-- [end:killed]
