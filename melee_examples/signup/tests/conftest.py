"""The app under test: real pages, a real mail service, and a clock that the test
moves."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from melee.testing import AppUnderTest, ManualClock
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
def outbox(app: AppUnderTest) -> Any:
    return app.classes["Outbox"].get("mails")


def sign_up(app: AppUnderTest, email: str) -> TestResponse:
    return app.client.post("/signup", data={"email": email})


def emails(app: AppUnderTest) -> list[str]:
    with app.flask.app_context():
        users = app.flask.db.query("SELECT email FROM users ORDER BY id")  # type: ignore[attr-defined]
    return [user["email"] for user in users]


def seconds_pass(app: AppUnderTest, seconds: float) -> list[str]:
    app.clock.move(seconds)
    return app.fire_due()


def rounds(app: AppUnderTest, count: int) -> list[Any]:
    """Lets the outbox try so often; returns what it said in the log."""
    with capture_logs() as lines:
        for _ in range(count):
            assert seconds_pass(app, 5) == ["Outbox/mails"]
    return [line for line in lines if line["log_level"] != "info"]
