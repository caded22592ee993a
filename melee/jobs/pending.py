"""Runs jobs on the spot, in the process that asks for it, where no worker does."""

import os
import socket
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from flask import current_app

from melee import log
from melee.jobs.cron import CronJob
from melee.jobs.executor import run_job
from melee.jobs.frames import Order
from melee.jobs.job import Job
from melee.jobs.ledger import Ledger
from melee.jobs.store import Claim, Store, Wanted

LEASE_SECONDS = 3600
"""How long a job is held for a process that was killed in the middle of it. Nobody renews the lease meanwhile."""

_MORE_AT_MOST = 10_000


def run_pending(classes: Mapping[str, type[Job]], cron_jobs: Iterable[CronJob], open_store: Callable[[], Store]) -> int:
    """See `Jobs.run_pending`.

    Args:
        open_store: gives the store in a context of the app.
    """
    app: Any = current_app._get_current_object()  # type: ignore[attr-defined]
    # With a connection of its own: what it writes is no part of a transaction around it, which the jobs could not see.
    with app.app_context():
        store = open_store()
        tick(cron_jobs, store)
        for job in store.reap():
            log.job_reaped(job.name, job.id, job.status)
        return _Pending(app, classes, store).run()


def tick(cron_jobs: Iterable[CronJob], store: Store) -> None:
    """Enqueues the cron jobs whose time has come; of one that is new, it only notes when that will be."""
    for cron in cron_jobs:
        store.tick(cron.job.name, cron.schedule.expression, cron.schedule.next_after, cron.job)


class _Pending:
    """One job after the other, each claimed when the one before it is written down."""

    def __init__(self, app: Any, classes: Mapping[str, type[Job]], store: Store) -> None:
        self._app, self._classes, self._store = app, classes, store
        self._worker = f"{socket.gethostname()}/{os.getpid()}"
        self._wanted = Wanted(
            sorted({cls.QUEUE for cls in classes.values()}),
            list(classes),
            [name for name, cls in classes.items() if cls.UNIQUE_WHILE == "queued"],
        )

    def run(self) -> int:
        """Runs what is due; returns how many ran. One whose payload does not fit its class does not."""
        claimed = ran = 0
        at_most = sum(stats.queued for stats in self._store.per_name().values()) + _MORE_AT_MOST
        while claims := self._store.claim(self._wanted, 1, LEASE_SECONDS, self._worker):
            claimed += 1
            ran += self._run(claims[0])
            if claimed > at_most:
                raise RuntimeError(f"{claims[0].name} is due again as soon as it has run; enqueue it for later")
        return ran

    def _run(self, claim: Claim) -> bool:
        """Runs one job and writes down what came of it; returns whether it ran."""
        ledger = Ledger(self._classes)
        ledger.take([claim])
        order = Order(claim.id, claim.name, claim.payload, claim.attempt)
        cls = self._classes[claim.name]
        try:
            problem = run_job(self._app, cls, order, lets_through=(KeyboardInterrupt,))
        except KeyboardInterrupt:
            ledger.give_back([claim])
            ledger.write(self._store)
            raise
        if problem:
            ledger.failed(claim, *problem)
        else:
            ledger.done([claim])
        ledger.write(self._store)
        does_not_fit = problem is not None and problem[1]
        return not does_not_fit
