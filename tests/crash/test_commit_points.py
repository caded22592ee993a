"""The object worker is killed with SIGKILL between any two commit points. Nothing confirmed is lost, no timer is."""

from pathlib import Path
from typing import Any

import pytest

from melee.errors import ObjectUnavailable, OutcomeUnknown
from melee.objects.files import every_file
from melee.testing import COMMIT_POINTS, AppUnderTest, ManualClock, WorkerUnderTest
from tests.conftest import write_app

pytestmark = pytest.mark.slow

START = ManualClock().now()

APP = '''
from melee import App, Durable

app = App(__name__)


class Account(Durable):
    def setup(self):
        self.storage.run("CREATE TABLE entries (amount INTEGER)")

    def deposit(self, amount, due_after=None):
        """The entry and the timer belong together: neither may be found without the other."""
        self.storage.run("INSERT INTO entries VALUES (?)", amount)
        if due_after is not None:
            self.timer(after=due_after)
            self.storage.put("timers", self.storage.get("timers", 0) + 1)

    def cancel(self):
        self.cancel_timer()
        self.storage.put("timers", 0)

    def on_timer(self):
        self.storage.run("INSERT INTO entries VALUES (1000)")

    def entries(self):
        return [row["amount"] for row in self.storage.query("SELECT amount FROM entries ORDER BY rowid")]

    def timers(self):
        return self.storage.get("timers", 0)
'''

BEFORE_THE_COMMIT = ("ran", "index written")
AFTER_THE_RELEASE = ("released", "index settled")


@pytest.fixture
def app(tmp_path: Path) -> Path:
    return write_app(tmp_path / "app", APP)


def killed_worker(app: Path, point: str, method: str, *arguments: Any) -> bool:
    """Kills the worker at a point of committing this call; whether the caller had its answer before."""
    with WorkerUnderTest(app, data=app / "data", dies_at=point, now=START) as worker:
        try:
            getattr(worker.classes["Account"].get("a"), method)(*arguments)
            confirmed = True
        except OutcomeUnknown:
            confirmed = False
        assert worker.has_died()
        return confirmed


def is_kept(point: str) -> bool:
    return point not in BEFORE_THE_COMMIT


def reopened(app: Path) -> AppUnderTest:
    return AppUnderTest(app, data=app / "data", clock=ManualClock(START))


@pytest.mark.parametrize("point", COMMIT_POINTS)
def test_a_first_call_is_there_whole_or_not_at_all(app: Path, point: str) -> None:
    confirmed = killed_worker(app, point, "deposit", 5, 60)
    assert confirmed == (point in AFTER_THE_RELEASE)
    with reopened(app) as again:
        account: Any = again.classes["Account"]
        assert account.list() == (["a"] if is_kept(point) else [])
        again.clock.move(60)
        assert again.fire_due() == (["Account/a"] if is_kept(point) else [])
        assert account.get("a").entries() == ([5, 1000] if is_kept(point) else [])


@pytest.mark.parametrize("point", COMMIT_POINTS)
@pytest.mark.parametrize(("before", "after"), [(None, 60), (120, 60), (60, 120)], ids=["set", "earlier", "later"])
def test_data_and_timer_are_from_the_same_side_of_the_kill(
    app: Path, point: str, before: float | None, after: float
) -> None:
    with reopened(app) as first:
        handle: Any = first.classes["Account"].get("a")
        handle.deposit(1, before)
    killed_worker(app, point, "deposit", 2, after)
    due = after if is_kept(point) else before
    with reopened(app) as again:
        handle = again.classes["Account"].get("a")
        assert handle.entries() == ([1, 2] if is_kept(point) else [1])
        if due is not None:
            again.clock.move(due - 0.001)
            assert again.fire_due() == []
            again.clock.move(0.001)
        assert again.fire_due() == ([] if due is None else ["Account/a"])
        again.clock.move(1000)
        assert again.fire_due() == []


@pytest.mark.parametrize("point", COMMIT_POINTS)
def test_a_cancelled_timer_that_was_confirmed_does_not_fire(app: Path, point: str) -> None:
    with reopened(app) as first:
        handle: Any = first.classes["Account"].get("a")
        handle.deposit(1, 60)
    killed_worker(app, point, "cancel")
    with reopened(app) as again:
        again.clock.move(1000)
        assert again.fire_due() == ([] if is_kept(point) else ["Account/a"])


@pytest.mark.parametrize("point", COMMIT_POINTS)
def test_a_destroyed_object_is_gone_whole_or_not_at_all(app: Path, point: str) -> None:
    with reopened(app) as first:
        handle: Any = first.classes["Account"].get("a")
        handle.deposit(1, 60)
    with WorkerUnderTest(app, data=app / "data", dies_at=point, now=START) as worker:
        with pytest.raises(OutcomeUnknown):
            worker.classes["Account"].destroy("a")
        assert worker.has_died()
    with reopened(app) as again:
        account: Any = again.classes["Account"]
        assert account.list() == ([] if is_kept(point) else ["a"])
        assert len(list(every_file(app / "data" / "objects"))) == (0 if is_kept(point) else 1)
        again.clock.move(1000)
        assert again.fire_due() == ([] if is_kept(point) else ["Account/a"])


@pytest.mark.parametrize("point", COMMIT_POINTS)
def test_a_timer_whose_worker_dies_has_fired_or_fires_again_and_never_half(app: Path, point: str) -> None:
    with reopened(app) as first:
        handle: Any = first.classes["Account"].get("a")
        handle.deposit(1, 60)
    with WorkerUnderTest(app, data=app / "data", dies_at=point, now=START + 60) as worker:
        assert worker.has_died()
    with reopened(app) as again:
        again.clock.move(60)
        assert again.fire_due() == ([] if is_kept(point) else ["Account/a"])
        handle = again.classes["Account"].get("a")
        assert handle.entries() == [1, 1000]


@pytest.mark.parametrize("point", COMMIT_POINTS)
def test_confirmed_calls_survive_a_kill_in_the_midst_of_many(app: Path, point: str) -> None:
    with WorkerUnderTest(app, data=app / "data", dies_at=point, dies_on=20) as worker:
        handle: Any = worker.classes["Account"].get("a")
        confirmed = 0
        try:
            for number in range(1000):
                handle.deposit(number, 10_000 - number)
                confirmed += 1
        except (OutcomeUnknown, ObjectUnavailable):
            pass
        assert worker.has_died()
    assert 0 < confirmed < 1000
    with reopened(app) as again:
        kept = again.classes["Account"].get("a").entries()  # type: ignore[attr-defined]
        assert kept[:confirmed] == list(range(confirmed))
        assert len(kept) <= confirmed + 1
