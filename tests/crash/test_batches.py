"""The object worker is killed while it commits a batch of several objects that many callers wait for."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from melee.errors import ObjectUnavailable, OutcomeUnknown
from melee.objects.files import every_file
from melee.objects.loaded import state_in
from melee.testing import COMMIT_POINTS, AppUnderTest, ManualClock, WorkerUnderTest
from tests.conftest import write_app

START = ManualClock().now()
CALLERS = 24
LAST = START + 1_000_000
IDS = [str(number) for number in range(8)]

APP = """
from melee import App, Durable

app = App(__name__)


class Account(Durable):
    def deposit(self):
        self.storage.put("deposits", self.deposits() + 1)
        # Earlier with each, so that the registry must know of each before it is committed.
        self.timer(at=LAST - self.deposits())

    def deposits(self):
        return self.storage.get("deposits", 0)

    def on_timer(self): ...
""".replace("LAST", str(LAST))


@pytest.mark.slow
@pytest.mark.parametrize("time", [30, 77])
@pytest.mark.parametrize("point", COMMIT_POINTS)
def test_nothing_that_a_caller_was_told_is_lost_and_every_timer_fires_in_time(
    tmp_path: Path, point: str, time: int
) -> None:
    app = write_app(tmp_path / "app", APP)
    with WorkerUnderTest(app, data=app / "data", dies_at=point, dies_on=time, now=START) as worker:

        def deposit_until_it_dies(caller: int) -> tuple[str, int, int]:
            id = IDS[caller % len(IDS)]
            for confirmed in range(10_000):
                try:
                    worker.classes["Account"].get(id).deposit()  # type: ignore[attr-defined]
                except ObjectUnavailable:
                    return id, confirmed, 0
                except OutcomeUnknown:
                    return id, confirmed, 1
            raise AssertionError("the worker does not die")

        with ThreadPoolExecutor(CALLERS) as callers:
            told = list(callers.map(deposit_until_it_dies, range(CALLERS)))
        assert worker.has_died()
    confirmed, unknown = Counter[str](), Counter[str]()
    for id, calls, lost in told:
        confirmed[id] += calls
        unknown[id] += lost
    assert confirmed.total() > 0
    # As the files say, before anybody opens them and sets the registry right.
    found = filter(None, map(state_in, every_file(app / "data" / "objects")))
    due_at = {state.ref.id: state.due_at for state in found if state.due_at}
    with AppUnderTest(app, data=app / "data", clock=ManualClock(START)) as again:
        account = again.classes["Account"]
        assert account.list() == sorted(due_at)
        fired: list[str] = []
        for id, moment in sorted(due_at.items(), key=lambda timer: timer[1]):
            again.clock.move_to(moment)
            fired += again.fire_due()
            assert f"Account/{id}" in fired
        assert len(fired) == len(due_at)
        for id in IDS:
            kept = account.get(id).deposits() if id in due_at else 0  # type: ignore[attr-defined]
            assert confirmed[id] <= kept <= confirmed[id] + unknown[id]
            assert due_at.get(id, LAST) == LAST - kept
