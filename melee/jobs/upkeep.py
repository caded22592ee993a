"""What a worker does with the store now and then: renews its leases, picks up what others left, keeps the schedules."""

from collections.abc import Sequence

from melee import log
from melee.clock import Clock
from melee.jobs.cron import CronJob
from melee.jobs.store import Claim, Store

LEASE_SECONDS = 30
"""How long a job is held for a worker that says nothing any more."""
RENEW_SECONDS = 5
REAP_SECONDS = 5
COUNT_SECONDS = 60


class Upkeep:
    """Does each of these things when its time has come.

    Args:
        names: the jobs that are registered; others are spoken of, once.
        cron_jobs: enqueued by this and every other worker, each once for all.
    """

    def __init__(self, names: Sequence[str], cron_jobs: Sequence[CronJob], clock: Clock) -> None:
        self._known, self._cron_jobs, self._clock = set(names), cron_jobs, clock
        # As `elapsed` of the clock says: nobody sets that back.
        self._renew_at = clock.elapsed() + RENEW_SECONDS
        self._reap_at = clock.elapsed()
        self._tick_at = clock.elapsed()
        self._count_at = clock.elapsed()
        self._due_at: float | None = None

    @property
    def next_at(self) -> float:
        """When there is something to do, as `elapsed` of the clock says."""
        moments = [self._renew_at, self._reap_at, self._tick_at if self._cron_jobs else None, self._due_at]
        return min(moment for moment in moments if moment is not None)

    def renew(self, store: Store, held: Sequence[Claim]) -> set[int]:
        """Renews the leases, if it is time; returns the ids of the jobs whose claims do not stand any more."""
        if self._clock.elapsed() < self._renew_at:
            return set()
        self._renew_at = self._clock.elapsed() + RENEW_SECONDS
        if not held:
            return set()
        return {claim.id for claim in held} - store.renew(held, LEASE_SECONDS)

    def reap(self, store: Store) -> bool:
        """Picks up what workers left that are gone, if it is time; returns whether there was something."""
        if self._clock.elapsed() < self._reap_at:
            return False
        self._reap_at = self._clock.elapsed() + REAP_SECONDS
        left = store.reap()
        for job in left:
            log.job_reaped(job.name, job.id, job.status)
        return bool(left)

    def speak_of_unknown(self, store: Store) -> None:
        """Says, if it is time, which jobs are stored that no registered class runs; of each name once."""
        if self._clock.elapsed() < self._count_at:
            return
        self._count_at = self._clock.elapsed() + COUNT_SECONDS
        if unknown := sorted(store.first_names() - self._known):
            log.jobs_unknown(unknown)
            self._known.update(unknown)

    def tick(self, store: Store) -> bool:
        """Enqueues the cron jobs whose time has come; returns whether it was time for one."""
        if not self._cron_jobs or self._clock.elapsed() < self._tick_at:
            return False
        moments = [
            store.tick(cron.job.name, cron.schedule.expression, cron.schedule.next_after, cron.job)
            for cron in self._cron_jobs
        ]
        self._tick_at = self._elapsed_at(min(moments), store)
        return True

    def take_due(self) -> bool:
        """Whether a job that was queued for later has become due since `look_ahead`; says so once."""
        if self._due_at is None or self._clock.elapsed() < self._due_at:
            return False
        self._due_at = None
        return True

    def look_ahead(self, store: Store) -> None:
        """Finds out when the next job that is queued for later becomes due."""
        due_at = store.next_due_at()
        self._due_at = None if due_at is None else self._elapsed_at(due_at, store)

    def _elapsed_at(self, moment: float, store: Store) -> float:
        """When the time of the store, which need not be this process's, will have come to a moment."""
        return self._clock.elapsed() + max(moment - store.now(), 0.001)
