"""Runs jobs in the process that asks for it, one at a time, as `melee dev` does."""

import os
import socket
from collections.abc import Sequence
from typing import Any

from melee import log
from melee.clock import Clock
from melee.jobs.executor import run_job
from melee.jobs.frames import Order
from melee.jobs.ledger import Ledger
from melee.jobs.queue import Jobs
from melee.jobs.store import Claim, Store, Wanted
from melee.jobs.upkeep import LEASE_SECONDS, Upkeep


class InProcess:
    """Runs the due jobs of an app and enqueues its cron jobs.

    A debugger and `print` work in a job as in a view. The price: one job runs at a time, `TIMEOUT` is not kept to since
    there is no process to end, and a job that ends the process ends the server.

    Args:
        queues: which ones.

    Attributes:
        claim: what is being run; None while nothing is.
    """

    def __init__(self, app: Any, queues: Sequence[str], clock: Clock) -> None:
        jobs: Jobs = app.jobs
        self._app, self._classes, self._clock = app, jobs.classes, clock
        released = [name for name, cls in jobs.classes.items() if cls.UNIQUE_WHILE == "queued"]
        self._wanted = Wanted(queues, list(jobs.classes), released)
        self._upkeep = Upkeep(list(jobs.classes), jobs.cron_jobs, clock, LEASE_SECONDS)
        self._ledger = Ledger(jobs.classes)
        self._worker = f"{socket.gethostname()}/{os.getpid()}"
        self.claim: Claim | None = None

    def run_next(self, store: Store) -> bool:
        """Runs one job that is due; False when there is none. Raises `DatabaseError`."""
        # Of a job that ran when the database broke.
        self._ledger.write(store)
        self._upkeep.reap(store)
        self._upkeep.tick(store)
        self._upkeep.speak_of_unknown(store)
        claims = store.claim(self._wanted, 1, LEASE_SECONDS, self._worker)
        self._ledger.take(claims)
        for claim in claims:
            self._run(claim, store)
        return bool(claims)

    def _run(self, claim: Claim, store: Store) -> None:
        self.claim, began_at = claim, self._clock.elapsed()
        order = Order(claim.id, claim.name, claim.payload, claim.attempt)
        problem = run_job(self._app, self._classes[claim.name], order)
        if problem:
            error, is_final = problem
            self._ledger.failed(claim, error, is_final)
        else:
            self._ledger.done([claim])
        seconds, self.claim = self._clock.elapsed() - began_at, None
        self._ledger.write(store)
        if not problem:
            log.job_done(claim.name, claim.id, seconds)
