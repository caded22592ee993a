"""Workers are killed with SIGKILL at random while they work on many jobs; nothing is lost, nothing is stuck."""

import json
import os
import random
import signal
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from melee.jobs.store import NewJob, Stats
from tests.melee.jobs.conftest import ear, place, postgres_place, sqlite_place  # noqa: F401
from tests.melee.jobs.working import Place, Working, until

pytestmark = pytest.mark.slow

# A minute by hand: MELEE_CRASH_SECONDS=60.
SECONDS = float(os.environ.get("MELEE_CRASH_SECONDS", "15"))
JOBS = 20_000
WORKERS = 4
LEASE_SECONDS = 1.5
EXECUTORS = 2

APP = """
@app.jobs.register
class Mark(Job):
    "Says that it began and that it ended, in one write each, which SIGKILL cannot cut in two."
    NAME = "mark"
    number: int
    seconds: float

    def run(self, resources):
        write("began", self.number)
        if self.seconds:
            time.sleep(self.seconds)
        write("ended", self.number)


WORKER = os.getpid()


def write(what, number):
    descriptor = os.open(f"{MARKS}/{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, f"{what} {number} {WORKER}\\n".encode())
    os.close(descriptor)
"""


IDS = "SELECT id, payload FROM melee_jobs"


def test_every_job_runs_whichever_worker_dies(place: Place, tmp_path: Path) -> None:  # noqa: F811
    marks = tmp_path / "marks"
    marks.mkdir()
    place.write_app(f"MARKS = {str(marks)!r}\n" + APP, f"[jobs]\nworkers = {EXECUTORS}\n")
    with place.opened() as store:
        for first in range(0, JOBS, 1000):
            store.insert([job(number) for number in range(first, first + 1000)])
        numbers = {row["id"]: json.loads(row["payload"])["number"] for row in place.run_sql(IDS)}
    killed: list[Working] = []
    with ExitStack() as stack:
        workers = [stack.enter_context(Working(place, lease=LEASE_SECONDS)) for _ in range(WORKERS)]
        ends_at = time.monotonic() + SECONDS
        while time.monotonic() < ends_at:
            # Sooner or later after it has begun.
            index = random.randrange(WORKERS)
            heard = len(list(marks.iterdir()))
            until(lambda seen=heard: len(list(marks.iterdir())) > seen or time.monotonic() > ends_at)  # type: ignore[misc]
            workers[index].kill()
            killed.append(workers[index])
            workers[index] = stack.enter_context(Working(place, lease=LEASE_SECONDS))
        until(lambda: place.stats() == Stats(0, 0, 0), "the end of all jobs", seconds=120)
        for worker in workers:
            worker.stop()
        # The last one may have been about to start.
        assert {worker.exit_code() for worker in workers} <= {0, -signal.SIGTERM}
        late = Counter(
            numbers[int(line["job"].partition("/")[2])]
            for worker in [*killed, *workers]
            for line in worker.logged("was left by a worker that is gone")
        )
    killed_pids = {worker.process.pid for worker in killed}
    runs: dict[int, list[int]] = {number: [] for number in range(JOBS)}
    ended = set()
    for what, number, pid in (line.split() for file in marks.iterdir() for line in file.read_text().splitlines()):
        if what == "began":
            runs[int(number)].append(int(pid))
        else:
            ended.add(int(number))
    assert ended == set(range(JOBS))
    again = {number: pids for number, pids in runs.items() if len(pids) > 1}
    for job_number, pids in again.items():
        of_the_living = [pid for pid in pids if pid not in killed_pids]
        assert len(of_the_living) <= 1 + late[job_number]
    assert len(killed) >= SECONDS / 3
    assert again
    assert not [line for worker in [*killed, *workers] for line in worker.logged("cannot use the database")]
    print(f"{len(killed)} kills, {len(again)} of {JOBS} jobs ran more than once")  # noqa: T201


def job(number: int) -> NewJob:
    """One in ten takes a while, so that there is work until the end and kills come in the middle of jobs."""
    seconds = SECONDS * WORKERS * EXECUTORS / 2 / (JOBS / 10) if number % 10 == 0 else 0
    return NewJob("mark", f'{{"number": {number}, "seconds": {seconds}}}', max_attempts=1000)
