"""The job worker: claims jobs, has its executors run them, and writes down what came of them.

It holds the leases, and no job runs in it; so it is there to renew them whatever a job does.
"""

import os
import select
import selectors
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import assert_never

from melee import log
from melee.clock import Clock
from melee.errors import DatabaseError
from melee.jobs.frames import Board
from melee.jobs.ledger import Ledger
from melee.jobs.opened import Opened
from melee.jobs.queue import Jobs
from melee.jobs.station import Station
from melee.jobs.store import Store
from melee.jobs.upkeep import LEASE_SECONDS, Upkeep
from melee.processes.control import Channel, Ended, Failed, Fork, Forked, Kill, Loaded, Told

_WRITE_SECONDS = 0.02
_WRITE_FROM = 250
_LOOK_SECONDS = 0.2
_PAUSE_SECONDS = 0.2
_RETRY_SECONDS_AT_MOST = 10
_LAST_SECONDS = 2


class ForkerLost(Exception):
    """The process that forks executors is gone."""


class Worker:
    """Works on the jobs of an app until SIGTERM.

    Args:
        stations: for each its queues and how many executors it has, one at least.
        control: of the process that forks executors, see `processes.control`.
        board: has a line for each executor.
        open_database: connects; it is tried again when it raises a `DatabaseError`.
        grace_seconds: how long the jobs that run may take at the end.
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
    ) -> None:
        self._open_database, self._clock, self._grace_seconds = open_database, clock, grace_seconds
        self._channel = Channel(control, Told)
        self._ledger = Ledger(jobs.classes)
        self._upkeep = Upkeep(list(jobs.classes), jobs.cron_jobs, clock)
        self._stations: list[Station] = []
        for queues, executors in stations:
            line = sum(station.crew.size for station in self._stations)
            self._stations.append(
                Station(queues, executors, jobs.classes, self._ledger, board, line, clock, self._kill)
            )
        self._name = f"{socket.gethostname()}/{os.getpid()}"
        self._selector = selectors.DefaultSelector()
        self._stations_by_pid: dict[int, Station] = {}
        self._asked = 0
        self._fork_at = 0.0
        self._opened: Opened | None = None
        self._retry_at, self._retry_seconds = 0.0, 0.0
        self._write_at: float | None = None
        self._ends_at: float | None = None
        self._is_lost = False
        self._signals: list[str] = []

    def run(self) -> None:
        """Returns when what runs has ended and is written down, or the grace time is over.

        Raises:
            ForkerLost: there is nobody left to run a job.
        """
        self._selector.register(self._channel, selectors.EVENT_READ)
        with self._woken_by_signals() as woken:
            self._selector.register(woken, selectors.EVENT_READ)
            while not self._is_over():
                self._wait(woken)
                self._heed_signals()
                for station in self._stations:
                    station.cut_off_overdue()
                    station.hand_out()
                self._use_database()
                self._fork_missing()
            self._end()
        if self._is_lost:
            raise ForkerLost

    def _is_over(self) -> bool:
        if self._is_lost:
            return True
        if self._ends_at is None:
            return False
        return self._clock.elapsed() >= self._ends_at or not any(station.crew.is_busy for station in self._stations)

    # Waiting for something to happen.

    def _wait(self, woken: socket.socket) -> None:
        for key, events in self._selector.select(self._wait_seconds()):
            if key.fileobj is self._channel:
                self._hear_forker()
            elif key.fileobj is woken:
                woken.recv(4096)
            elif key.data is None:
                self._look_at_bell()
            elif key.data in self._stations_by_pid:
                # It may have been told a moment ago that this one has ended.
                self._serve(key.data, events)

    def _wait_seconds(self) -> float:
        moments = [self._upkeep.next_at if self._opened else self._retry_at]
        if self._ends_at is not None:
            moments.append(self._ends_at)
        if self._opened and self._write_at is not None:
            moments.append(self._write_at)
        seconds = max(min(moments) - self._clock.elapsed(), 0)
        if any(station.crew.is_busy or station.crew.wants for station in self._stations):
            seconds = min(seconds, _LOOK_SECONDS)
        return min(seconds, self._opened.bell.look_seconds) if self._opened else seconds

    def _serve(self, pid: int, events: int) -> None:
        """An executor has said something, or has room again."""
        crew = self._stations_by_pid[pid].crew
        executor = crew.executors[pid]
        if events & selectors.EVENT_WRITE:
            crew.send_the_rest(executor)
        if events & selectors.EVENT_READ and not crew.hear(executor):
            # Its end is told by the one who forked it, once all that it started is gone.
            self._selector.unregister(executor.connection)

    # Executors.

    def _hear_forker(self) -> None:
        messages = self._channel.receive()
        if messages is None:
            self._is_lost = True
            return
        for message in messages:
            match message:
                case Loaded():
                    pass
                case Forked(pid):
                    self._asked -= 1
                    self._employ(pid, socket.socket(fileno=self._channel.take_descriptor()))
                case Ended(pid, exit_code):
                    self._lose(pid, f"its executor ended with {exit_code} while it ran")
                case Failed():
                    self._is_lost = True
                case _:
                    assert_never(message)

    def _employ(self, pid: int, connection: socket.socket) -> None:
        station = next(station for station in self._stations if station.crew.wants)
        executor = station.crew.add(pid, connection)
        self._stations_by_pid[pid] = station
        self._selector.register(executor.connection, selectors.EVENT_READ, pid)

    def _lose(self, pid: int, reason: str) -> None:
        station = self._stations_by_pid.pop(pid)
        executor = station.crew.executors[pid]
        if executor.connection in self._selector.get_map():
            self._selector.unregister(executor.connection)
        had_worked = station.crew.lose(pid, reason)
        if not had_worked:
            self._fork_at = self._clock.elapsed() + _PAUSE_SECONDS

    def _fork_missing(self) -> None:
        missing = sum(station.crew.size - len(station.crew.executors) for station in self._stations) - self._asked
        if missing > 0 and self._ends_at is None and not self._is_lost and self._clock.elapsed() >= self._fork_at:
            self._asked += missing
            self._tell(Fork(missing))
        for pid, station in self._stations_by_pid.items():
            executor = station.crew.executors[pid]
            if executor.connection in self._selector.get_map():
                events = selectors.EVENT_READ | (selectors.EVENT_WRITE if executor.unsent else 0)
                self._selector.modify(executor.connection, events, pid)

    def _kill(self, pid: int) -> None:
        self._tell(Kill(pid))

    def _tell(self, message: Fork | Kill) -> None:
        try:
            self._channel.send(message)
        except OSError:
            self._is_lost = True

    # The database.

    def _use_database(self) -> None:
        """Does what is due there. When it cannot be reached, that is tried again after a pause, and the jobs go on."""
        try:
            if opened := self._open_when_it_is_time():
                self._work_with(opened)
                self._retry_seconds = 0
        except DatabaseError as error:
            self._retry_seconds = min(max(2 * self._retry_seconds, _PAUSE_SECONDS), _RETRY_SECONDS_AT_MOST)
            self._retry_at = self._clock.elapsed() + self._retry_seconds
            log.job_store_failed(error, self._retry_seconds)
            self._close()

    def _work_with(self, opened: Opened) -> None:
        store = opened.store
        self._look_at_bell()
        self._write(store)
        gone = self._upkeep.renew(store, self._ledger.held)
        for station in self._stations if gone else []:
            station.cut_off_gone(gone)
        if self._ends_at is not None:
            return
        if self._upkeep.reap(store) | self._upkeep.tick(store) | self._upkeep.take_due():
            self._news()
        self._upkeep.speak_of_unknown(store)
        for station in self._stations:
            was_dry = station.is_dry
            station.claim(store, LEASE_SECONDS, self._name)
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
        for station in self._stations:
            station.is_dry = False

    def _look_at_bell(self) -> None:
        try:
            if self._opened and self._opened.bell.rings():
                self._news()
        except DatabaseError as error:
            log.job_store_failed(error, 0)
            self._close()

    def _open_when_it_is_time(self) -> Opened | None:
        if not self._opened and self._clock.elapsed() >= self._retry_at:
            self._opened = self._open_database()
            if (descriptor := self._opened.bell.fileno()) is not None:
                self._selector.register(descriptor, selectors.EVENT_READ)
            self._news()
        return self._opened

    def _close(self) -> None:
        if self._opened:
            if (descriptor := self._opened.bell.fileno()) is not None:
                self._selector.unregister(descriptor)
            self._opened.close()
            self._opened = None

    # The end.

    def _end(self) -> None:
        """Ends every executor; what had not ended is queued again."""
        for pid in self._stations_by_pid:
            self._kill(pid)
        ends_at = self._clock.elapsed() + _LAST_SECONDS
        while self._stations_by_pid and not self._is_lost and self._clock.elapsed() < ends_at:
            if select.select([self._channel], [], [], _LOOK_SECONDS)[0]:
                self._hear_forker()
        for pid in list(self._stations_by_pid):
            self._lose(pid, "the process that forks executors ended")
        self._channel.close()
        if given_back := self._ledger.given_back:
            log.jobs_given_back(given_back)
        try:
            if opened := self._opened or self._open_database():
                self._ledger.write(opened.store)
        except DatabaseError as error:
            # Their leases run out, and another worker picks them up.
            log.job_store_failed(error, 0)
        self._close()

    @contextmanager
    def _woken_by_signals(self) -> Iterator[socket.socket]:
        """A socket that becomes readable when a signal comes, so that none slips in before a wait."""
        wakes, woken = socket.socketpair()
        with wakes, woken:
            wakes.setblocking(False)
            signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
            before = {number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
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
        """Claims nothing more, and ends when the jobs that run have; at once when it is told for the second time."""
        while self._signals:
            log.job_worker_stops(self._signals.pop(0))
            now = self._clock.elapsed()
            self._ends_at = now if self._ends_at is not None else now + self._grace_seconds
            for station in self._stations:
                station.stop()
