"""One of two workers is killed with SIGKILL again and again, while their objects call each other under load."""

import math
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from melee.errors import CallTimeout, DatabaseLocked, ObjectCallError, ObjectUnavailable, OutcomeUnknown
from melee.objects.files import every_file
from melee.objects.loaded import state_in
from melee.objects.registry import Registry
from melee.objects.shard import Shard
from melee.testing import AppUnderTest, ManualClock
from tests.conftest import write_app
from tests.melee.objects.worker.several import listens, several

pytestmark = pytest.mark.slow

CALLERS = 6
KILLS = 6
BETWEEN = 30
START = ManualClock().now()

APP = """
from melee import App, Durable

app = App(__name__)


class Account(Durable):
    def pay(self, id):
        self.storage.put("paid", self.storage.get("paid", 0) + 1)
        # Each payment a timer of its own, earlier than the one before.
        self.timer(at=LAST - self.storage.get("paid"))
        Account.get(id).take()

    def take(self):
        self.storage.put("taken", self.storage.get("taken", 0) + 1)

    def state(self):
        return [self.storage.get("paid", 0), self.storage.get("taken", 0)]

    def on_timer(self):
        self.storage.put("fired", True)
""".replace("LAST", str(START + 1_000_000))


def test_nothing_confirmed_is_lost_whichever_worker_dies(tmp_path: Path) -> None:
    app = write_app(tmp_path / "app", APP)
    paid, maybe = Counter[str](), Counter[str]()
    with several(app, app / "data", 2) as two:
        # A payer of each worker, to a taker of the other: no call can wait for itself.
        pairs = [
            (two.id_in(n % 2, "Account", but=n), two.id_in(1 - n % 2, "Account", but=100 + n)) for n in range(CALLERS)
        ]
        is_over, confirmed = threading.Event(), threading.Semaphore(0)

        def pay_until_it_is_over(pair: tuple[str, str]) -> None:
            payer, taker = pair
            while not is_over.is_set():
                try:
                    two.get("Account", payer).pay(taker)
                    paid[payer] += 1
                    confirmed.release()
                except ObjectUnavailable:
                    pass
                except (OutcomeUnknown, ObjectCallError, CallTimeout):
                    maybe[payer] += 1

        with ThreadPoolExecutor(CALLERS) as callers:
            paying = [callers.submit(pay_until_it_is_over, pair) for pair in pairs]
            try:
                for kill in range(KILLS):
                    number = kill % 2
                    for _ in range(BETWEEN):
                        assert confirmed.acquire(timeout=60)
                        # It may stand still while it holds a file; then it is looked at the next time.
                        with stopped(two.workers[number].process.pid), suppress(DatabaseLocked):
                            check_that_no_timer_is_late_in_the_index(app / "data" / "objects", Shard(number, 2))
                    two.workers[number].process.kill()
                    two.workers[number] = two.start(number)
                    listens(two.workers[number])
            finally:
                is_over.set()
            for each in paying:
                each.result(timeout=60)
    with AppUnderTest(app, data=app / "data", clock=ManualClock(START)) as again:
        account = again.classes["Account"]
        for payer, taker in pairs:
            payments = account.get(payer).state()[0]  # type: ignore[attr-defined]
            taken = account.get(taker).state()[1]  # type: ignore[attr-defined]
            assert paid[payer] <= taken <= payments <= paid[payer] + maybe[payer]
        again.clock.move_to(START + 1_000_000)
        assert sorted(again.fire_due()) == sorted(f"Account/{payer}" for payer, _taker in pairs)


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Inside, a child of this process stands still, wherever it was: its files are as if it had died there."""
    os.kill(pid, signal.SIGSTOP)
    os.waitpid(pid, os.WUNTRACED)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def check_that_no_timer_is_late_in_the_index(folder: Path, shard: Shard) -> None:
    with closing(Registry(folder / shard.named("registry", ".sqlite3"))) as registry:
        for file in every_file(folder):
            state = state_in(file) if shard.owns_file(folder, file) else None
            if state and state.due_at:
                assert (registry.due_no_later_than(state.ref) or math.inf) <= state.due_at
