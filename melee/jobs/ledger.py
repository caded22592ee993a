"""Which claims a worker holds, and what has become of those that are not yet written down."""

from collections.abc import Iterable, Mapping

from melee import log
from melee.jobs.counts import Tally
from melee.jobs.job import Job
from melee.jobs.retry import pause_seconds
from melee.jobs.store import Claim, Failure, Store


class Ledger:
    """Nothing is forgotten before the store has it. To write something twice does no harm: only a claim that stands
    changes its job.

    Args:
        classes: of the jobs, by name.
        tally: counts what becomes of them.
    """

    def __init__(self, classes: Mapping[str, type[Job]], tally: Tally | None = None) -> None:
        self._classes, self._tally = classes, tally
        self._held: dict[tuple[int, int], Claim] = {}
        self._done: list[Claim] = []
        self._failures: list[Failure] = []
        self._back: list[Claim] = []

    @property
    def held(self) -> list[Claim]:
        """The claims whose leases have to be renewed."""
        return list(self._held.values())

    @property
    def unwritten(self) -> int:
        return len(self._done) + len(self._failures) + len(self._back)

    @property
    def given_back(self) -> int:
        """How many of these are queued again, untried."""
        return len(self._back)

    @property
    def has_failures(self) -> bool:
        return bool(self._failures)

    def take(self, claims: Iterable[Claim]) -> None:
        self._held.update((_key(claim), claim) for claim in claims)

    def done(self, claims: Iterable[Claim]) -> None:
        ended = [claim for claim in claims if self._stands(claim)]
        self._done += ended
        if self._tally:
            self._tally.succeeded(ended)

    def failed(self, claim: Claim, error: str, is_final: bool = False) -> None:
        """To be tried again after a pause, unless this was the last attempt or another one is no use."""
        if not self._stands(claim):
            return
        again_in_seconds: float | None = None
        if is_final or claim.attempt >= claim.max_attempts:
            log.job_given_up(claim.name, claim.id, claim.attempt, error)
        else:
            jitter = self._classes[claim.name].JITTER if claim.name in self._classes else 0
            again_in_seconds = pause_seconds(claim.attempt, jitter)
        if self._tally:
            self._tally.failed(claim, is_dead=again_in_seconds is None)
        self._failures.append(Failure(claim, error, again_in_seconds))

    def give_back(self, claims: Iterable[Claim]) -> None:
        self._back += filter(self._stands, claims)

    def drop(self, claims: Iterable[Claim]) -> None:
        """These do not stand any more, so whatever becomes of them is not written down."""
        self._forget(claims)

    def write(self, store: Store) -> None:
        if self._done:
            store.succeed(self._done)
            self._forget(self._done)
            self._done = []
        if self._failures:
            store.fail(self._failures)
            self._forget(failure.claim for failure in self._failures)
            self._failures = []
        if self._back:
            store.release(self._back)
            self._forget(self._back)
            self._back = []

    def _forget(self, claims: Iterable[Claim]) -> None:
        for claim in claims:
            self._held.pop(_key(claim), None)

    def _stands(self, claim: Claim) -> bool:
        return _key(claim) in self._held


def _key(claim: Claim) -> tuple[int, int]:
    # A job that was lost may be claimed anew before its old run has ended.
    return claim.id, claim.number
