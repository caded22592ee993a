"""The examples that mail whoever signs up, under fire: the mail service fails, and the object worker is killed."""

import random
import re
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from melee.errors import OutcomeUnknown
from melee.testing import COMMIT_POINTS, AppUnderTest, ManualClock, WorkerUnderTest
from melee_examples.signup.tests.mail_service import MailService, mail_service
from tests.examples.copied import ROOT, copy_of
from tests.melee.cli.small_app import PATIENCE_SECONDS, melee
from tests.melee.server.served import ServerUnderTest
from tests.melee.server.served_app import edit

pytestmark = pytest.mark.slow

START = ManualClock().now()
SIGNUPS, VISITORS, KILLS = 500, 8, 6
BEFORE_THE_COMMIT = ("ran", "index written")


class Example:
    """A copy of one of the two.

    Attributes:
        folder: of the app.
        file: where the queue is.
        class_name, id: of the object that has it.
    """

    def __init__(self, name: str, file: str, class_name: str, id: str, tmp_path: Path) -> None:
        self.folder = copy_of(ROOT / "melee_examples" / name, tmp_path)
        self.file, self.class_name, self.id = self.folder / file, class_name, id

    def hurry(self) -> None:
        """Has it wait for less than it does for its visitors."""
        for before, after in {
            "SOON_SECONDS = 1": "SOON_SECONDS = 0.05",
            "PENDING_SECONDS = 5": "PENDING_SECONDS = 0.05",
            "MAIL_SECONDS = 5": "MAIL_SECONDS = 1",
        }.items():
            edit(self.file, before, after)

    def again(self) -> AppUnderTest:
        """The app after its end, on what it left."""
        return AppUnderTest(self.folder, data=self.folder / "data", clock=ManualClock(START))

    def queue(self, app: AppUnderTest | WorkerUnderTest) -> Any:
        return app.classes[self.class_name].get(self.id)

    def work_off(self, app: AppUnderTest) -> None:
        """Lets the queue end what is left in it."""
        while self.queue(app).pending():
            app.clock.move(5)
            app.fire_due()


@pytest.fixture
def signup(tmp_path: Path) -> Example:
    return Example("signup", "lib/outbox.py", "Outbox", "mails", tmp_path)


@pytest.fixture
def signup_exactly_once(tmp_path: Path) -> Example:
    return Example("signup_exactly_once", "lib/members.py", "Members", "all", tmp_path)


class Moods:
    """How the mail service does its work: badly in a third of all cases, but never so often that a job is given up.

    Attributes:
        repeats: how often a request with this key had a reason to come again.
    """

    WORDS = ("send", "fail", "hang", "send late", "answer twice")
    WEIGHTS = (68, 26, 0.4, 0.6, 5)

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.repeats = Counter[str]()

    def __call__(self, key: str) -> str:
        (mood,) = self._random.choices(self.WORDS, self.WEIGHTS)
        if self.repeats[key] == 3:
            return "send"
        self.repeats[key] += mood in ("fail", "hang", "send late")
        return mood


def sign_up(server: ServerUnderTest, email: str) -> int:
    address = urlsplit(server.url)
    with closing(HTTPConnection(address.hostname or "", address.port, timeout=PATIENCE_SECONDS)) as connection:
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", "/signup", urlencode({"email": email}), form)
        response = connection.getresponse()
        response.read()
        return response.status


def under_fire(example: Example, service: MailService, seed: int) -> tuple[set[str], Moods]:
    """Serves a crowd that signs up, while the mail service has its moods and the worker is killed at random moments.
    Returns who was thanked, when the mails to them are sent."""
    example.hurry()
    service.behave = moods = Moods(seed)
    chance = random.Random(seed)
    people = [f"{number}@example.org" for number in range(SIGNUPS)]
    server = ServerUnderTest(example.folder)
    server.environment["MAIL_URL"] = service.url
    with server, ThreadPoolExecutor(VISITORS) as visitors:
        statuses = [visitors.submit(sign_up, server, email) for email in people]
        for _ in range(KILLS):
            # The next worker has begun to mail by then.
            moment = service.asked.total() + chance.randint(1, 70)
            assert service.wait_until(lambda moment=moment: service.asked.total() >= moment)  # type: ignore[misc]
            server.kill("melee.objects")
        thanked = {email for email, status in zip(people, statuses, strict=True) if status.result() == 303}
        assert service.wait_until(lambda: thanked <= set(service.mails.values()))
    return thanked, moods


def check_reasons(service: MailService, moods: Moods) -> None:
    """Nobody is asked for without a reason: the first time, what the service did not do or did not say in time, and at
    most one mail that was under way at each kill."""
    without_a_reason = {key: asked - 1 - moods.repeats[key] for key, asked in service.asked.items()}
    assert {key: count for key, count in without_a_reason.items() if count < 0} == {}, "given up though it failed"
    assert sum(without_a_reason.values()) <= KILLS
    assert moods.repeats.total() > 0.2 * SIGNUPS


