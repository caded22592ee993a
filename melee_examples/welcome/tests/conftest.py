"""The app under test: real pages, a real mail service, and a clock that the test
moves."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from melee.testing import AppUnderTest
from werkzeug.test import TestResponse

from .mail_service import MailService, mail_service

FOLDER = Path(__file__).parents[1]


# --8<-- [start:kit]
@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[MailService]:
    with mail_service() as service:
        monkeypatch.setenv("MAIL_URL", service.url)
        yield service


@pytest.fixture
def app(service: MailService) -> Iterator[AppUnderTest]:
    with AppUnderTest(FOLDER) as app:
        yield app
        # --8<-- [end:kit]


def sign_up(app: AppUnderTest, email: str) -> TestResponse:
    return app.client.post("/signup", data={"email": email})


def emails(app: AppUnderTest) -> list[str]:
    with app.flask.app_context():
        users = app.flask.db.query("SELECT email FROM users ORDER BY created_at")  # type: ignore[attr-defined]
    return [user["email"] for user in users]
