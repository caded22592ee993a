"""How long melee takes to claim a job when many are queued and many are due later."""

import time

from benchmarks.peers.melee.app import app
from benchmarks.peers.melee.peer import Melee
from melee.clock import SystemClock
from melee.jobs.opened import open_jobs
from melee.jobs.store import Wanted

FILL = {
    True: (
        "INSERT INTO melee_jobs (name, payload, priority, due_at, is_due) "
        "SELECT 'mark', '{\"sent_at\":0}', number % 3, now() + :seconds * interval '1 second', :seconds = 0 "
        "FROM generate_series(1, :jobs::integer) AS numbers (number)"
    ),
    False: (
        "WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < :jobs) "
        "INSERT INTO melee_jobs (name, payload, priority, due_at, is_due) "
        "SELECT 'mark', '{\"sent_at\":0}', number % 3, unixepoch() + :seconds, :seconds = 0 FROM numbers"
    ),
}
WANTED = Wanted(queues=["default"], names=["mark"])
LATER_SECONDS = 3600


def claims(peer: Melee, queued: int, scheduled: int, seconds: float) -> list[float]:
    """Fills the store, claims one job after the other, and empties it; returns how long each claim took."""
    samples: list[float] = []
    with peer.client() as client:
        for jobs, due_in in ((queued, 0), (scheduled, LATER_SECONDS)):
            app.db.run(FILL[bool(peer.url)], {"jobs": jobs, "seconds": due_in})
        # As Postgres does by itself within a minute.
        app.db.run("ANALYZE melee_jobs")
        opened = open_jobs(peer.project, SystemClock())
        ends_at = time.monotonic() + seconds
        while not samples or time.monotonic() < ends_at:
            begun_at = time.monotonic()
            claimed = opened.store.claim(WANTED, 1, 30, "benchmark")
            samples.append(time.monotonic() - begun_at)
            opened.store.succeed(claimed)
        opened.close()
        client.clear()
    return samples
