"""The job worker: claims jobs, has its executors run them, and writes down what came of them.

It holds the leases, and no job runs in it; so it is there to renew them whatever a job does.
"""

import math
import os
import selectors
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from melee import log
from melee.clock import Clock
from melee.errors import DatabaseError
from melee.jobs.counts import Tally
from melee.jobs.executors import Executors, ForkerLost
from melee.jobs.frames import Board
from melee.jobs.ledger import Ledger
from melee.jobs.link import Link
from melee.jobs.opened import Opened
from melee.jobs.queue import Jobs
from melee.jobs.station import Station
from melee.jobs.store import Store
from melee.jobs.upkeep import LEASE_SECONDS, Upkeep
from melee.jobs.waking import Waking
from melee.processes.control import Channel, Told

_WRITE_SECONDS = 0.02
_WRITE_FROM = 500
_LOOK_SECONDS = 0.2
_LAST_SECONDS = 2
_LAST_TRIES = 2
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Worker:
    """Works on the jobs of an app until SIGTERM, or, after SIGHUP, until the jobs that it runs have ended.

    Args:
        stations: for each its queues and how many executors it has, one at least.
        control: of the process that forks executors, see `processes.control`.
        board: has a line for each executor.
        open_database: connects; it is tried again when it raises a `DatabaseError`.
        grace_seconds: how long the jobs that run may take at the end.
        waking: knows the server that keeps this worker, if there is one.
        tally: counts.
        begins: called when signals are heeded.
        lease_seconds: how long jobs are held for this worker when nothing more is heard of it.
    """

    def __init__(
        self,
        jobs: Jobs,
        stations: Sequence[tuple[Sequence[str], int]],
        control: socket.socket,
        board: Board,
        open_database: Callable[[], Opened],
        clock: Clock,
        grace_seconds: float,
        waking: Waking,
        tally: Tally,
        begins: Callable[[], object] = lambda: None,
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        self._clock, self._grace_seconds, self._lease_seconds = clock, grace_seconds, lease_seconds
        self._waking, self._tally, self._begins = waking, tally, begins
        self._selector = selectors.DefaultSelector()
        self._link = Link(open_database, self._selector, clock)
        self._executors = Executors(Channel(control, Told), self._selector, clock)
        self._ledger = Ledger(jobs.classes, tally)
        self._upkeep = Upkeep(list(jobs.classes), jobs.cron_jobs, clock, lease_seconds, tally)
        self._stations: list[Station] = []
        for queues, executors in stations:
            line = sum(station.crew.size for station in self._stations)
            self._stations.append(
                Station(queues, executors, jobs.classes, self._ledger, board, line, clock, self._executors.kill, tally)
            )
        self._name = f"{socket.gethostname()}/{os.getpid()}"
        self._write_at: float | None = None
        self._ends_at: float | None = None
        self._has_deadline = False
        self._signals: list[str] = []

    def run(self) -> None:
        """Returns when what runs has ended and is written down, or the grace time is over.

        Raises:
            ForkerLost: there is nobody left to run a job.
        """
        with self._woken_by_signals() as woken:
            self._selector.register(woken, selectors.EVENT_READ)
            self._begins()
            while not self._is_over():
                self._wait(woken)
                self._heed_signals()
                for station in self._stations:
                    station.look_after()
                    if self._upkeep.are_leases_sure:
                        station.hand_out()
                self._use_database()
                if self._ends_at is None:
                    self._executors.ask_for_missing(self._stations)
                self._tell_server()
                self._tally.send()
            self._end()
        if self._executors.are_lost:
            raise ForkerLost

    def _is_over(self) -> bool:
        if self._executors.are_lost:
            return True
        if self._ends_at is None:
            return False
        return self._clock.elapsed() >= self._ends_at or not any(station.crew.is_busy for station in self._stations)

    # Waiting for something to happen.

    def _wait(self, woken: socket.socket) -> None:
        for key, events in self._selector.select(self._wait_seconds()):
            if key.fileobj is woken:
                woken.recv(4096)
            elif key.data is self._link:
                self._link.hear()
            else:
                self._executors.hear(key, events)

    def _wait_seconds(self) -> float:
        moments = [self._link.next_at]
        if self._link.is_open:
            moments.append(self._upkeep.next_at if self._ends_at is None else self._upkeep.renews_at)
            if self._write_at is not None:
                moments.append(self._write_at)
        if self._ends_at is not None:
            moments.append(self._ends_at)
        if (send_at := self._tally.next_at) is not None:
            moments.append(send_at)
        seconds = max(min(moments) - self._clock.elapsed(), 0)
        has_to_look = any(station.crew.is_busy or station.crew.lacks for station in self._stations)
        return min(seconds, _LOOK_SECONDS) if has_to_look else seconds

    # The database.

    def _use_database(self) -> None:
        """Does what is due there. When it cannot be reached, that is tried again after a pause, and the jobs go on."""
        try:
            if store := self._link.store():
                if self._link.has_news():
                    self._news()
                self._work_with(store)
                self._link.works()
        except DatabaseError as error:
            self._link.fail(error)

    def _work_with(self, store: Store) -> None:
        self._write(store)
        if gone := self._upkeep.renew(store, self._ledger.held):
            self._ledger.drop(gone)
            for station in self._stations:
                station.cut_off_gone(gone)
        if self._ends_at is not None:
            return
        if self._upkeep.reap(store) | self._upkeep.tick(store) | self._upkeep.take_due():
            self._news()
        self._upkeep.speak_of_unknown(store)
        for station in self._stations:
            was_dry = station.is_dry
            station.claim(store, self._lease_seconds, self._name)
            station.hand_out()
            if station.is_dry and not was_dry:
                self._upkeep.look_ahead(store)

    def _write(self, store: Store) -> None:
        """Writes down what has ended; while others go on, only when it is enough or has waited a little."""
        if not self._ledger.unwritten:
            return
        now = self._clock.elapsed()
        if self._write_at is None:
            self._write_at = now + _WRITE_SECONDS
        is_busy = any(station.crew.is_busy for station in self._stations)
        if now < self._write_at and self._ledger.unwritten < _WRITE_FROM and is_busy:
            return
        if self._ledger.has_failures:
            # They are due again soon.
            self._news()
        self._ledger.write(store)
        self._write_at = None

    def _news(self) -> None:
        self._waking.forget()
        for station in self._stations:
            station.is_dry = False

    # The server.

    def _tell_server(self) -> None:
        try:
            store = self._link.store() if self._ends_at is None else None
            if store:
                self._waking.tell(self._is_resting, lambda: self._upkeep.next_wake_at(store))
            else:
                self._waking.tell(False, lambda: None)
        except BrokenPipeError:
            self._signals.append("the server is gone")
        except DatabaseError as error:
            self._link.fail(error)

    @property
    def _is_resting(self) -> bool:
        """Whether nothing that can be claimed now was left, and all that was claimed is written down."""
        return not self._ledger.held and all(station.is_dry for station in self._stations)

    # The end.

    def _end(self) -> None:
        """Ends every executor; what had not ended is queued again."""
        for station in self._stations:
            station.stop()
            if not self._executors.are_lost:
                # Otherwise they have ended, and nobody knows whether one of their jobs was the reason.
                station.end()
        self._executors.wait_for_all(_LAST_SECONDS)
        if given_back := self._ledger.given_back:
            log.jobs_given_back(given_back)
        # The connection may have broken meanwhile; a new one may not have. After that, their leases run out.
        next_at: float | None = 0
        for _try in range(_LAST_TRIES):
            try:
                store = self._link.store(at_once=bool(self._ledger.unwritten))
                if store:
                    self._ledger.write(store)
                    if self._is_resting and not self._link.has_news():
                        next_at = self._upkeep.next_wake_at(store)
                break
            except DatabaseError as error:
                self._link.fail(error)
        self._link.close()
        self._tally.send(at_once=True)
        # The end of the server may be why this process ends.
        with suppress(BrokenPipeError):
            self._waking.tell_end(next_at)

    @contextmanager
    def _woken_by_signals(self) -> Iterator[socket.socket]:
        """A socket that becomes readable when a signal comes, so that none slips in before a wait."""
        wakes, woken = socket.socketpair()
        with wakes, woken:
            wakes.setblocking(False)
            signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
            before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
            try:
                yield woken
            finally:
                signal.set_wakeup_fd(-1)
                for number, handler in before.items():
                    signal.signal(number, handler)

    def _on_signal(self, number: int, _frame: object) -> None:
        # The loop may be in the middle of something.
        self._signals.append(signal.Signals(number).name)

    def _heed_signals(self) -> None:
        """Claims nothing more, and ends when the jobs that run have, or when the grace time is over; at once when it is
        told for the second time. SIGHUP sets no time."""
        while self._signals:
            reason = self._signals.pop(0)
            log.job_worker_stops(reason)
            now = self._clock.elapsed()
            if reason == signal.SIGHUP.name:
                self._ends_at = math.inf if self._ends_at is None else self._ends_at
            else:
                self._ends_at = now if self._has_deadline else now + self._grace_seconds
                self._has_deadline = True
            for station in self._stations:
                station.stop()
