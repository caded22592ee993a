"""What the page about durable jobs says of its fragments, and of what becomes of a job."""

import json
import re
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Any

import pytest

from melee.errors import DefinitionError, ShapeError
from melee.jobs.job import Job
from melee.jobs.retry import pause_seconds
from melee.jobs.store import Retried, Stats
from melee.project import JobsConfig, read_config
from melee.testing import AppUnderTest
from melee_examples.welcome.tests.mail_service import MailService, mail_service
from snippets.jobs.charge import Charge
from snippets.jobs.links import CheckLinks
from snippets.jobs.newsletter import MailReader
from snippets.jobs.receipt import AskForReview, SendReceipt
from tests.conftest import write_app
from tests.examples.copied import ROOT
from tests.melee.upstream import answering, upstream

PAGE = (ROOT / "docs" / "guide" / "jobs.md").read_text(encoding="utf-8")
SHOP = ROOT / "snippets" / "jobs" / "shop"
MELEE_TOML = ROOT / "snippets" / "jobs" / "melee.toml"

APP = """
from melee import App, Job

app = App(__name__)
ran = []


@app.jobs.register
class Note(Job):
    NAME = "note"
    text: str

    def run(self, resources):
        ran.append(self.text)
        if self.text == "fail":
            raise ValueError("it failed")


@app.jobs.register
class High(Job):
    NAME = "high"
    PRIORITY = 10
    left: int

    def run(self, resources):
        ran.append("high")
        if self.left:
            resources.jobs.enqueue(High(left=self.left - 1))


@app.jobs.register
class Unique(Job):
    NAME = "unique"
    MAX_ATTEMPTS = 1

    def unique_key(self):
        return "one"

    def run(self, resources):
        raise ValueError("it failed")
"""


class Undone(Exception):
    """Ends a transaction so that nothing of it is kept."""


class Unregistered(Job):
    NAME = "unregistered"

    def run(self, resources: Any) -> None:
        """Nobody calls it."""


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[MailService]:
    with mail_service() as service:
        monkeypatch.setenv("MAIL_URL", service.url)
        yield service


@pytest.fixture
def shop(service: MailService) -> Iterator[AppUnderTest]:
    with AppUnderTest(SHOP) as app:
        yield app


@pytest.fixture
def app(tmp_path: Path) -> Iterator[AppUnderTest]:
    with AppUnderTest(write_app(tmp_path / "app", APP)) as app:
        yield app


def note(app: AppUnderTest, text: str) -> Any:
    return app.jobs.classes["note"](text=text)


def ran(app: AppUnderTest) -> list[str]:
    found: list[str] = sys.modules["app"].ran
    return found


def sql(app: AppUnderTest, statement: str, *parameters: Any) -> list[dict[str, Any]]:
    with app.flask.app_context():
        rows: list[dict[str, Any]] = app.flask.db.query(statement, *parameters)  # type: ignore[attr-defined]
    return rows


