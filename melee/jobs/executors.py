"""All executors of a worker: it asks for them, hears what they say, and learns when they have ended."""

import selectors
import signal
import socket
from collections.abc import Sequence
from typing import assert_never

from melee.clock import Clock
from melee.jobs.station import Station
from melee.processes.control import Channel, Ended, Failed, Fork, Forked, Kill, Loaded

_PAUSE_SECONDS = 0.2
_LOOK_SECONDS = 0.2


class ForkerLost(Exception):
    """The process that forks executors is gone."""

    def __str__(self) -> str:
        return "the process that forks executors is gone"


class Executors:
    """Each works at a station.

    Args:
        channel: to the process that forks them; this object closes it.
        selector: with what they are heard; whoever hears one calls `hear`.

    Attributes:
        are_lost: whether there will be no more of them.
    """

    def __init__(self, channel: Channel, selector: selectors.BaseSelector, clock: Clock) -> None:
        self._channel, self._selector, self._clock = channel, selector, clock
        self._stations: dict[int, Station] = {}
        self._homeless: list[Station] = []
        self._ask_at = 0.0
        self.are_lost = False
        selector.register(channel, selectors.EVENT_READ)

    def ask_for_missing(self, stations: Sequence[Station]) -> None:
        """Asks for as many as the stations lack, and sees to it that what they are sent arrives."""
        lacking = [station for station in stations for _executor in range(station.crew.lacks)]
        for station in self._homeless:
            lacking.remove(station)
        if lacking and not self.are_lost and self._clock.elapsed() >= self._ask_at:
            self._homeless += lacking
            self._tell(Fork(len(lacking)))
        for pid, station in self._stations.items():
            executor = station.crew.executors[pid]
            if executor.connection in self._selector.get_map():
                events = selectors.EVENT_READ | (selectors.EVENT_WRITE if executor.unsent else 0)
                self._selector.modify(executor.connection, events, pid)

    def hear(self, key: selectors.SelectorKey, events: int) -> None:
        """The process that forks them has said something, or one of them has, or has room again."""
        if key.fileobj is self._channel:
            self._hear_forker()
        elif key.data in self._stations:
            # It may have been told a moment ago that this one has ended.
            crew = self._stations[key.data].crew
            executor = crew.executors[key.data]
            if events & selectors.EVENT_WRITE:
                crew.send_the_rest(executor)
            if events & selectors.EVENT_READ and not crew.hear(executor):
                # Its end is told by the one who forked it, once all that it started is gone.
                self._selector.unregister(executor.connection)

    def kill(self, pid: int) -> None:
        self._tell(Kill(pid))

    def wait_for_all(self, seconds: float) -> None:
        """Returns when all have ended, or the time is over; what they did until then is known then."""
        until = self._clock.elapsed() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._channel, selectors.EVENT_READ)
            while self._stations and not self.are_lost and self._clock.elapsed() < until:
                if selector.select(_LOOK_SECONDS):
                    self._hear_forker()
        for pid in list(self._stations):
            self._lose(pid, "its executor was lost while it ran")
        self._selector.unregister(self._channel)
        self._channel.close()

    def _hear_forker(self) -> None:
        messages = self._channel.receive()
        if messages is None:
            self.are_lost = True
            return
        for message in messages:
            match message:
                case Loaded():
                    pass
                case Forked(pid):
                    self._employ(pid, socket.socket(fileno=self._channel.take_descriptor()))
                case Ended(pid, exit_code):
                    self._lose(pid, f"its executor {_ending(exit_code)} while it ran")
                case Failed():
                    self.are_lost = True
                case _:
                    assert_never(message)

    def _employ(self, pid: int, connection: socket.socket) -> None:
        station = self._stations[pid] = self._homeless.pop(0)
        executor = station.crew.add(pid, connection)
        self._selector.register(executor.connection, selectors.EVENT_READ, pid)

    def _lose(self, pid: int, reason: str) -> None:
        station = self._stations.pop(pid)
        executor = station.crew.executors[pid]
        if executor.connection in self._selector.get_map():
            self._selector.unregister(executor.connection)
        had_worked = station.crew.lose(pid, reason)
        if not had_worked:
            self._ask_at = self._clock.elapsed() + _PAUSE_SECONDS

    def _tell(self, message: Fork | Kill) -> None:
        try:
            self._channel.send(message)
        except OSError:
            self.are_lost = True


def _ending(exit_code: int) -> str:
    if exit_code >= 0:
        return f"ended with {exit_code}"
    return f"was ended by signal {-exit_code} ({signal.strsignal(-exit_code)})"