def test_under_fire_whoever_was_thanked_is_mailed_and_nobody_without_a_reason(signup: Example) -> None:
    with mail_service() as service:
        thanked, moods = under_fire(signup, service, seed=1)
        with signup.again() as app:
            signup.work_off(app)
            with app.flask.app_context():
                users = {row["email"] for row in app.flask.db.query("SELECT email FROM users")}  # type: ignore[attr-defined]
    check_reasons(service, moods)
    mailed = list(service.mails.values())
    assert len(mailed) == len(set(mailed))
    assert thanked <= set(mailed) <= users
    # Whoever has no mail is a user whose visit broke off in the gap between the two databases.
    assert len(users) - len(mailed) <= VISITORS * KILLS
    assert len(thanked) >= SIGNUPS - VISITORS * KILLS


def test_under_fire_every_member_is_mailed_exactly_once(signup_exactly_once: Example) -> None:
    with mail_service() as service:
        thanked, moods = under_fire(signup_exactly_once, service, seed=2)
        with signup_exactly_once.again() as app:
            signup_exactly_once.work_off(app)
            members = signup_exactly_once.queue(app).number()
            mailed = list(service.mails.values())
            # Whoever was not thanked and signs up again is told that they are in, or gets in now.
            for number in range(SIGNUPS):
                signup_exactly_once.queue(app).join(f"{number}@example.org")
            assert signup_exactly_once.queue(app).number() == SIGNUPS
    check_reasons(service, moods)
    assert len(mailed) == len(set(mailed)) == members
    assert thanked <= set(mailed)


@pytest.mark.parametrize("point", COMMIT_POINTS)
def test_there_is_no_member_without_a_job_and_no_job_without_a_member(
    signup_exactly_once: Example, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mail_service() as service:
        monkeypatch.setenv("MAIL_URL", service.url)
        with signup_exactly_once.again() as app:
            signup_exactly_once.queue(app).join("ada@example.org")
            app.clock.move(1)
            app.fire_due()
        data = signup_exactly_once.folder / "data"
        with WorkerUnderTest(signup_exactly_once.folder, data=data, dies_at=point, now=START + 1) as worker:
            visit_until_it_dies(worker, "bob@example.org")
        is_kept = point not in BEFORE_THE_COMMIT
        with signup_exactly_once.again() as app:
            queue = signup_exactly_once.queue(app)
            assert (queue.number(), queue.pending()) == ((2, 1) if is_kept else (1, 0))
            app.clock.move(2)
            assert app.fire_due() == (["Members/all"] if is_kept else [])
            assert ("bob@example.org" in service.mails.values()) == is_kept


@pytest.mark.parametrize("point", BEFORE_THE_COMMIT)
def test_a_kill_between_the_two_databases_leaves_a_user_without_a_mail(
    signup: Example, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with signup.again() as app:
        signup.queue(app).pending()
        app.fire_due()
    with WorkerUnderTest(signup.folder, data=signup.folder / "data", dies_at=point, now=START) as worker:
        visit_until_it_dies(worker, "ada@example.org")
    with signup.again() as app:
        assert (
            "ada@example.org is signed up already."
            in app.client.post("/signup", data={"email": "ada@example.org"}).text
        )
        assert signup.queue(app).pending() == 0


def visit_until_it_dies(worker: WorkerUnderTest, email: str) -> None:
    """Signs up through the app's own route, whose calls go to the worker; the kill may come after the answer."""
    app = sys.modules["app"].app
    app.testing = True
    with suppress(OutcomeUnknown):
        app.test_client().post("/signup", data={"email": email})
    assert worker.has_died()


def test_a_job_that_always_fails_is_given_up_and_logged(signup: Example) -> None:
    signup.hurry()
    with mail_service() as service:
        service.behave = lambda _key: "fail"
        server = ServerUnderTest(signup.folder)
        server.environment["MAIL_URL"] = service.url
        with server:
            assert sign_up(server, "ada@example.org") == 303
            line = server.wait_for("a job is given up")
            assert '"object": "Outbox/mails"' in line
            assert '"level": "error"' in line
            assert sum("a job failed" in line for line in server.printed) == 5
        assert list(service.asked.values()) == [5]


def test_a_timer_that_breaks_stops_and_its_error_is_shown(signup: Example) -> None:
    edit(signup.file, "self.storage.delete", "self.storage.remove")
    with ServerUnderTest(signup.folder) as server:
        assert sign_up(server, "ada@example.org") == 303
        server.wait_for("it is not tried again")
        shown = melee("objects", "--app", signup.folder)
    assert re.search(r"Outbox +mails +- +AttributeError: 'Storage' object has no attribute 'remove'", shown.stdout)
