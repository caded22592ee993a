"""The app under test: real pages, a real mail service, and a clock that the test
moves."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from melee.testing import AppUnderTest, ManualClock, WorkerUnderTest
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
