"""What a worker does with the store now and then: renews its leases, picks up what others left, keeps the schedules."""

from collections.abc import Sequence

from melee import log
from melee.clock import Clock
from melee.jobs.counts import Tally
from melee.jobs.cron import CronJob
from melee.jobs.store import Claim, Store

LEASE_SECONDS = 30
"""How long a job is held for a worker that says nothing any more."""
LOOKS_IN_A_LEASE = 6
_COUNT_SECONDS = 60
_WAIT_SECONDS_AT_MOST = 60


class Upkeep:
    """Does each of these things when its time has come.

    Args:
        names: the jobs that are registered; others are spoken of, once.
        cron_jobs: enqueued by this and every other worker, each once for all.
        lease_seconds: how long a lease is. Several times in it leases are renewed, and those that ended are looked for.
        tally: counts what was left.
    """

    def __init__(
        self,
        names: Sequence[str],
        cron_jobs: Sequence[CronJob],
        clock: Clock,
        lease_seconds: float,
        tally: Tally | None = None,
    ) -> None:
        self._known, self._cron_jobs, self._clock, self._lease_seconds = set(names), cron_jobs, clock, lease_seconds
        self._tally = tally
        self._look_seconds = lease_seconds / LOOKS_IN_A_LEASE
        # As `elapsed` of the clock says: nobody sets that back.
        self._renewed_at = clock.elapsed()
        self._reap_at = clock.elapsed()
        self._tick_at = clock.elapsed()
        self._count_at = clock.elapsed()
        self._due_at: float | None = None
        self._next_tick: float | None = None

    @property
    def next_at(self) -> float:
        """When there is something to do, as `elapsed` of the clock says."""
        tick_at = self._tick_at if self._cron_jobs else None
        moments = [self.renews_at, self._reap_at, tick_at, self._due_at]
        return min(moment for moment in moments if moment is not None)

    @property
    def renews_at(self) -> float:
        """When leases are renewed next."""
        return self._renewed_at + self._look_seconds

    @property
    def are_leases_sure(self) -> bool:
        """False when none was renewed for so long that others may have taken what they held."""
        return self._clock.elapsed() - self._renewed_at < self._lease_seconds

    def renew(self, store: Store, held: Sequence[Claim]) -> set[Claim]:
        """Renews the leases, if it is time; returns the claims that do not stand any more."""
        now = self._clock.elapsed()
        if now < self.renews_at:
            return set()
        standing = store.renew(held, self._lease_seconds) if held else set()
        self._renewed_at = now
        newest = {claim.id: claim for claim in held}
        return {claim for claim in held if claim.id not in standing or newest[claim.id] is not claim}

    def reap(self, store: Store) -> bool:
        """Picks up what workers left that are gone, if it is time; returns whether there was something."""
        if self._clock.elapsed() < self._reap_at:
            return False
        self._reap_at = self._clock.elapsed() + self._look_seconds
        left = store.reap()
        for job in left:
            log.job_reaped(job.name, job.id, job.status)
            if self._tally:
                self._tally.left(job.name, is_dead=job.status == "failed")
        return bool(left)

    def speak_of_unknown(self, store: Store) -> None:
        """Says, if it is time, which jobs are stored that no registered class runs; of each name once."""
        if self._clock.elapsed() < self._count_at:
            return
        self._count_at = self._clock.elapsed() + _COUNT_SECONDS
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
        self._next_tick = min(moments)
        self._tick_at = self._elapsed_at(self._next_tick, store)
        return True

    def take_due(self) -> bool:
        """Whether a job that was queued for later may have become due since `look_ahead`; says so once."""
        if self._due_at is None or self._clock.elapsed() < self._due_at:
            return False
        self._due_at = None
        return True

    def look_ahead(self, store: Store) -> None:
        """Finds out when the next job that is queued for later becomes due."""
        due_at = store.next_due_at()
        self._due_at = None if due_at is None else self._elapsed_at(due_at, store)

    def next_wake_at(self, store: Store) -> float | None:
        """When a worker that has nothing to do now has something: a job that is due later, a cron job, or one that was
        left by a worker that is gone. In epoch seconds; None for never."""
        moments = [store.next_due_at(), store.next_lease_end_at(), self._next_tick]
        return min((moment for moment in moments if moment is not None), default=None)

    def _elapsed_at(self, moment: float, store: Store) -> float:
        """When to look again whether the time of the store, which need not be this process's, has come to a moment.

        That may be early: somebody may set the clock forward meanwhile.
        """
        return self._clock.elapsed() + min(max(moment - store.now(), 0.001), _WAIT_SECONDS_AT_MOST)
