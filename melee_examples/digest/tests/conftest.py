"""The app under test: real pages, a real mail service, and a clock that the test
moves."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from melee.testing import AppUnderTest, ManualClock
from werkzeug.test import TestResponse

from .mail_service import MailService, mail_service

FOLDER = Path(__file__).parents[1]
PARIS = ZoneInfo("Europe/Paris")


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[MailService]:
    with mail_service() as service:
        monkeypatch.setenv("MAIL_URL", service.url)
        yield service


# --8<-- [start:kit]
@pytest.fixture
def app(service: MailService) -> Iterator[AppUnderTest]:
    tuesday_noon = ManualClock(datetime(2030, 1, 1, 12, tzinfo=PARIS))
    with AppUnderTest(FOLDER, clock=tuesday_noon) as app:
        yield app
        # --8<-- [end:kit]


def share(app: AppUnderTest, title: str) -> TestResponse:
    url = f"https://example.org/{title}"
    return app.client.post("/links", data={"title": title, "url": url})


def paris(day: int, hour: int = 8, minute: int = 0, month: int = 1) -> datetime:
    return datetime(2030, month, day, hour, minute, tzinfo=PARIS)
