"""A station: some queues, and the executors that work on them and on no other."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence

from melee import log
from melee.clock import Clock
from melee.jobs.counts import Tally
from melee.jobs.crew import Crew
from melee.jobs.frames import Board
from melee.jobs.job import Job
from melee.jobs.ledger import Ledger
from melee.jobs.pace import Pace
from melee.jobs.store import Claim, Store, Wanted

_SLOW_SECONDS = 0.1
"""When a job has taken this long, what waits behind it goes to another executor."""
_BUSY_SECONDS = 1
"""When all executors have been at their jobs for this long, what waits for them goes to another worker."""


class Station:
    """Claims jobs and hands them out, as many at a time as suits their pace.

    Args:
        queues: which ones.
        executors: how many work here; their lines of the board begin at `first_line`.
        kill: ends a process and all that it started.
    """

    def __init__(
        self,
        queues: Sequence[str],
        executors: int,
        classes: Mapping[str, type[Job]],
        ledger: Ledger,
        board: Board,
        first_line: int,
        clock: Clock,
        kill: Callable[[int], None],
        tally: Tally,
    ) -> None:
        self._tally = tally
        released = [name for name, cls in classes.items() if cls.UNIQUE_WHILE == "queued"]
        self._wanted = Wanted(queues, list(classes), released)
        self._classes, self._ledger = classes, ledger
        self._ready: deque[Claim] = deque()
        self._pace = Pace()
        self._is_stopping = False
        self.crew = Crew(executors, board, first_line, clock, self, kill)
        self.is_dry = False
        """Whether there was nothing more to claim when it was last tried."""

    def claim(self, store: Store, lease_seconds: float, worker: str) -> None:
        """Takes what is due, as much as is wanted now."""
        wanted = self._missing()
        if wanted <= 0 or self.is_dry or self._is_stopping:
            return
        claims = store.claim(self._wanted, wanted, lease_seconds, worker)
        self._ledger.take(claims)
        self._ready.extend(claims)
        self.is_dry = len(claims) < wanted

    def hand_out(self) -> None:
        """Gives every executor that has room something to do."""
        for executor in self.crew.free():
            if self._ready:
                self.crew.give(executor, self._pace.frame(self._ready))

    def look_after(self) -> None:
        """Ends the jobs that take longer than their `TIMEOUT`, and lets nothing wait behind a slow one."""
        for executor in self.crew.executors.values():
            if not (running := self.crew.running(executor)):
                continue
            claim, seconds = running
            self._tally.began(claim)
            limit = self._classes[claim.name].TIMEOUT
            if limit is not None and seconds > limit:
                self.crew.cut_off(executor, claim, f"it took longer than its TIMEOUT of {limit:g} s")
            if seconds > _SLOW_SECONDS and len(executor.claims) > 1 and executor.limit is None:
                self.untouched(self.crew.take_back(executor))
        if self._ready and self.crew.busy_seconds() > _BUSY_SECONDS:
            # Another worker may be free.
            self._give_back_ready()

    def cut_off_gone(self, gone: set[Claim]) -> None:
        """Ends the jobs whose claims do not stand any more."""
        for executor in self.crew.executors.values():
            if not gone.isdisjoint(executor.claims):
                self.untouched(self.crew.take_back(executor))
            running = self.crew.running(executor)
            if running and running[0] in gone:
                self.crew.cut_off(executor, running[0], "it was discarded, or its lease had run out")
        self._ready = deque(claim for claim in self._ready if claim not in gone)

    def stop(self) -> None:
        """Takes nothing more, and gives back what has not begun."""
        self._is_stopping = True
        for executor in self.crew.executors.values():
            self.untouched(self.crew.take_back(executor))
        self._give_back_ready()

    def end(self) -> None:
        """Ends all executors; what they run is to be run again."""
        for executor in self.crew.executors.values():
            self.crew.end(executor)

    # What became of claims, see `crew.Outcomes`.

    def took(self, claim: Claim, seconds: float) -> None:
        self._pace.learn(claim.name, seconds)
        self._tally.took(claim, seconds)

    def succeeded(self, claims: Sequence[Claim]) -> None:
        self._ledger.done(claims)

    def raised(self, claim: Claim, error: str, is_final: bool) -> None:
        self._ledger.failed(claim, error, is_final)

    def cut_off(self, claim: Claim, reason: str) -> None:
        log.job_lost(claim.name, claim.id, claim.attempt, reason)
        self._ledger.failed(claim, reason)

    def untouched(self, claims: Sequence[Claim]) -> None:
        if self._is_stopping:
            self._ledger.give_back(claims)
        else:
            self._ready.extendleft(reversed(claims))

    def _missing(self) -> int:
        # Those that have no executor yet are not claimed: another worker may have one.
        able = len(self.crew.executors)
        return self._pace.wanted(able, self._ready) if able and self.crew.busy_seconds() <= _BUSY_SECONDS else 0

    def _give_back_ready(self) -> None:
        self._ledger.give_back(self._ready)
        self._ready.clear()
