"""The mails: when they go out, and what happens when they cannot."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from melee.errors import ObjectCallError, OutcomeUnknown
from melee.testing import COMMIT_POINTS, AppUnderTest, WorkerUnderTest

from .conftest import FOLDER, MIDNIGHT, members_of, rounds, seconds_pass, sign_up
from .mail_service import MailService


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
    for name in ("ada", "bob", "eve"):
        members.push("welcome", {"email": f"{name}@example.org"})
    service.behave = lambda _key: "hang"
    with monkeypatch.context() as hurry:
        hurry.setattr("lib.members.MAIL_SECONDS", 0.2)
        lines = rounds(app, 1)
    assert service.hung.wait(timeout=30)
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
    service.behave = lambda _key: "send late"
    members.push("welcome", {"email": "ada@example.org"})
    with monkeypatch.context() as hurry:
        hurry.setattr("lib.members.MAIL_SECONDS", 0.5)
        rounds(app, 1)
    assert service.hung.wait(timeout=30)
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
        for name in ("ada", "bob", "eve"):
            sign_up(app, f"{name}@example.org")
    service.behave = lambda _key: "send late" if service.mails else "send"
    with WorkerUnderTest(FOLDER, data=tmp_path, now=MIDNIGHT + 1) as worker:
        assert service.hung.wait(timeout=30)
        worker.kill()

    service.behave = lambda _key: "send"
    with AppUnderTest(FOLDER, data=tmp_path) as app:
        seconds_pass(app, 1)
    # Bob's was under way. What was done with Ada's before that is not forgotten.
    assert list(service.asked.values()) == [1, 2, 1]
    people = ["ada@example.org", "bob@example.org", "eve@example.org"]
    assert list(service.mails.values()) == people
    # --8<-- [end:killed]
