"""What the page on background work says of its fragments, and of its limits."""

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from melee.clock import ManualClock
from melee.objects.request import ObjectRef
from melee.testing import AppUnderTest
from melee_examples.signup.tests.mail_service import mail_service
from snippets.background_work.always import Rates
from snippets.background_work.first import Watch
from snippets.background_work.reports import Report, written_reports
from tests.docs.conftest import Hosting
from tests.examples.copied import ROOT, copy_of
from tests.melee.server.served_app import edit
from tests.melee.upstream import answering, upstream

SNIPPETS = ROOT / "snippets" / "background_work"
GOOD = b'{"EUR": 1.0, "USD": 1.25}'


def test_a_timer_that_is_set_first_goes_on_after_a_failure(
    hosting: Hosting, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = hosting(Watch)
    watch = Watch.get("shop")
    watch.start()
    with upstream(answering(b"", "500 Internal Server Error")) as bad:
        monkeypatch.setenv("WATCHED_URL", bad.url)
        assert host.fire_due() == [ObjectRef("Watch", "shop")]
    assert watch.last_seen_at() is None
    with upstream(answering(b"here")) as good:
        monkeypatch.setenv("WATCHED_URL", good.url)
        clock.move(300)
        assert host.fire_due() == [ObjectRef("Watch", "shop")]
    assert watch.last_seen_at() == "2030-01-01T00:05:00+00:00"


def test_a_timer_that_is_set_in_any_case_comes_back_sooner_after_a_failure(
    hosting: Hosting, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = hosting(Rates)
    rates = Rates.get("euro")
    rates.start()
    with upstream(answering(b"<html>")) as bad:
        monkeypatch.setenv("RATES_URL", bad.url)
        host.fire_due()
    assert rates.rates() == {}
    with upstream(answering(GOOD)) as good:
        monkeypatch.setenv("RATES_URL", good.url)
        clock.move(60)
        assert host.fire_due() == [ObjectRef("Rates", "euro")]
    assert rates.rates() == {"EUR": 1.0, "USD": 1.25}
    clock.move(3599)
    assert host.fire_due() == []


def test_one_that_is_set_first_counts_from_the_beginning_of_the_work_and_one_that_is_set_last_from_its_end(
    hosting: Hosting, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def take_four_seconds(client: socket.socket) -> None:
        clock.move(4)
        answering(GOOD)(client)

    host = hosting(Watch, Rates)
    with upstream(take_four_seconds) as slow:
        monkeypatch.setenv("WATCHED_URL", slow.url)
        monkeypatch.setenv("RATES_URL", slow.url)
        Watch.get("shop").start()
        host.fire_due()
        clock.move(300 - 4)
        assert host.fire_due() == [ObjectRef("Watch", "shop")]
        Rates.get("euro").start()
        host.fire_due()
        Watch.destroy("shop")
        clock.move(3600 - 4)
        assert host.fire_due() == []
        clock.move(4)
        assert host.fire_due() == [ObjectRef("Rates", "euro")]


def test_several_schedules_run_beside_each_other(hosting: Hosting, clock: ManualClock) -> None:
    host = hosting(Report)
    assert written_reports() == {"hourly": 0, "daily": 0, "weekly": 0}
    for _hour in range(7 * 24):
        clock.move(3600)
        host.fire_due()
    assert written_reports() == {"hourly": 7 * 24, "daily": 7, "weekly": 1}


def test_an_outbox_that_does_not_look_by_itself_mails_as_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = copy_of(ROOT / "melee_examples" / "signup", tmp_path)
    edit(folder / "lib" / "outbox.py", "        else:\n            self.timer(after=IDLE_SECONDS)\n", "")
    with mail_service() as service:
        monkeypatch.setenv("MAIL_URL", service.url)
        with AppUnderTest(folder) as app:
            for email in ("ada@example.org", "bob@example.org"):
                app.client.post("/signup", data={"email": email})
                app.clock.move(1)
                assert app.fire_due() == ["Outbox/mails"]
                app.clock.move(86_400)
                assert app.fire_due() == []
    assert list(service.mails.values()) == ["ada@example.org", "bob@example.org"]


def subscribe(monkeypatch: pytest.MonkeyPatch, url: str) -> tuple[int, str]:
    monkeypatch.setenv("NEWSLETTER_URL", url)
    with AppUnderTest(SNIPPETS / "subscribe") as app:
        answer = app.client.post("/subscribe", data={"email": "ada@example.org"}, follow_redirects=True)
        return answer.status_code, answer.text


def test_a_visitor_is_subscribed_while_they_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    with upstream(answering(b"")) as newsletter:
        assert subscribe(monkeypatch, newsletter.url) == (200, "Thank you.\n")
    assert json.loads(newsletter.requests[0].splitlines()[-1]) == {"email": "ada@example.org"}


@pytest.mark.parametrize(
    "answer", [answering(b"", "503 Service Unavailable"), lambda client: client.sendall(b"rubbish\r\n\r\n")]
)
def test_a_visitor_is_told_that_the_newsletter_is_unhappy(
    monkeypatch: pytest.MonkeyPatch, answer: Callable[[socket.socket], None]
) -> None:
    with upstream(answer) as newsletter:
        status, page = subscribe(monkeypatch, newsletter.url)
    assert status == 502
    assert "The newsletter does not answer as it should." in page
