"""Jobs that take their executor with them, or try to."""

import os
import signal

import pytest

from melee.jobs.store import Stats
from tests.melee.gate import Gate
from tests.melee.jobs.working import Ear, Place, Working, is_alive, is_done, until

ONE = "[jobs]\nworkers = 1\n"

CRASHES = """
@app.jobs.register
class Crash(Job):
    NAME = "crash"
    how: str

    def run(self, resources):
        if self.how == "exit":
            os._exit(3)
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "fork" and os.fork() == 0:
            return
        if self.how == "system exit":
            sys.exit("bye")
        if self.how == "interrupt":
            raise KeyboardInterrupt
        if self.how == "recursion":
            self.run_again(resources)
        if self.how == "memory":
            raise MemoryError
        if self.how == "no text":
            raise NoText

    def run_again(self, resources):
        self.run_again(resources)


class NoText(Exception):
    def __str__(self):
        raise ValueError("no text")


@app.jobs.register
class CrashLater(Job):
    NAME = "crash_later"
    how: str

    async def run(self, resources):
        await asyncio.sleep(0)
        await Crash(self.how).awaited()


async def awaited(self):
    self.run(None)

Crash.awaited = awaited


@app.jobs.register
class Fails(Job):
    NAME = "fails"
    text: str

    def run(self, resources):
        raise ValueError(self.text)


@app.jobs.register
class Trains(Job):
    "Quick, so that many come in a frame."
    NAME = "trains"

    def run(self, resources):
        pass


@app.jobs.register
class Counts(Job):
    NAME = "counts"
    number: int

    def run(self, resources):
        with open(NUMBERS, "a") as file:
            file.write(f"{self.number} ")
        if self.number == 10:
            os._exit(3)
        if self.number in (5, 15):
            raise ValueError("an odd five")
"""


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("exit", "its executor ended with 3 while it ran"),
        ("kill", "its executor was ended by signal 9 (Killed) while it ran"),
        ("system exit", "SystemExit: bye"),
        ("interrupt", "KeyboardInterrupt"),
        ("recursion", "RecursionError: maximum recursion depth exceeded"),
        ("memory", "MemoryError"),
        ("no text", "NoText: <str() of this NoText failed>"),
    ],
)
@pytest.mark.parametrize("name", ["crash", "crash_later"])
def test_a_job_that_ends_badly_costs_itself_an_attempt(
    sqlite_place: Place, ear: Ear, name: str, how: str, says: str
) -> None:
    sqlite_place.write_app(CRASHES, ONE)
    sqlite_place.enqueue(name, how=how, _max_attempts=1)
    sqlite_place.enqueue("note", text="after")
    with Working(sqlite_place) as worker:
        assert ear.next() == "after"
        until(lambda: sqlite_place.stats() == Stats(0, 0, 1))
        worker.stop()
        assert worker.exit_code() == 0
    job = sqlite_place.job(name)
    assert (job.status, job.attempts) == ("failed", 1)
    assert (job.last_error or "").startswith(says)


def test_a_fork_that_comes_back_from_a_job_is_ended(sqlite_place: Place, ear: Ear) -> None:
    sqlite_place.write_app(CRASHES, ONE)
    sqlite_place.enqueue("crash", how="fork")
    sqlite_place.enqueue("note", text="after")
    with Working(sqlite_place):
        assert ear.next() == "after"
        until(lambda: is_done(sqlite_place))
        assert not ear.has_heard()


def test_one_that_fails_is_tried_again_after_five_seconds(place: Place) -> None:
    place.write_app(CRASHES)
    place.enqueue("fails", text="no route")
    with Working(place):
        until(lambda: place.job("fails").last_error)
    job = place.job("fails")
    assert (job.status, job.attempts) == ("queued", 1)
    assert 4 < job.due_at - job.enqueued_at < 15
    lines = (job.last_error or "").splitlines()
    assert lines[0] == "ValueError: no route"
    assert lines[-1] == "ValueError: no route"


def test_an_executor_that_dies_costs_no_other_job_of_its_frame_anything(place: Place) -> None:
    numbers = place.folder.with_name("numbers")
    place.write_app(f"NUMBERS = {str(numbers)!r}\n" + CRASHES, ONE)
    # These make it know that the kind is quick.
    for number in range(100, 110):
        place.enqueue("counts", number=number)
    for number in range(20):
        place.enqueue("counts", number=number, _max_attempts=1)
    with Working(place):
        until(lambda: place.stats() == Stats(0, 0, 3))
    errors = {job.payload: (job.last_error or "").splitlines()[0] for job in place.jobs()}
    assert errors == {
        '{"number": 5}': "ValueError: an odd five",
        '{"number": 10}': "its executor ended with 3 while it ran",
        '{"number": 15}': "ValueError: an odd five",
    }
    ran = [int(number) for number in numbers.read_text().split()]
    assert sorted(ran) == [*range(20), *range(100, 110)]
    assert ran.index(10) - ran.index(4) == 6


def test_an_executor_that_is_killed_from_outside_is_replaced(place: Place, ear: Ear, gate: Gate) -> None:
    place.write_app(settings=ONE)
    place.enqueue("wait", gate=gate.path)
    place.enqueue("note", text="after")
    with Working(place), gate.reached():
        os.kill(int(ear.next_words()[-1]), signal.SIGKILL)
        assert ear.next() == "after"
        until(lambda: place.stats() == Stats(1, 0, 0))
        assert place.job("wait").last_error == "its executor was ended by signal 9 (Killed) while it ran"


TIMES = """
@app.jobs.register
class TooLong(Job):
    NAME = "too_long"
    TIMEOUT = 0.3
    gate: str

    def run(self, resources):
        tell(subprocess.Popen(["sleep", "3600"]).pid)
        wait_at(self.gate)


@app.jobs.register
class InTime(Job):
    NAME = "in_time"
    TIMEOUT = 30

    def run(self, resources):
        tell("in time")
"""


def test_a_job_that_overruns_its_timeout_is_ended_with_all_that_it_started(place: Place, ear: Ear, gate: Gate) -> None:
    place.write_app(TIMES, ONE)
    place.enqueue("too_long", gate=gate.path, _max_attempts=1)
    place.enqueue("in_time")
    with Working(place), gate.reached():
        started = int(ear.next())
        assert ear.next() == "in time"
        until(lambda: place.stats() == Stats(0, 0, 1))
        until(lambda: not is_alive(started))
    assert place.job("too_long").last_error == "it took longer than its TIMEOUT of 0.3 s"


def test_a_job_that_is_discarded_while_it_runs_is_ended(place: Place, ear: Ear, gate: Gate) -> None:
    place.write_app(settings=ONE)
    place.enqueue("wait", gate=gate.path)
    place.enqueue("note", text="after")
    with Working(place, lease=1.2) as worker, gate.reached() as waiting:
        with place.opened() as store:
            assert store.discard(place.job("wait").id)
        # The other end of the gate is gone.
        waiting.settimeout(30)
        assert waiting.recv(1) == b""
        assert ear.several(2)[1] == "after"
        until(lambda: is_done(place))
        assert [line["reason"] for line in worker.logged("was cut off")] == [
            "it was discarded, or its lease had run out"
        ]
        assert not worker.logged("failed for good")