def table(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading."""
    below = PAGE.partition(f"\n{heading}\n")[2].splitlines()
    rows = takewhile(lambda line: line.startswith("|"), dropwhile(lambda line: not line.startswith("|"), below))
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in rows][2:]


# The fragments


def test_a_receipt_goes_out_now_and_a_question_two_weeks_later(shop: AppUnderTest, service: MailService) -> None:
    assert shop.client.post("/orders/7/ship").text == "It is on its way."
    assert shop.jobs.enqueued(SendReceipt) == [SendReceipt(order_id=7)]
    assert shop.jobs.enqueued(AskForReview) == [AskForReview(order_id=7)]

    assert shop.jobs.run_pending() == 1
    assert list(service.mails) == ["receipt-7"]
    shop.clock.move(14 * 86_400 - 1)
    assert shop.jobs.run_pending() == 0
    shop.clock.move(1)
    assert shop.jobs.run_pending() == 1
    assert list(service.mails) == ["receipt-7", "review-7"]


def test_a_newsletter_is_a_job_for_each_reader_and_of_each_one_only(shop: AppUnderTest, service: MailService) -> None:
    sql(shop, "INSERT INTO readers VALUES (1), (2), (3)")
    for _ in range(2):
        assert shop.client.post("/newsletters/5").text == "It goes out tomorrow."
    assert shop.jobs.run_pending() == 0
    shop.clock.move(32 * 3600)
    assert shop.jobs.run_pending() == 2 + 3
    assert sorted(service.mails) == ["news-5-1", "news-5-2", "news-5-3"]
    assert shop.jobs.enqueue_many([MailReader(issue=6, reader_id=1)] * 2) == [True, False]


def test_money_is_taken_once_however_often_the_job_runs(shop: AppUnderTest) -> None:
    for order, cents in ((7, 500), (7, 500), (8, 250)):
        shop.jobs.enqueue(Charge(order_id=order, cents=cents))
    assert shop.jobs.run_pending() == 3
    assert sql(shop, "SELECT cents FROM till") == [{"cents": 750}]


def test_an_async_job_waits_for_several_servers_at_once(shop: AppUnderTest) -> None:
    both_are_here = threading.Barrier(2)

    def answer_when_both_are_here(client: socket.socket) -> None:
        both_are_here.wait(timeout=30)
        answering(b"")(client)

    with upstream(answer_when_both_are_here) as server:
        shop.jobs.enqueue(CheckLinks(urls=[server.url, server.url]))
        assert shop.jobs.run_pending() == 1
    assert shop.jobs.stats() == Stats(0, 0, 0)


def test_the_settings_of_queues_are_what_melee_reads() -> None:
    assert read_config(MELEE_TOML.read_text(encoding="utf-8")).jobs.queues == {"default": 4, "search": 1}


# The tables


def test_the_table_of_settings_has_each_with_its_default_and_no_other() -> None:
    shown = {row[0].strip("`"): row[1].strip("`") for row in table("## Settings of a class")}
    described = re.findall(r"^    +([A-Z_]+): ", Job.__doc__ or "", re.MULTILINE)
    assert shown.pop("unique_key()") == f"{Unregistered().unique_key()}"
    assert set(shown) == set(described) - {"NAME"}
    assert shown == {name: json.dumps(getattr(Job, name)).replace("null", "None") for name in shown}


def test_the_table_of_pauses_is_what_the_code_says() -> None:
    shown = [int(re.sub(r" s.*|,", "", row[1])) for row in table("## When it fails")]
    assert shown == [pause_seconds(attempt) for attempt in range(1, len(shown) + 1)]
    assert pause_seconds(20) == shown[-1]


def test_the_table_of_executors_is_what_the_code_says() -> None:
    shown = {row[0]: row[1] for row in table("## Who runs them")}
    assert shown == {"`[jobs] workers`": f"{JobsConfig().workers}", "`[jobs.queues]`": "none"}
    assert JobsConfig().queues == {}


# What is enqueued


def test_a_class_that_is_not_registered_is_refused_with_the_line_to_write(app: AppUnderTest) -> None:
    with pytest.raises(DefinitionError, match=r"write app\.jobs\.register\(Unregistered\)"):
        app.jobs.enqueue(Unregistered())


def test_fields_that_are_not_what_the_class_says_are_refused_where_it_is_enqueued(app: AppUnderTest) -> None:
    with pytest.raises(ShapeError, match="its fields cannot be stored"):
        app.jobs.enqueue(app.jobs.classes["note"](text=7))
    assert app.jobs.stats() == Stats(0, 0, 0)


def test_a_transaction_that_is_given_up_leaves_no_job(app: AppUnderTest) -> None:
    flask: Any = app.flask
    with flask.app_context(), suppress(Undone), flask.db.transaction():
        flask.jobs.enqueue(note(app, "never"))
        assert app.jobs.stats() == Stats(0, 0, 0)
        raise Undone
    assert app.jobs.run_pending() == 0


# What runs first


def test_a_flood_of_high_priority_starves_the_low_until_it_ends(app: AppUnderTest) -> None:
    app.jobs.enqueue(note(app, "low"))
    app.clock.move(3600)
    app.jobs.enqueue(app.jobs.classes["high"](left=200))
    app.jobs.run_pending()
    assert ran(app) == ["high"] * 201 + ["low"]


# What fails


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        ('{"text": "a", "when": 5}', "unknown field `when`"),
        ("{}", "missing required field `text`"),
        ('{"text": 5}', "Expected `str`, got `int` - at `$.text`"),
        ("{", "Input data was truncated"),
    ],
)
def test_a_payload_that_does_not_fit_fails_at_once_and_holds_up_nothing(
    app: AppUnderTest, payload: str, problem: str
) -> None:
    sql(app, "INSERT INTO melee_jobs (name, payload) VALUES ('note', ?)", payload)
    app.jobs.enqueue(note(app, "good"))
    app.clock.move_to(max(job.due_at for job in app.jobs.waiting()))
    app.jobs.run_pending()
    assert ran(app) == ["good"]
    [failed] = app.jobs.failed()
    assert (failed.status, failed.attempts) == ("failed", 1)
    assert problem in (failed.last_error or "")


def test_a_field_that_is_new_has_its_default_in_older_jobs(shop: AppUnderTest, service: MailService) -> None:
    sql(shop, "INSERT INTO melee_jobs (name, payload) VALUES ('send_receipt', '{\"order_id\": 3}')")
    assert shop.jobs.enqueued(SendReceipt) == [SendReceipt(order_id=3, language="en")]


def test_a_name_that_nobody_has_stays_queued_and_holds_up_nothing(app: AppUnderTest) -> None:
    sql(app, "INSERT INTO melee_jobs (name, payload, priority) VALUES ('later', '{}', 99)")
    app.jobs.enqueue(note(app, "good"))
    app.clock.move_to(max(job.due_at for job in app.jobs.waiting()))
    assert app.jobs.run_pending() == 1
    [left] = app.jobs.waiting()
    assert (left.name, left.status, left.attempts) == ("later", "queued", 0)


def test_a_failed_job_is_tried_again_with_all_its_attempts_unless_a_newer_one_holds_its_key(app: AppUnderTest) -> None:
    app.jobs.enqueue(app.jobs.classes["unique"]())
    app.jobs.enqueue(note(app, "fail"))
    for seconds in (0, 5, 20, 80, 320):
        app.clock.move(seconds)
        app.jobs.run_pending()
    assert app.jobs.stats() == Stats(queued=0, running=0, failed=2)
    assert app.jobs.enqueue(app.jobs.classes["unique"]())
    assert app.jobs.retry_failed() == Retried(queued=1, left=1)
    attempts = {job.name: (job.status, job.attempts) for job in app.jobs.waiting()}
    assert attempts == {"unique": ("queued", 0), "note": ("queued", 0)}


# By SQL


def test_what_sql_deletes_does_not_run(app: AppUnderTest) -> None:
    app.jobs.enqueue_many([note(app, "a"), note(app, "b")])
    sql(app, "DELETE FROM melee_jobs WHERE payload LIKE '%a%' AND status = 'queued'")
    assert app.jobs.run_pending() == 1
    assert ran(app) == ["b"]


def test_a_route_that_cancels_does_so_in_its_transaction(app: AppUnderTest) -> None:
    app.jobs.enqueue(note(app, "a"))
    [job] = app.jobs.waiting()
    flask: Any = app.flask
    with flask.app_context():
        with suppress(Undone), flask.db.transaction():
            assert flask.jobs.discard(job.id)
            raise Undone
        assert app.jobs.get(job.id)
        assert flask.jobs.discard(job.id)
    assert app.jobs.get(job.id) is None
    assert app.jobs.run_pending() == 0


# On Postgres


def test_the_same_app_keeps_users_and_jobs_in_postgres(postgres_url: str, service: MailService) -> None:
    with AppUnderTest(ROOT / "melee_examples" / "welcome", database_url=postgres_url) as app:
        assert app.client.post("/signup", data={"email": "ada@example.org"}).status_code == 201
        assert app.client.post("/signup", data={"email": "ADA@example.org"}).status_code == 422
        assert app.jobs.run_pending() == 1
        assert not app.project.database.exists()
    assert list(service.mails.values()) == ["ada@example.org"]


def test_the_digest_runs_on_postgres_too(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with AppUnderTest(ROOT / "melee_examples" / "digest", database_url=postgres_url) as app:
        form = {"title": "Tea", "url": "https://example.org/"}
        assert app.client.post("/links", data=form).status_code == 303
        with upstream(answering(b"")) as mails:
            monkeypatch.setattr("jobs.send_digest.MAIL_URL", mails.url)
            app.clock.move(31 * 3600 + 1)
            assert app.jobs.run_pending() == 1
        assert "The daily digest: 1 new" in mails.requests[0]
        assert app.jobs.stats() == Stats(0, 0, 0)
